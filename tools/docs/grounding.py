"""Draws docs/figures/ground-*.png: where captions lie on the demo's photographs.

    python tools/docs/grounding.py [--checkpoint NAME]

The same as `capeval ground PICTURE CAPTION -o FILE.png`, half as large and in 256 colours, so that they stay small.
"""

from __future__ import annotations

import io
from pathlib import Path

import click
from PIL import Image

from capeval.api import ground
from capeval.io.files import writing
from capeval.io.shipped import shipped
from capeval.report.grounding import draw_grounding

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
CAPTIONS = {
    "cat": "a brown and white cat with green eyes looks at something",
    "coffee": "a cup of coffee with a spoon on a wooden table",
    "astronaut": "a woman in an orange suit smiles in front of a flag",
}


@click.command(help=__doc__)
@click.option("--checkpoint", default="scan", show_default=True, metavar="NAME", help="A SCAN's name, or its folder.")
def main(checkpoint: str) -> None:
    for name, caption in CAPTIONS.items():
        found = ground(shipped("demo", "pictures") / f"{name}.jpg", caption, checkpoint=checkpoint)
        with Image.open(io.BytesIO(draw_grounding(found, "png"))) as drawn:
            small = drawn.convert("RGB").resize((drawn.width // 2, drawn.height // 2), Image.Resampling.LANCZOS)
        with writing(FIGURES / f"ground-{name}.png") as stream:
            small.quantize(256, Image.Quantize.MEDIANCUT).save(stream, "png", optimize=True)
        hottest = ", ".join(
            f"{word} {similarity.max():.2f}"
            for word, similarity in zip(found.candidate.words, found.candidate.similarity.T)
        )
        click.echo(f"ground-{name}.png: {hottest}")


if __name__ == "__main__":
    main()
