"""`capeval score -o`: shards of any size."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from capeval.cli.common import keep_json, note, print_csv, print_document, print_table, shown_number
from capeval.cli.progress import running
from capeval.errors import DataError, counted
from capeval.stream.job import MANIFEST, Runner, score_shards
from capeval.stream.work import Job

if TYPE_CHECKING:
    from capeval.documents import ScoreDocument


def score_into(
    shards: Sequence[str],
    metrics: Sequence[str] | None,
    *,
    output: str,
    references: Sequence[str],
    ids: Sequence[str],
    caption: str | None,
    picture: str | None,
    images: str | None,
    features: str | None,
    filter_: str | None,
    top: float | None,
    by: str | None,
    on_error: str,
    runner: str,
    address: str | None,
    tokenizer: str,
    threads: int,
    intervals: bool,
    resamples: int,
    seed: int,
    format_: str,
    json_file: str | None,
    others: Mapping[str, Any],
) -> None:
    for option, value in others.items():
        if value:
            raise click.UsageError(f"{option} does not go with -o, which writes the scores into the shards")
    if metrics is None:
        raise click.UsageError("Missing option '-m' / '--metric': with -o, name the metrics")
    if by and top is None:
        raise click.UsageError("--by says what --top goes by: give that too")
    files = tuple(name for name in references if os.path.exists(name))
    columns = _columns(caption=caption, image=ids, references=[each for each in references if each not in files],
                       picture=picture)  # fmt: skip
    job = Job(tuple(metrics), output, files, images, features, columns, filter_, top, by, on_error, tokenizer, threads)
    with running(tokenizer, threads) as run:
        done = score_shards(shards, job, _runner(runner, address, threads), run, resamples=resamples, seed=seed)
    keep_json(json_file, done.document)
    _print(done.document, intervals, format_)
    rows = done.manifest["rows"]
    note(f"{output}/{MANIFEST}: {rows['read']:,} rows read, {rows['scored']:,} scored, {rows['written']:,} written")
    if rows["failed"]:
        note(f"{counted(rows['failed'], 'row')} could not be scored; {output}/failures.jsonl says why")
    if done.problems:
        count = len(done.problems)
        raise DataError(
            f"{count} of the shards could not be scored; the others are complete:\n" + "\n".join(done.problems)
        )


def _runner(name: str, address: str | None, threads: int) -> Runner:
    if name == "ray":
        from capeval.stream.rayrunner import RayRunner

        return RayRunner(address)
    if address:
        raise click.UsageError("--address is that of a Ray cluster: give --runner ray too")
    from capeval.stream.local import Local

    return Local(threads)


def _columns(**given: str | Sequence[str] | None) -> dict[str, str]:
    """Which column has what, where somebody says so: one each, since rows hold all of it."""
    found: dict[str, str] = {}
    for kind, value in given.items():
        names = [value] if isinstance(value, str) else [*(value or ())]
        if len(names) > 1:
            raise click.UsageError(f"shards have one column for each thing, and {' and '.join(names)} are two")
        if names:
            found[kind] = names[0]
    return found


def _print(document: ScoreDocument, intervals: bool, format_: str) -> None:
    if format_ == "json":
        from msgspec import structs

        print_document(document if intervals else structs.replace(document, intervals=None))
        return
    limits = (document.intervals or {}) if intervals else {}
    header = ["metric", "score", *(["low", "high"] if limits else []), "signature"]
    rows = []
    for key, value in document.scores.items():
        around = limits.get(key)
        ends = [around.low if around else None, around.high if around else None] if limits else []
        rows.append([key, value, *ends, document.signatures[key]])
    if format_ == "csv":
        print_csv(header, [["" if cell is None else cell for cell in row] for row in rows])
        return
    note(f"{document.n:,} captions")
    shown = [["-" if cell is None else shown_number(cell) for cell in row] for row in rows]
    print_table(header, shown, numbers=[i for i, name in enumerate(header) if name in ("score", "low", "high")])
