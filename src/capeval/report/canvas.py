"""A drawing of pictures, heat and texts that are placed by hand, as SVG and as PNG."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

import numpy as np

from capeval.report.heat import LEVELS, gray, heat_uri, jpeg_uri, shrunk, under_heat
from capeval.report.plots import drawing
from capeval.report.theme import LIGHT
from capeval.runtime.encoder import Pixels
from capeval.types import Bytes

_PNG_SCALE = 2
"""Pixels of a PNG for each unit of the drawing."""
_UNIT = 72
_EMBEDDED = 640
"""The longest side of a picture inside of an SVG."""
_LETTER = 0.62
"""Width of a letter, in sizes of the font: of wide ones, since another font may be all there is."""


class Place(NamedTuple):
    x: float
    y: float
    width: float
    height: float


class Picture(NamedTuple):
    """The picture in its colours; or grey, with heat over it."""

    place: Place
    levels: Bytes | None = None
    title: str = ""
    frames: Sequence[tuple[Place, str]] = ()
    """Boxes in parts of the picture, and their colours."""


class Bar(NamedTuple):
    """All colours of the heat, from the coldest to the hottest, over a middle grey."""

    place: Place


class Label(NamedTuple):
    x: float
    y: float
    """The line that letters stand on."""
    text: str
    size: float = 12
    bold: bool = False
    color: str = "ink"


@dataclass
class Canvas:
    """What is drawn, with sizes in CSS pixels."""

    width: float
    height: float
    pixels: Pixels
    title: str
    description: str
    items: list[Picture | Bar | Label] = field(default_factory=list)

    def svg(self) -> bytes:
        """One file with the picture inside of it, once in colours and once in grey."""
        small = shrunk(self.pixels, _EMBEDDED)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" aria-labelledby="title description" '
            'font-family="DejaVu Sans, Verdana, Noto Sans, Arial, sans-serif">',
            f'<title id="title">{_plain(self.title)}</title>',
            f'<desc id="description">{_plain(self.description)}</desc>',
            f"<defs>{_embedded('photo', small)}{_embedded('gray', gray(small))}</defs>",
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="{LIGHT["paper"]}"/>',
        ]
        for item in self.items:
            if isinstance(item, Picture):
                parts.append(_svg_picture(item, small))
            elif isinstance(item, Bar):
                parts.append(
                    f'<rect {_at(item.place)} fill="#808080"/>{_svg_image(item.place, heat_uri(_all_levels()))}'
                )
            else:
                weight = ' font-weight="bold"' if item.bold else ""
                parts.append(
                    f'<text x="{item.x:g}" y="{item.y:g}" font-size="{item.size:g}" fill="{LIGHT[item.color]}"{weight}>'
                    f"{_plain(item.text)}</text>"
                )
        return ("\n".join([*parts, "</svg>"]) + "\n").encode()

    def png(self) -> bytes:
        """Needs matplotlib, for the letters."""
        from PIL import Image

        letters = Image.fromarray(self._letters())
        whole = Image.new("RGB", letters.size, LIGHT["paper"])
        for item in self.items:
            if not isinstance(item, Label):
                shown = _drawn_bar(item) if isinstance(item, Bar) else _drawn_picture(item, self.pixels)
                whole.paste(shown, _pixels(item.place.x, item.place.y))
        whole.paste(letters, mask=letters)
        stream = io.BytesIO()
        whole.save(stream, "png")
        return stream.getvalue()

    def _letters(self) -> Bytes:
        """All labels on nothing, [height, width, 4]."""
        with drawing(LIGHT) as figure_class:
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            size = (self.width / _UNIT, self.height / _UNIT)
            figure = figure_class(figsize=size, dpi=_UNIT * _PNG_SCALE, facecolor="none")
            for item in self.items:
                if isinstance(item, Label):
                    figure.text(
                        item.x / self.width, 1 - item.y / self.height, _printable(item.text), fontsize=item.size,
                        fontweight="bold" if item.bold else "normal", color=LIGHT[item.color], va="baseline",
                    )  # fmt: skip
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            return np.array(canvas.buffer_rgba(), np.uint8)


def wrapped(text: str, size: float, width: float, lines: int) -> list[str]:
    """The text in at most so many lines that fit the width; what is left over becomes an ellipsis."""
    most = max(4, int(width / (size * _LETTER)))
    found, line = [], ""
    for word in _printable(text).split():
        while _width(word) > most:  # nothing to break it at
            cut = next(i for i in range(len(word), 0, -1) if _width(word[:i]) <= most)
            found += [line] if line else []
            line, word = word[:cut], word[cut:]
        if line and _width(line) + 1 + _width(word) > most:
            found.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    found += [line] if line else []
    if len(found) <= lines:
        return found
    return [*found[: lines - 1], found[lines - 1][: most - 1].rstrip() + "…"]


def _width(text: str) -> int:
    """In letters; those of East Asia count twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _printable(text: str) -> str:
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _plain(text: str) -> str:
    """Escaped, without what XML cannot hold."""
    return escape(_printable(text))


def _at(place: Place) -> str:
    return f'x="{place.x:g}" y="{place.y:g}" width="{place.width:g}" height="{place.height:g}"'


def _embedded(name: str, pixels: Pixels) -> str:
    height, width = pixels.shape[:2]
    size = f'width="{width}" height="{height}" preserveAspectRatio="none"'
    return f'<image id="{name}" {size} href="{jpeg_uri(pixels)}"/>'


def _svg_image(place: Place, uri: str) -> str:
    return f'<image {_at(place)} preserveAspectRatio="none" href="{uri}"/>'


def _svg_picture(item: Picture, embedded: Pixels) -> str:
    place = item.place
    under = "photo" if item.levels is None else "gray"
    height, width = embedded.shape[:2]
    moved = f"translate({place.x:g} {place.y:g}) scale({place.width / width:.6g} {place.height / height:.6g})"
    heat = "" if item.levels is None else _svg_image(place, heat_uri(item.levels))
    frames = "".join(
        f'<rect {_at(_inside(place, frame))} fill="none" stroke="{color}" stroke-width="2"/>'
        for frame, color in item.frames
    )
    title = f"<title>{_plain(item.title)}</title>" if item.title else ""
    return f'<g>{title}<use href="#{under}" transform="{moved}"/>{heat}{frames}</g>'


def _inside(place: Place, frame: Place) -> Place:
    x, y, width, height = place
    return Place(x + frame.x * width, y + frame.y * height, frame.width * width, frame.height * height)


def _all_levels() -> Bytes:
    return np.arange(LEVELS, dtype=np.uint8)[None]


def _pixels(*lengths: float) -> tuple[int, ...]:
    return tuple(max(0, round(length * _PNG_SCALE)) for length in lengths)


def _drawn_picture(item: Picture, pixels: Pixels) -> Any:
    from PIL import Image, ImageDraw

    width, height = (max(1, side) for side in _pixels(item.place.width, item.place.height))
    fitted = np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS))
    shown = Image.fromarray(fitted if item.levels is None else under_heat(fitted, item.levels))
    pen = ImageDraw.Draw(shown)
    for frame, color in item.frames:
        x, y, wide, high = _inside(Place(0, 0, width, height), frame)
        pen.rectangle((x, y, x + wide - 1, y + high - 1), outline=color, width=2 * _PNG_SCALE)
    return shown


def _drawn_bar(item: Bar) -> Any:
    from PIL import Image

    width, height = _pixels(item.place.width, item.place.height)
    return Image.fromarray(under_heat(np.full((height, width, 3), 128, np.uint8), _all_levels()))
