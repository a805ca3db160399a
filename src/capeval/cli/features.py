"""`capeval features`."""

from __future__ import annotations

import click

from capeval.cli.common import note, options, threads_option
from capeval.cli.paths import Command, Reads, Writes, pictures_below
from capeval.cli.progress import running
from capeval.errors import CapevalError


@click.command("features", cls=Command)
@click.argument("folder", metavar="DIR", type=Reads(pictures_below))
@options(
    click.option("-o", "--output", required=True, metavar="FILE", type=Writes(),
                 help="The store to write; one that exists is added to."),
    click.option("--encoder", show_default="dinov2-s where it is installed, else lite0", metavar="NAME", type=Reads(),
                 help="The name of an encoder, or the path of an .onnx file; lite0 is five times as quick."),
    click.option("--regions", is_flag=True, help="Also keep the grid of regions: 52 kB per picture instead of 2."),
    click.option("--on-error", type=click.Choice(["fail", "skip"]), default="fail", show_default=True,
                 help="What to do about a picture that cannot be read."),
    threads_option,
)  # fmt: skip
def features_command(folder: str, output: str, encoder: str | None, regions: bool, on_error: str, threads: int) -> None:
    """Turn the pictures in DIR into features, for metrics and models that look at pictures.

    \b
    capeval features photos/ -o photos.features
    capeval features photos/ -o photos.features --regions --on-error skip
    capeval features photos/ -o photos.features --encoder lite0
    capeval score results.json -r refs.json --features photos.features

    The id of a picture is its file's name without the ending. Pictures that are in the store already are not read
    again: if a run is interrupted, the same command goes on where it stopped.
    """
    from capeval.runtime.extract import extract, find_pictures

    with running(threads=threads) as run:
        found = extract(find_pictures(folder), output, encoder=encoder, regions=regions, on_error=on_error, run=run)
    for problem in found.bad:
        note(f"left out: {problem}")
    there = f", {found.there:,} were there already" if found.there else ""
    left_out = f", {len(found.bad):,} left out" if found.bad else ""
    note(f"{output}: {found.added:,} pictures added{there}{left_out}")
    if found.bad and not found.added and not found.there:
        raise CapevalError("none of the pictures can be read")
