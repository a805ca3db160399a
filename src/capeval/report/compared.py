"""The section of two systems side by side."""

from __future__ import annotations

from pathlib import PurePath

from capeval.documents import CompareDocument, Difference
from capeval.report.blocks import Block, Figure, Section, Table, Text, name_cell, number, p_value
from capeval.report.charts import Forest, Interval
from capeval.report.plain import origin
from capeval.verdict import winners


def comparison_section(data: CompareDocument, source: str) -> Section:
    """From the result of `capeval compare`."""
    winner = winners(data)
    rows = [
        [
            name_cell(key),
            number(each.a, best=winner.get(key) == "A"),
            number(each.b, best=winner.get(key) == "B"),
            number(each.difference),
            number(each.low),
            number(each.high),
            p_value(each.p_bootstrap),
            p_value(each.p_permutation),
        ]
        for key, each in data.comparisons.items()
    ]
    header = ["metric", "A", "B", "A − B", "low", "high", "p (bootstrap)", "p (permutation)"]
    named = (
        f" A is {PurePath(data.a).name}, B is {PurePath(data.b).name}."
        if data.a is not None and data.b is not None
        else ""
    )
    blocks: list[Block] = [
        Text(f"{data.n:,} captions of each system{origin(source)}{named}"),
        Table(
            "Both scores, their difference with its 95 % interval, and p-values. Bold: better by more than chance "
            "(permutation test, Holm's correction for the number of metrics)",
            header,
            rows,
        ),
        Figure(
            "difference",
            "System A less system B",
            "The difference in per cent of the mean of both scores, with its 95 % interval from a paired bootstrap "
            "over images. Right of the line A is better. Hollow points are differences that may be chance.",
            Forest(
                [_relative(key, each, key in winner) for key, each in data.comparisons.items()],
                "difference in %",
                zero=True,
                digits=1,
            ),
        ),
    ]
    return Section("Comparison", blocks)


def _relative(key: str, each: Difference, is_strong: bool) -> Interval:
    """Metrics have scales of their own; a share of the score can be drawn on one axis."""
    if each.a is None or each.b is None or each.difference is None:
        return Interval(key, None, strong=False)
    middle = (abs(each.a) + abs(each.b)) / 2
    if not middle:
        return Interval(key, 0.0, strong=False)
    lower, upper = (None if end is None else 100 * end / middle for end in (each.low, each.high))
    return Interval(key, 100 * each.difference / middle, lower, upper, strong=is_strong)
