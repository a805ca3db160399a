"""`capeval diversity`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import click

from capeval.cli.common import (
    beside,
    blank_nan,
    format_option,
    json_option,
    note,
    optional_references_option,
    options,
    print_csv,
    print_json,
    print_table,
    shown_number,
    threads_option,
    tokenizer_option,
)
from capeval.cli.paths import Command, Reads, Writes
from capeval.cli.progress import running
from capeval.cli.reading import (
    caption_option,
    id_option,
    reading_of,
    references_option_read,
    refuse_unknown_columns,
    split_option,
)
from capeval.diversity import Diversity, diversity
from capeval.errors import counted


@click.command("diversity", cls=Command)
@click.argument("candidates", metavar="CAPTIONS", type=Reads())
@options(
    optional_references_option,
    click.option("--training", multiple=True, metavar="FILE", type=Reads(),
                 help="Captions that the system has learned from, for novelty; repeat it for more files."),
    click.option("--df", metavar="TABLE", default="", type=Reads(),
                 help="Document frequencies for self-CIDEr; without it: from -r, else coco-val2014."),
    format_option,
    json_option,
    click.option("--per-image", metavar="FILE",
                 type=Writes(beside=True, form="JSONL, unless the name ends in .csv or .tsv"),
                 help="Write the scores of each image (JSONL, CSV or TSV)."),
    id_option,
    caption_option,
    split_option,
    tokenizer_option,
    threads_option,
)  # fmt: skip
def diversity_command(
    candidates: str,
    references: tuple[str, ...],
    training: tuple[str, ...],
    df: str,
    format_: str,
    json_file: str | None,
    per_image: str | None,
    ids: tuple[str, ...],
    caption: str | None,
    split: str | None,
    tokenizer: str,
    threads: int,
) -> None:
    """How diverse the CAPTIONS of a system are: its words, and its several captions of an image.

    \b
    capeval diversity results.json --training captions_train2014.json
    capeval diversity beams.jsonl -r captions_val2014.json --per-image each.csv
    capeval diversity captions_val2014.json         (of people)

    Vocabulary, words a caption, distinct and novel captions; where images have several captions, Div-1, Div-2,
    mBLEU-1..4 and self-CIDEr too. -r gives document frequencies and a vocabulary to compare with.
    """
    from capeval.io.captions import read_candidates, read_references

    with running(tokenizer, threads) as run:
        run.progress.step("reading files")
        reading, known = references_option_read(references, reading_of(run, ids, caption, split, several=True))
        read = read_candidates(candidates, reading)
        refuse_unknown_columns(reading)
        learned = None
        if training:
            learned = [text for texts in read_references(*training, reading=reading).values() for text in texts]
        found: dict[str, Diversity] = {}
        for system in dict.fromkeys(read.systems):
            run.progress.step(f"looking at the captions of {system or candidates}")
            rows = [row for row, name in enumerate(read.systems) if name == system]
            images = [read.images[row] for row in rows]
            truths = [known[image] for image in dict.fromkeys(images) if image in known] if known else read.references
            found[system] = diversity(
                images, [read.captions[row] for row in rows], df=df, training=learned, run=run,
                references=truths.values() if isinstance(truths, Mapping) else truths,
            )  # fmt: skip
    single = [name or candidates for name, each in found.items() if not each.per_image]
    if single:
        note(f"{', '.join(single)}: one caption an image, so there is nothing to tell of several.")
    if per_image:
        with beside():
            write_images(per_image, found)
    document = {"schema": "capeval.diversity/1", **next(iter(found.values())).document()}
    if len(found) > 1:
        document = {
            "schema": "capeval.diversity/1", "systems": {name: each.document() for name, each in found.items()}
        }  # fmt: skip
    if json_file:
        from capeval.io.files import writing

        with beside(), writing(json_file) as stream:
            stream.write(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())
    if format_ == "json":
        print_json(document)
        return
    several = len(found) > 1
    header = [*(["system"] if several else []), "measure", "value"]
    lines = [
        [*([name] if several else []), key, value] for name, each in found.items() for key, value in each.scores.items()
    ]
    if format_ == "csv":
        print_csv(header, blank_nan(lines))
        return
    for name, each in found.items():
        note(
            f"{name + ': ' if name else ''}{counted(each.captions, 'caption')} of {counted(len(each.images), 'image')}"
        )
    whole = ("vocabulary",)
    shown = [[f"{row[-1]:,.0f}" if i == len(row) - 1 and row[-2] in whole else shown_number(cell)
              for i, cell in enumerate(row)] for row in lines]  # fmt: skip
    print_table(header, shown, numbers=[len(header) - 1])


def write_images(path: str, found: Mapping[str, Diversity]) -> None:
    from capeval.io.files import format_from_name, writing

    rows: list[dict[str, Any]] = [
        ({"system": system} if system else {}) | row for system, each in found.items() for row in each.rows()
    ]
    kind = format_from_name(path)
    with writing(path) as stream:
        if kind not in ("csv", "tsv"):
            stream.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
            return
        flat = [{key: value for key, value in row.items() if key != "scores"} | row["scores"] for row in rows]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(flat[0]), delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        stream.write(text.getvalue().encode())
