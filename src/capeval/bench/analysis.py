"""Looking closer: how scores lie in each grade, where metrics err, and which metrics are best together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from capeval.bench.agreement import judged_rows, on_common_rows
from capeval.bench.correlation import correlations
from capeval.bench.forms import ScoresByMetric
from capeval.types import Array

if TYPE_CHECKING:
    from capeval.bench.ratings import Ratings


@dataclass(frozen=True)
class Combination:
    """Metrics whose scores, each scaled to [0, 1], are added."""

    metrics: tuple[str, ...]
    value: float


class Grade(NamedTuple):
    """The scores that a metric gave where people gave one grade."""

    rows: int
    mean: float
    quantiles: list[float]


def best_combinations(
    ratings: Ratings, scores: ScoresByMetric, *, size: int = 3, statistic: str = ""
) -> list[Combination]:
    """All sets of up to `size` metrics, best first, on the rows that all metrics have scored."""
    rows = {name: judged_rows(ratings, values) for name, values in on_common_rows(scores).items()}
    scaled = {name: _to_unit(each.score) for name, each in rows.items()}
    human = next(iter(rows.values())).human
    found = []
    for count in range(1, size + 1):
        for names in combinations(scaled, count):
            total = np.sum([scaled[name] for name in names], axis=0)
            found.append(Combination(names, correlations(total, human)[statistic or ratings.main].value))
    # Metrics that give every caption the same score have no correlation; they come last.
    return sorted(found, key=lambda each: (each.value != each.value, -each.value, len(each.metrics), each.metrics))


def _to_unit(values: Array) -> Array:
    spread = values.max() - values.min()
    return (values - values.min()) / spread if spread > 0 else np.zeros_like(values)


def by_grade(
    ratings: Ratings, scores: Array, quantiles: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
) -> dict[float, Grade]:
    """How the metric's scores lie in each human grade."""
    rows = judged_rows(ratings, scores)
    found = {}
    for grade in np.unique(rows.human).tolist():
        mine = rows.score[rows.human == grade]
        found[grade] = Grade(len(mine), float(mine.mean()), np.quantile(mine, quantiles).tolist())
    return found


def rank_mapped_errors(ratings: Ratings, scores: Array) -> Array:
    """What the metric says, on the human scale, less what people say: one number for each judgement (TIGEr, A.1).

    The lowest scores are given the lowest grades, as many of each grade as people gave. Equal scores get the mean of
    the grades that fall to them.
    """
    rows = judged_rows(ratings, scores)
    grades = np.sort(rows.human)
    _, place, counts = np.unique(rows.score, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    up_to = np.concatenate([[0.0], np.cumsum(grades)])
    return np.asarray((up_to[ends] - up_to[ends - counts]) / counts)[place] - rows.human
