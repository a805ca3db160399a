"""What is drawn, as plain data. `plots` draws it; `describe` says it in words, for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Numbers = Sequence[float | None]
"""None where there is no number."""


@dataclass(frozen=True)
class Interval:
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    strong: bool = True
    """Drawn full; else hollow, such as a difference that may be chance."""


@dataclass(frozen=True)
class Forest:
    """Values with their intervals, one below the other."""

    rows: Sequence[Interval]
    axis: str
    zero: bool = False
    """Whether a line marks zero."""
    digits: int = 3


@dataclass(frozen=True)
class Heat:
    """A matrix of numbers in coloured cells."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Numbers]
    kind: str
    """`p` for p-values, `correlation` from -1 to 1, `percent` right of two, `share` in per cent."""
    axis: str


@dataclass(frozen=True)
class Shape:
    """How some numbers lie: five quantiles (5, 25, 50, 75, 95 %) and the share in each bin."""

    label: str
    count: int
    quantiles: Sequence[float]
    shares: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One small chart of several: the shapes share the bins between `low` and `high`."""

    title: str
    low: float
    high: float
    shapes: Sequence[Shape]
    open: bool = False
    """Whether the last bin holds what lies above `high` as well."""

    @property
    def last(self) -> float:
        """Where the last bin begins."""
        bins = max(len(shape.shares) for shape in self.shapes)
        return self.high - (self.high - self.low) / bins


@dataclass(frozen=True)
class Violins:
    """Distributions side by side, one panel for each metric."""

    panels: Sequence[Panel]
    axis: str


@dataclass(frozen=True)
class Histograms:
    """One distribution in each panel, as bars."""

    panels: Sequence[Panel]
    axis: str
    zero: bool = False
    """Whether a line marks zero; else it marks the median."""


@dataclass(frozen=True)
class Curves:
    x: Sequence[float]
    lines: Mapping[str, Numbers]
    x_axis: str
    y_axis: str


Chart = Forest | Heat | Violins | Histograms | Curves


def describe(chart: Chart) -> str:
    """The content of a chart in a few sentences."""
    if isinstance(chart, Forest):
        return _describe_forest(chart)
    if isinstance(chart, Heat):
        return _describe_heat(chart)
    if isinstance(chart, Curves):
        return _describe_curves(chart)
    return _describe_panels(chart)


def _describe_forest(chart: Forest) -> str:
    parts = []
    for row in chart.rows:
        if row.value is None:
            parts.append(f"{row.label}: none")
            continue
        text = f"{row.label}: {row.value:.{chart.digits}f}"
        if row.low is not None and row.high is not None:
            text += f" ({row.low:.{chart.digits}f} to {row.high:.{chart.digits}f})"
        parts.append(text if row.strong else text + ", may be chance")
    return f"Points with intervals; {chart.axis}. {'; '.join(parts)}."


def _describe_heat(chart: Heat) -> str:
    cells = [
        (value, row, column)
        for row, values in zip(chart.rows, chart.values)
        for column, value in zip(chart.columns, values)
        if value is not None and row != column
    ]
    size = f"A matrix of {len(chart.rows)} rows and {len(chart.columns)} columns; {chart.axis}."
    if not cells:
        return f"{size} It has no numbers."
    if chart.kind == "p":
        pairs = {frozenset((row, column)): value for value, row, column in cells}
        chance = sorted(" and ".join(sorted(pair)) for pair, value in pairs.items() if value >= 0.05)
        told = f"{size} {len(pairs) - len(chance)} of {len(pairs)} pairs differ at p < 0.05."
        return told + (f" Not told apart: {'; '.join(chance)}." if 0 < len(chance) <= 12 else "")
    low, high = min(cells), max(cells)
    return f"{size} Highest: {high[1]}, {high[2]}: {_short(high[0])}. Lowest: {low[1]}, {low[2]}: {_short(low[0])}."


def _describe_curves(chart: Curves) -> str:
    parts = []
    for label, values in chart.lines.items():
        known = [(x, y) for x, y in zip(chart.x, values) if y is not None]
        if known:
            (x0, y0), (x1, y1) = known[0], known[-1]
            parts.append(f"{label}: from {_short(y0)} at {_short(x0)} to {_short(y1)} at {_short(x1)}")
    return f"Lines; {chart.y_axis} against {chart.x_axis}. {'; '.join(parts)}."


def _describe_panels(chart: Violins | Histograms) -> str:
    parts = []
    for panel in chart.panels:
        medians = ", ".join(
            (f"{shape.label} " if shape.label else "") + _short(shape.quantiles[2]) for shape in panel.shapes
        )
        parts.append(f"{panel.title}: {medians}" + (f" (the last bin: {open_end(panel)})" if panel.open else ""))
    return f"Distributions; {chart.axis}. Medians: {'; '.join(parts)}."


def told_of_open_ends(panels: Sequence[Panel]) -> str:
    """What the text beside a figure adds where there are such bins."""
    return " A last bin marked ≥ holds all that lie above it as well." if any(panel.open for panel in panels) else ""


def open_end(panel: Panel) -> str:
    """What the axis says at a last bin that holds all that lies above, too."""
    return f"≥ {_short(panel.last)}"


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "none"
