"""`capeval ground`: where in a picture a caption lies."""

from __future__ import annotations

import click

from capeval.cli.common import command_line, note, options
from capeval.cli.paths import Command, Reads, Writes, checkpoint_files, feature_files
from capeval.cli.progress import running


@click.command("ground", cls=Command)
@click.argument("image", metavar="IMAGE", type=Reads())
@click.argument("caption", metavar="CAPTION")
@options(
    click.option("-r", "--reference", "references", multiple=True, metavar="TEXT",
                 help="A reference caption, to be shown beside it; repeat it for several."),
    click.option("-o", "--output", required=True, metavar="FILE", type=Writes(),
                 help="What to draw: .png, .svg or .html."),
    click.option("--checkpoint", default="scan", show_default=True, metavar="NAME", type=Reads(checkpoint_files),
                 help="The name of a SCAN, or a folder made by `capeval train scan`."),
    click.option("--features", metavar="FILE", type=Reads(feature_files),
                 help="Regions of your own, with boxes; the picture's id is its name without the ending."),
)  # fmt: skip
def ground_command(
    image: str, caption: str, references: tuple[str, ...], output: str, checkpoint: str, features: str | None
) -> None:
    """Draw where in IMAGE the CAPTION lies, and each of its words.

    \b
    capeval ground photo.jpg "a dog runs on the beach" -o dog.png
    capeval ground photo.jpg "a dog runs" -r "a dog on the sand" -r "a brown dog" -o dog.html
    capeval ground photo.jpg "a dog runs" --features bottom_up.npz --checkpoint my-scan/ -o dog.svg

    A heat map shows how near each region of the picture is to the caption, as TIGEr sees it. A page (.html) shows the
    map of a word when you point at the word. Needs the extra `learned`, for .png also `report`.
    """
    from capeval.api import ground
    from capeval.report.grounding import form_of, require_drawing, write_grounding

    require_drawing(form_of(output))
    with running() as run:
        run.progress.step("reading the picture")
        found = ground(image, caption, references, checkpoint=checkpoint, features=features)
        run.progress.step("drawing")
        write_grounding(found, output, command_line())
    note(f"wrote {output}")
