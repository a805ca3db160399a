"""Of several captions of an image, the best: SPIDEr-max of Labbé et al. 2022, and the same for every other score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capeval.errors import UnknownName
from capeval.expressions import split_expressions
from capeval.registry import parse
from capeval.results import Result, Scored
from capeval.types import Array, Info, Metric

ENDING = "_max"


@dataclass(frozen=True)
class BestOf(Metric):
    """A score whose caption counts for its image only if it is the best one there."""

    of: Metric
    name: str

    @property
    def info(self) -> Info:  # type: ignore[override]
        known = self.of.info
        return replace(known, name=f"{known.name}{ENDING}", names=(f"{self.name}{ENDING}",), on_request=())

    def parametrised(self) -> Metric:
        return self.of

    def per_sample(self, stats: Array) -> Array:
        """For each caption the best score of its image; columns of `stats`: that, and the caption's share in it."""
        return stats[:, :1]

    def summands(self, stats: Array) -> Array:
        return np.column_stack([stats[:, 0] * stats[:, 1], stats[:, 1]])

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        return np.asarray(totals[..., :1] / totals[..., 1:])

    def joinable(self) -> bool:
        return False


def split_best(metrics: Sequence[str]) -> tuple[list[str], list[str]]:
    """Expressions without their `_max`, and the wanted ones that had it: `spider_max` is the best `spider`."""
    plain, best = [], []
    for expression in (each for text in metrics for each in split_expressions(text)):
        name, bracket, parameters = expression.partition("(")
        if name.strip().lower().replace("-", "_").endswith(ENDING) and not _is_known(name.strip()):
            expression = f"{name.strip()[: -len(ENDING)]}{bracket}{parameters}"
            best.append(expression)
        plain.append(expression)
    return plain, best


def _is_known(name: str) -> bool:
    try:
        parse(name)
    except UnknownName:
        return False
    return True


def with_best(result: Result, expressions: Sequence[str]) -> Result:
    """The result, and beside its scores the mean over images of the best score that a caption of the image has."""
    wanted = [(selection.metric, name) for selection in map(parse, expressions) for name in selection.names]
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(result.images, result.systems, strict=True)):
        rows.setdefault(key, []).append(row)
    added = [
        _best(scored, name, list(rows.values()))
        for scored in result.scored
        for name in scored.names
        if (scored.metric, name) in wanted
    ]
    return replace(result, scored=(*result.scored, *added))


def _best(scored: Scored, name: str, images: Sequence[Sequence[int]]) -> Scored:
    each = scored.metric.per_sample(scored.stats)[:, scored.metric.info.names.index(name)]
    stats = np.empty((len(each), 2))
    for rows in images:
        stats[rows] = each[rows].max(), 1 / len(rows)
    metric: Any = BestOf(scored.metric, name)
    return replace(scored, metric=metric, names=metric.info.names, stats=stats)
