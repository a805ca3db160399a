"""Heat over a picture: how numbers of regions become colours, and pictures become small enough to be embedded.

Under the heat the picture is grey, so colour means heat and nothing else. The colours rise in lightness from nearly
black to light yellow: they keep their order for people who do not see red or green, and on paper without colours.
"""

from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

import numpy as np

from capeval.report.theme import HEAT_OVER_PICTURE
from capeval.runtime.encoder import Pixels
from capeval.runtime.regions import grid_of
from capeval.types import Array, Bytes, Floats

LEVELS = 64
_CELL = 8
"""Pixels of a heat map for each cell of a grid; what shows it makes it larger, and stays smooth."""
_SIDE = 192
"""Pixels of a heat map of boxes."""
_WEAKEST, _STRONGEST = 0.48, 0.64
"""How much of the grey picture the coldest and the hottest colour hide."""


class Scale(NamedTuple):
    """The numbers that the coldest and the hottest colour stand for."""

    low: float
    high: float

    def levels(self, values: Array | Floats) -> Bytes:
        width = self.high - self.low
        share = (values - self.low) / width if width > 0 else np.full(values.shape, 0.5)
        return np.asarray(np.rint(np.clip(share, 0, 1) * (LEVELS - 1)), np.uint8)


def palette() -> Bytes:
    """Red, green, blue and opacity of each level, [64, 4]."""
    anchors = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in HEAT_OVER_PICTURE], np.float64)
    share = np.linspace(0, 1, LEVELS)
    places = np.linspace(0, 1, len(anchors))
    colors = [np.interp(share, places, channel) for channel in anchors.T]
    opacity = 255 * (_WEAKEST + (_STRONGEST - _WEAKEST) * share)
    return np.asarray(np.rint(np.stack([*colors, opacity], axis=1)), np.uint8)


def heat_levels(values: Array, boxes: Floats, scale: Scale) -> Bytes:
    """A small picture of levels, [height, width].

    Cells of a grid run into one another. Where boxes overlap the hottest counts, and where there is none it is coldest.
    """
    grid = grid_of(boxes)
    if grid is None:
        return scale.levels(_painted(values, boxes, scale.low))
    from PIL import Image

    rows, columns = grid
    cells = Image.fromarray(np.asarray(values, np.float32).reshape(grid))
    smooth = cells.resize((columns * _CELL, rows * _CELL), Image.Resampling.BICUBIC)
    return scale.levels(np.asarray(smooth, np.float32))


def _painted(values: Array, boxes: Floats, background: float) -> Floats:
    painted = np.full((_SIDE, _SIDE), background, np.float32)
    corners = np.rint(boxes * _SIDE).astype(int)
    for number in np.argsort(values, kind="stable").tolist():  # the hottest last, over all others
        x0, y0, x1, y1 = corners[number].tolist()
        painted[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)] = values[number]
    return painted


def shrunk(pixels: Pixels, longest: int) -> Pixels:
    """The picture with no side longer than that."""
    from PIL import Image

    height, width = pixels.shape[:2]
    factor = longest / max(height, width)
    if factor >= 1:
        return pixels
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))


def gray(pixels: Pixels) -> Pixels:
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).convert("L").convert("RGB"))


def under_heat(pixels: Pixels, levels: Bytes) -> Pixels:
    """The grey picture with the heat over it, as everybody sees it: [height, width, 3]."""
    from PIL import Image

    height, width = pixels.shape[:2]
    heat = Image.fromarray(palette()[levels]).resize((width, height), Image.Resampling.BILINEAR)
    whole = Image.alpha_composite(Image.fromarray(gray(pixels)).convert("RGBA"), heat)
    return np.asarray(whole.convert("RGB"))


def jpeg_uri(pixels: Pixels) -> str:
    """The picture inside of a page. A grey one takes less room as such."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    if (pixels == pixels[..., :1]).all():
        picture = picture.convert("L")
    return _uri(picture, "jpeg", quality=82)


def heat_uri(levels: Bytes) -> str:
    """A heat map inside of a page: a PNG with one byte a pixel."""
    from PIL import Image

    colors = palette()
    picture = Image.fromarray(levels).convert("P")
    picture.putpalette(colors[:, :3].tobytes())
    return _uri(picture, "png", optimize=True, transparency=colors[:, 3].tobytes())


def _uri(picture: Any, form: str, **options: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, form, **options)
    return f"data:image/{form};base64,{base64.b64encode(stream.getvalue()).decode()}"
