"""Options that say how caption files are read, and the reading itself, with a note of what was recognised."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import click

from capeval.errors import DataError
from capeval.io.captions import Reading, References, read_references
from capeval.run import Run

id_option = click.option(
    "--id", "ids", multiple=True, metavar="COLUMN",
    help="Column (or field) with the id of the image, in the files that have it; `a,b` puts two together.",
)  # fmt: skip
caption_option = click.option("--caption", metavar="COLUMN", help="Column with the candidate captions.")
split_option = click.option(
    "--split", metavar="NAME", help="Take this split of a file that has several, such as test; a list takes more."
)
several_option = click.option(
    "--several", is_flag=True, help="An image may have several captions, each scored under the id IMAGE#1, IMAGE#2, ..."
)


def reading_of(
    run: Run, ids: Sequence[str] = (), caption: str | None = None, split: str | None = None, several: bool = False
) -> Reading:
    splits = tuple(name.strip() for name in (split or "").split(",") if name.strip())
    return Reading(tuple(ids), caption or "", (), splits, several, tell=run.progress.note)


def references_option_read(references: Sequence[str], reading: Reading) -> tuple[Reading, References | None]:
    """What `--references` names: files, whose captions are read, and columns, which the reading then knows.

    A name that is no file is a column: of those files, or of the candidates.
    """
    files = [name for name in references if name == "-" or os.path.exists(name)]
    columns = tuple(name for name in references if name not in files)
    for name in columns:
        if "/" in name or name.lower().endswith((".json", ".jsonl", ".csv", ".tsv", ".parquet", ".txt", ".gz")):
            raise DataError("there is no such file", file=name)
    reading = replace(reading, references=columns, own_references=not files)
    return reading, read_references(*files, reading=reading) if files else None


def refuse_unknown_columns(reading: Reading) -> None:
    """Once all files are read: a column that none of them has is a mistake."""
    unknown = reading.not_found()
    if unknown:
        named = ", ".join(repr(name) for name in unknown)
        raise click.UsageError(
            f"no file has a column {named}. --id, --caption and --references name columns (or fields of JSON); "
            "--references names files too, and no file has this name"
        )
