"""What all drawings of heat maps share: their scales, their names, and what they show in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.report.heat import Scale
from capeval.runtime.grounding import Grounded, GroundedCaption
from capeval.runtime.regions import grid_of, side_of
from capeval.types import Array, Floats

MOST_REFERENCES = 10
"""More than these are not drawn."""
_FRAMED = 3
"""How many of the hottest boxes have a frame."""


class Scales:
    """One scale for all captions, and one for all words, so that maps can be compared."""

    def __init__(self, captions: Sequence[GroundedCaption]) -> None:
        vectors = np.concatenate([each.vector for each in captions])
        self.captions = Scale(float(vectors.min()), float(vectors.max()))
        # A word that a region has nothing to do with is as cold as can be.
        self.words = Scale(0.0, max(float(each.similarity.max()) for each in captions))


def described(values: Array, boxes: Floats) -> str:
    """A heat map in words, for those who do not see it."""
    low, high = float(values.min()), float(values.max())
    if high - low < 5e-4:
        return f"the same everywhere, {high:.3f}"
    return f"hottest at the {side_of(boxes[int(values.argmax())])}; from {low:.3f} to {high:.3f}"


def word_label(caption: GroundedCaption, number: int) -> str:
    return caption.words[number] + ("" if caption.known[number] else " (not known)")


def role_of(number: int, references: int) -> str:
    """What a caption is called; the candidate is the first."""
    if number == 0:
        return "candidate" if references else "caption"
    return "reference" if references == 1 else f"reference {number}"


def told_of_cut(caption: GroundedCaption) -> str:
    if not caption.left_out:
        return ""
    return (
        f" (the last {caption.left_out} words are not read)" if caption.left_out > 1 else " (the last word is not read)"
    )


def told_of_left_out(grounded: Grounded) -> str:
    more = len(grounded.references) - MOST_REFERENCES
    return f"The first {MOST_REFERENCES} of {len(grounded.references)} references are drawn." if more > 0 else ""


def hottest_frames(values: Array, boxes: Floats) -> list[tuple[float, float, float, float]]:
    """x, y, width and height of the hottest boxes, in parts of the picture. Cells of a grid need no frames."""
    if grid_of(boxes):
        return []
    hottest = np.argsort(-values, kind="stable")[:_FRAMED]
    return [(x0, y0, x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes[hottest].tolist()]
