"""What a report is made of: sections of texts, tables, figures and examples. How it looks is decided elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from capeval.documents.types import Estimate
from capeval.report.charts import Chart
from capeval.runtime.grounding import Grounded
from capeval.types import Word


@dataclass(frozen=True)
class Cell:
    """One cell of a table. With a value it is a number: aligned to the right, and sorted by value."""

    text: str
    value: float | None = None
    best: bool = False
    code: bool = False


@dataclass(frozen=True)
class Table:
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they are, such as a command."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Figure:
    """A chart, what is said below it, what it shows in words, and its numbers."""

    name: str
    """In small letters with hyphens; the name of its files."""
    title: str
    caption: str
    chart: Chart
    table: Table | None = None


@dataclass(frozen=True)
class HeatMaps:
    """Where captions, and their words, lie on a picture."""

    grounded: Grounded
    words_of_references: bool = True
    """Whether words of the references have maps, as those of the candidate do."""
    table: Table | None = None


@dataclass(frozen=True)
class Spoken:
    """A system's caption of a picture, with its scores."""

    system: str
    caption: str
    facts: Sequence[tuple[str, str]]
    words: Sequence[Word] = ()


@dataclass(frozen=True)
class Example:
    """One caption with what metrics, and perhaps people, make of it."""

    caption: str
    facts: Sequence[tuple[str, str]]
    references: Sequence[str] = ()
    other: str = ""
    """The second caption of a pair."""
    marks: tuple[str, str] = ("", "")
    """What is said of the first and of the second."""
    image: str = ""
    """The id of its picture, where it has one."""
    maps: HeatMaps | None = None
    words: Sequence[Word] = ()
    """Of the caption, marked by what the references have too; empty: as it is."""
    systems: Sequence[Spoken] = ()
    """Captions of several systems, side by side, in place of one."""
    picture: str = ""
    """The picture, small, as a data URI."""


@dataclass(frozen=True)
class Examples:
    title: str
    examples: Sequence[Example]
    folded: bool = True


@dataclass(frozen=True)
class Folded:
    """What is shown where somebody asks for it."""

    title: str
    blocks: Sequence[Block]


Block = Text | Code | Table | Figure | HeatMaps | Examples | Folded


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
    sections: Sequence[Section] = field(default=())

    def flat(self) -> Iterator[Block]:
        """Its own blocks, those that are folded too."""
        for block in self.blocks:
            yield from block.blocks if isinstance(block, Folded) else [block]

    def walk(self) -> Iterator[Section]:
        """This section and all below it."""
        yield self
        for each in self.sections:
            yield from each.walk()


def name_cell(text: str) -> Cell:
    """A cell with a name out of code, such as a metric."""
    return Cell(text, code=True)


def number(value: float | None, digits: int = 4, best: bool = False) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("–")
    return Cell(f"{value:.{digits}f}", value, best)


def count(value: int | float) -> Cell:
    return Cell(f"{value:,.10g}", float(value))


def estimate(found: Estimate | None, digits: int = 4, best: bool = False) -> Cell:
    """A value with its interval."""
    if found is None or found.value is None:
        return Cell("–")
    limits = "" if found.low is None or found.high is None else f" [{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return Cell(f"{found.value:.{digits}f}{limits}", found.value, best)


def p_value(value: float | None) -> Cell:
    if value is None:
        return Cell("–")
    return Cell("< 0.001" if value < 0.001 else f"{value:.3f}", value)


def clear_winner(found: list[Estimate | None]) -> int | None:
    """The place of the value whose interval lies above those of all others; none where intervals overlap or lack."""
    for place, mine in enumerate(found):
        others = [each for each in found[:place] + found[place + 1 :] if each is not None and each.value is not None]
        if mine is None or mine.low is None or not others:
            continue
        if all(other.high is not None and mine.low > other.high for other in others):
            return place
    return None
