"""The section of two systems side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capeval.report.blocks import Block, Figure, Section, Table, Text, name_cell, number, p_value
from capeval.report.charts import Forest, Interval
from capeval.report.plain import origin


def comparison_section(data: Mapping[str, Any], source: str) -> Section:
    """From the result of `capeval compare`."""
    found: Mapping[str, Mapping[str, float]] = data["comparisons"]
    rows = [
        [
            name_cell(key),
            number(each["a"], best=each["a"] > each["b"]),
            number(each["b"], best=each["b"] > each["a"]),
            number(each["difference"]),
            number(each["low"]),
            number(each["high"]),
            p_value(each["p_bootstrap"]),
            p_value(each["p_permutation"]),
        ]
        for key, each in found.items()
    ]
    header = ["metric", "A", "B", "A − B", "low", "high", "p (bootstrap)", "p (permutation)"]
    named = f" A is {data['a']}, B is {data['b']}." if "a" in data and "b" in data else ""
    blocks: list[Block] = [
        Text(f"{data['n']:,} captions of each system{origin(source)}{named}"),
        Table("Both scores, their difference with its 95 % interval, and p-values", header, rows),
        Figure(
            "difference",
            "System A less system B",
            "The difference in per cent of the mean of both scores, with its 95 % interval from a paired bootstrap "
            "over images. Right of the line A is better. Hollow points are differences that may be chance (permutation "
            "test, p ≥ 0.05).",
            Forest([_relative(key, each) for key, each in found.items()], "difference in %", zero=True, digits=1),
        ),
    ]
    return Section("Comparison", blocks)


def _relative(key: str, each: Mapping[str, float]) -> Interval:
    """Metrics have scales of their own; a share of the score can be drawn on one axis."""
    middle = (abs(each["a"]) + abs(each["b"])) / 2
    if not middle:
        return Interval(key, 0.0, strong=False)
    value, low, high = (100 * each[name] / middle for name in ("difference", "low", "high"))
    return Interval(key, value, low, high, strong=each["p_permutation"] < 0.05)
