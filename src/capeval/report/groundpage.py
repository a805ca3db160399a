"""Heat maps as part of a page. The map of a word lies over that of its caption while the word has the pointer or the
focus, by the style sheet alone. Every map is told in words."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from capeval.report.blocks import HeatMaps
from capeval.report.heat import LEVELS, Scale, gray, heat_levels, heat_uri, jpeg_uri, shrunk
from capeval.report.heatmaps import (
    MOST_REFERENCES,
    Scales,
    described,
    hottest_frames,
    role_of,
    told_of_cut,
    told_of_left_out,
    word_label,
)
from capeval.runtime.encoder import Pixels
from capeval.runtime.grounding import GroundedCaption
from capeval.types import Array, Floats

_LONGEST = 640
"""The longest side of a picture, in pixels."""


class MapWriter:
    """Writes the heat maps of one page; a picture that several of them show is in it once."""

    def __init__(self) -> None:
        self._keys: dict[bytes, str] = {}

    def write(self, block: HeatMaps) -> str:
        grounded = block.grounded
        stored, picture = self._stored(shrunk(grounded.pixels, _LONGEST), grounded.boxes)
        captions = grounded.captions[: 1 + MOST_REFERENCES]
        scales, count = Scales(captions), len(grounded.references)
        maps = [_map(picture.svg("", f"the picture {grounded.image}"), "picture", grounded.image)]
        for number, caption in enumerate(captions):
            role = role_of(number, count)
            heat = picture.heated(caption.vector, scales.captions, f"{role}, {caption.text}")
            shows_words = number == 0 or block.words_of_references
            words = _words(role, caption, picture, scales.words) if shows_words else ""
            maps.append(_map(heat, role, caption.text + told_of_cut(caption), words))
        if count > 1:
            heat = picture.heated(grounded.reference_mean(), scales.captions, "mean of the references")
            maps.insert(2, _map(heat, "mean of the references", "what TIGEr compares with"))
        more = told_of_left_out(grounded)
        return (
            f'{stored}<div class="maps">{"".join(maps)}</div>'
            f"{_bar('captions: the cosine of a region with the words that it attends to', scales.captions)}"
            f"{_bar('words: the cosine of a region with the word', scales.words)}"
            f"{f'<p>{escape(more)}</p>' if more else ''}\n"
        )

    def _stored(self, pixels: Pixels, boxes: Floats) -> tuple[str, _Picture]:
        """The picture in colours and in grey, to be used by all maps, unless the page has it already."""
        content, (height, width) = pixels.tobytes(), pixels.shape[:2]
        known = self._keys.get(content)
        key = self._keys.setdefault(content, f"picture-{len(self._keys) + 1}")
        picture = _Picture(key, width, height, boxes)
        if known:
            return "", picture
        size = f'width="{width}" height="{height}" preserveAspectRatio="none"'
        images = (
            f'<image id="{key}" {size} href="{jpeg_uri(pixels)}"/>'
            f'<image id="{key}-gray" {size} href="{jpeg_uri(gray(pixels))}"/>'
        )
        return f'<svg class="stored" aria-hidden="true"><defs>{images}</defs></svg>', picture


class _Picture(NamedTuple):
    """A picture that is stored in the page."""

    key: str
    width: int
    height: int
    boxes: Floats

    def heated(self, values: Array, scale: Scale, name: str) -> str:
        return self.svg(self.heat(values, scale), f"{name}: {described(values, self.boxes)}")

    def heat(self, values: Array, scale: Scale) -> str:
        uri = heat_uri(heat_levels(values, self.boxes, scale))
        frames = "".join(
            f'<rect x="{x * self.width:.1f}" y="{y * self.height:.1f}" '
            f'width="{width * self.width:.1f}" height="{height * self.height:.1f}"/>'
            for x, y, width, height in hottest_frames(values, self.boxes)
        )
        size = f'width="{self.width}" height="{self.height}" preserveAspectRatio="none"'
        return f'<image {size} href="{uri}"/>{frames}'

    def svg(self, heat: str, name: str = "") -> str:
        """With heat over the grey picture; with none the picture in its colours. Without a name: part of another."""
        told = f'role="img" aria-label="{escape(name)}"' if name else 'class="over" aria-hidden="true"'
        used = f'<use href="#{self.key}{"-gray" if heat else ""}"/>'
        return f'<svg {told} viewBox="0 0 {self.width} {self.height}">{used}{heat}</svg>'


def _map(drawing: str, role: str, text: str, words: str = "") -> str:
    return f'<div class="map">{drawing}<p class="role">{escape(role)}</p><p>{escape(text)}</p>{words}</div>'


def _words(role: str, caption: GroundedCaption, picture: _Picture, scale: Scale) -> str:
    items = []
    for number in range(len(caption.words)):
        label, values = word_label(caption, number), caption.similarity[:, number]
        over = picture.svg(picture.heat(values, scale))
        name = escape(f"{label}: {described(values, picture.boxes)}")
        word = f'<span class="word" tabindex="0" role="img" aria-label="{name}">{escape(label)}{over}</span>'
        items.append(f"<li>{word}</li>")
    return f'<ul class="words" aria-label="Words of the {role}">{"".join(items)}</ul>'


def _bar(what: str, scale: Scale) -> str:
    levels = np.arange(LEVELS, dtype=np.uint8)[None]
    image = f'<image width="160" height="12" preserveAspectRatio="none" href="{heat_uri(levels)}"/>'
    drawing = f'<svg aria-hidden="true" viewBox="0 0 160 12">{image}</svg>'
    return f'<p class="scale">{scale.low:.2f} {drawing} {scale.high:.2f} <span>{escape(what)}</span></p>'
