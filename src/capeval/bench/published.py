"""Figures of other people's metrics, as their papers give them: `data/published.json`, with the source of each."""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple

from capeval.io.shipped import shipped


class Published(NamedTuple):
    metric: str
    benchmark: str
    variants: tuple[str, ...]
    """The variants of the benchmark whose protocol is the paper's."""
    statistic: str
    value: float
    """As we give it: a correlation, or percent of pairs."""
    source: str
    note: str = ""
    """What is known of the protocol where it differs, or may differ."""


@cache
def published() -> tuple[Published, ...]:
    rows = json.loads(shipped("published.json").read_text("utf-8"))
    return tuple(Published(**row | {"variants": tuple(row["variants"])}) for row in rows)


def quoted_for(benchmark: str, variant: str, statistic: str) -> list[Published]:
    """What can stand beside our own figures of one variant, the highest first."""
    found = [
        each
        for each in published()
        if each.benchmark == benchmark and variant in each.variants and each.statistic == statistic
    ]
    return sorted(found, key=lambda each: -each.value)
