"""Looking closer: how scores lie in each grade, and where metrics err."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from capeval.bench.agreement import judged_rows
from capeval.types import Array

if TYPE_CHECKING:
    from capeval.bench.ratings import Ratings


class Grade(NamedTuple):
    """The scores that a metric gave where people gave one grade."""

    rows: int
    mean: float
    quantiles: list[float]


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
