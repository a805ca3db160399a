"""What `capeval ground` makes: heat maps of captions and of their words over a picture, as PNG, SVG or a page."""

from __future__ import annotations

import os
from pathlib import Path

from capeval.errors import DataError
from capeval.io.files import PathLike, writing
from capeval.report import html
from capeval.report.blocks import Block, Cell, Code, HeatMaps, Section, Table, Text, number
from capeval.report.heatmaps import MOST_REFERENCES, role_of
from capeval.report.maplayout import laid_out
from capeval.report.plots import require_matplotlib
from capeval.runtime.encoder import require_pillow
from capeval.runtime.grounding import Grounded
from capeval.runtime.regions import region_names
from capeval.version import __version__

FORMS = ("png", "svg", "html")


def form_of(path: PathLike) -> str:
    """What a file is to be, by the ending of its name."""
    form = Path(os.fspath(path)).suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise DataError("heat maps are drawn as .png, .svg or .html", file=os.fspath(path))
    return form


def require_drawing(form: str) -> None:
    """To be called before long work: whether all is installed that the drawing needs."""
    require_pillow()
    if form == "png":
        require_matplotlib()


def draw_grounding(grounded: Grounded, form: str, command: str | None = None) -> bytes:
    """The bytes of a PNG or SVG file, or of an HTML page, which names the command that made it. The same numbers always
    give the same bytes.
    """
    require_drawing(form)
    if form == "html":
        return _page(grounded, command)
    canvas = laid_out(grounded, _title(grounded))
    return canvas.svg() if form == "svg" else canvas.png()


def write_grounding(grounded: Grounded, path: PathLike, command: str | None = None) -> None:
    """Draws into a file, in the form that its name ends in."""
    data = draw_grounding(grounded, form_of(path), command)
    with writing(path) as stream:
        stream.write(data)


def _page(grounded: Grounded, command: str | None) -> bytes:
    told = (
        "Colour is heat: how near each region of the picture is to the caption. Point at a word, or go to it with the "
        "Tab key, to see the map of the word alone."
    )
    blocks: list[Block] = [Text(told), HeatMaps(grounded, table=_numbers(grounded))]
    sections = [Section("Heat maps", blocks)]
    if command:
        sections.append(Section("How it was made", [Code([command])]))
    about = f"Made by capeval {__version__}."
    return html.encoded(html.render(_title(grounded), about, sections, lambda name: None))


def _title(grounded: Grounded) -> str:
    return f"Where captions lie on the picture {grounded.image}"


def _numbers(grounded: Grounded) -> Table:
    captions = grounded.captions[: 1 + MOST_REFERENCES]
    header = ["region", *(role_of(i, len(grounded.references)) for i in range(len(captions)))]
    names = region_names(len(grounded.boxes), grounded.boxes)
    rows = [[Cell(name), *(number(float(each.vector[i]), 3) for each in captions)] for i, name in enumerate(names)]
    return Table("The cosine of each region with the words that it attends to", header, rows)
