"""Heat maps on one sheet: the candidate beside the references, then the words of each caption."""

from __future__ import annotations

import math
from collections.abc import Sequence

from capeval.report.canvas import Bar, Canvas, Label, Picture, Place, wrapped
from capeval.report.heat import Scale, heat_levels
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
from capeval.report.theme import HEAT_OVER_PICTURE
from capeval.runtime.encoder import Pixels
from capeval.runtime.grounding import Grounded, GroundedCaption
from capeval.types import Array

_WIDTH, _MARGIN = 960.0, 20.0
_LARGE, _SMALL = 4, 8
"""Pictures side by side: of captions, and of words."""
_TALLEST = 1.3
"""Height of a picture's place, in widths."""


def laid_out(grounded: Grounded, title: str) -> Canvas:
    captions = grounded.captions[: 1 + MOST_REFERENCES]
    canvas = Canvas(_WIDTH, 0, grounded.pixels, title, "")
    layout = _Layout(canvas, grounded, captions)
    layout.pictures_of_captions()
    for number in range(len(captions)):
        layout.pictures_of_words(number)
    canvas.height = math.ceil(layout.y + _MARGIN)
    canvas.description = " ".join(layout.told)
    return canvas


class _Layout:
    """Puts pictures and labels below one another; `y` is where the next thing begins."""

    def __init__(self, canvas: Canvas, grounded: Grounded, captions: Sequence[GroundedCaption]) -> None:
        self.canvas, self.grounded, self.captions = canvas, grounded, captions
        self.scales = Scales(captions)
        self.y = _MARGIN
        self.told: list[str] = []

    def pictures_of_captions(self) -> None:
        """The picture, then the candidate beside the references and, if there are several, their mean."""
        boxes, references = self.grounded.boxes, len(self.grounded.references)
        panels: list[tuple[str, str, Array | None]] = [("picture", self.grounded.image, None)]
        for number, caption in enumerate(self.captions):
            panels.append((role_of(number, references), caption.text + told_of_cut(caption), caption.vector))
        if references > 1:
            panels.insert(2, ("mean of the references", "what TIGEr compares with", self.grounded.reference_mean()))
        columns = _LARGE + 1 if len(panels) == _LARGE + 1 else _LARGE  # the fifth is not left alone
        width = _column(columns, 16)
        for start in range(0, len(panels), columns):
            bottom = self.y
            for column, (role, text, values) in enumerate(panels[start : start + columns]):
                x = _MARGIN + column * (width + 16)
                place = _fitted(self.grounded.pixels, Place(x, self.y, width, _TALLEST * width))
                told = f"{role}: {text}" + ("" if values is None else f"; {described(values, boxes)}")
                self.told += [] if values is None else [f"{told}."]
                self._picture(place, values, self.scales.captions, told)
                y = place.y + place.height + 18
                self._label(x, y, role, 12, bold=True)
                for line in wrapped(text, 12, width, 5):
                    y += 16
                    self._label(x, y, line)
                bottom = max(bottom, y)
            self.y = bottom + 22
        self._bar("cosine of a region with the words that it attends to", self.scales.captions)
        if more := told_of_left_out(self.grounded):
            self._label(_MARGIN, self.y, more, color="muted")
            self.y += 20

    def pictures_of_words(self, number: int) -> None:
        caption = self.captions[number]
        width = _column(_SMALL, 10)
        self.y += 14
        role = role_of(number, len(self.grounded.references))
        for line in wrapped(f"{role}, word by word: {caption.text}", 12, _WIDTH - 2 * _MARGIN, 3):
            self._label(_MARGIN, self.y, line, bold=True)
            self.y += 16
        self.y -= 6
        for start in range(0, len(caption.words), _SMALL):
            bottom = self.y
            for column, word in enumerate(range(len(caption.words))[start : start + _SMALL]):
                x = _MARGIN + column * (width + 10)
                place = _fitted(self.grounded.pixels, Place(x, self.y, width, _TALLEST * width))
                values, label = caption.similarity[:, word], word_label(caption, word)
                self._picture(place, values, self.scales.words, f"{label}: {described(values, self.grounded.boxes)}")
                y = place.y + place.height
                for line in wrapped(label, 12, width, 2):
                    y += 15
                    self._label(x, y, line)
                bottom = max(bottom, y)
            self.y = bottom + 12
        self.y += 4
        if number == len(self.captions) - 1:
            self._bar("cosine of a region with a word", self.scales.words)

    def _picture(self, place: Place, values: Array | None, scale: Scale, title: str) -> None:
        if values is None:
            self.canvas.items.append(Picture(place, title=title))
            return
        boxes = self.grounded.boxes
        frames = [(Place(*frame), HEAT_OVER_PICTURE[-1]) for frame in hottest_frames(values, boxes)]
        self.canvas.items.append(Picture(place, heat_levels(values, boxes, scale), title, frames))

    def _label(self, x: float, y: float, text: str, size: float = 12, bold: bool = False, color: str = "ink") -> None:
        self.canvas.items.append(Label(x, y, text, size, bold, color))

    def _bar(self, what: str, scale: Scale) -> None:
        self._label(_MARGIN, self.y + 10, f"{scale.low:.2f}")
        self.canvas.items.append(Bar(Place(_MARGIN + 40, self.y, 160, 12)))
        self._label(_MARGIN + 208, self.y + 10, f"{scale.high:.2f}")
        self._label(_MARGIN + 256, self.y + 10, what, color="muted")
        self.y += 30


def _column(count: int, gap: float) -> float:
    return (_WIDTH - 2 * _MARGIN - (count - 1) * gap) / count


def _fitted(pixels: Pixels, room: Place) -> Place:
    """The largest place at the top left of the room that has the form of the picture."""
    height, width = pixels.shape[:2]
    factor = min(room.width / width, room.height / height)
    return Place(room.x, room.y, max(1.0, width * factor), max(1.0, height * factor))
