"""`capeval caption`: machine captions for pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import click

from capeval.cli.common import note, options, seed_option, threads_option
from capeval.cli.paths import Command, Reads, Writes, checkpoint_files, feature_files, pictures_below
from capeval.errors import DataError, counted

_COCO_NAME = re.compile(r"(?:COCO_[a-z]+[0-9]{4}_)?([0-9]{12})")
_BLOCK = 2048


@click.command("caption", cls=Command)
@click.argument("folder", metavar="[DIR]", required=False, type=Reads(pictures_below))
@options(
    click.option("--features", metavar="FILE", type=Reads(feature_files),
                 help="Features of the pictures, instead of the pictures themselves."),
    click.option("-o", "--output", default="-", show_default="standard output", metavar="FILE",
                 type=Writes(form="JSON"),
                 help="COCO results JSON; packed if the name ends in .gz."),
    click.option("--ids", metavar="FILE", type=Reads(), help="Caption only these pictures: ids, one per line."),
    click.option("--beam", type=click.IntRange(min=1, max=50), default=3, show_default=True,
                 help="How many captions beam search keeps; 1 is greedy."),
    click.option("--temperature", type=click.FloatRange(min=0, min_open=True),
                 help="Draw captions at random instead; 1 follows the model, lower is tamer."),
    click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True,
                 help="With --temperature: captions for each picture."),
    click.option("--checkpoint", default="captioner", show_default=True, metavar="NAME", type=Reads(checkpoint_files),
                 help="The name of a captioner, or a folder made by `capeval train captioner`."),
    seed_option,
    threads_option,
)  # fmt: skip
def caption_command(
    folder: str | None,
    features: str | None,
    output: str,
    ids: str | None,
    beam: int,
    temperature: float | None,
    samples: int,
    checkpoint: str,
    seed: int,
    threads: int,
) -> None:
    """Write captions for the pictures in DIR, or for those that have features. Needs the extra `learned`.

    \b
    capeval caption photos/ -o captions.json
    capeval caption --features photos.features --beam 5 -o captions.json
    capeval caption --features photos.features --temperature 1 --samples 5 --seed 7 -o samples.json

    The captioner is a small one, made to supply machine captions; its captions are plain. The id of a picture is its
    file's name without the ending, or the number of a COCO picture. Several samples have ids such as `photo#2`.
    """
    if (folder is None) == (features is None):
        raise click.UsageError("name a folder of pictures, or a file with --features, but not both")
    if temperature is None and samples > 1:
        raise click.UsageError("--samples draws at random: give --temperature too")
    from capeval.cli.progress import Terminal
    from capeval.io.files import writing
    from capeval.run import Run
    from capeval.runtime.captioner import open_captioner
    from capeval.runtime.pictures import open_pictures

    run = Run(threads=threads, progress=Terminal())
    writer = open_captioner(checkpoint, run)
    given: Any = open_pictures(folder, features, run)
    pictures = given.by(writer.encoder)
    writer.check(pictures.dim, pictures.encoder)
    wanted = _chosen(pictures, ids)
    rows: list[dict[str, Any]] = []
    with run.progress.bar("writing captions", len(wanted), "pictures") as show:
        for begin in range(0, len(wanted), _BLOCK):
            names = wanted[begin : begin + _BLOCK]
            vectors = pictures.vectors(names)
            if temperature is None:
                texts = [[text] for text in writer.captions(vectors, beam)]
            else:
                texts = writer.samples(vectors, samples, temperature, [seed, begin])
            rows += _rows(names, texts)
            show(begin + len(names))
    with writing(output) as stream:
        stream.write(b"[\n" + b",\n".join(json.dumps(row, ensure_ascii=False).encode() for row in rows) + b"\n]\n")
    note(f"{counted(len(rows), 'caption')} of {counted(len(wanted), 'picture')}")


def _chosen(pictures: Any, ids: str | None) -> list[str]:
    if ids is None:
        return list(pictures.ids)
    from capeval.cli.text import read_lines

    names = [line.strip() for line in read_lines(ids) if line.strip()]
    missing = [name for name in names if name not in pictures]
    if missing:
        raise DataError(f"{counted(len(missing), 'id')} without a picture.", file=ids, ids=missing)
    return list(dict.fromkeys(pictures.known(names)))


def _rows(names: Sequence[str], texts: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, several in zip(names, texts, strict=True):
        match = _COCO_NAME.fullmatch(name)
        image = int(match[1]) if match else name
        for number, text in enumerate(several, 1):
            own = {"id": f"{image}#{number}"} if len(several) > 1 else {}
            rows.append({"image_id": image, **own, "caption": text})
    return rows
