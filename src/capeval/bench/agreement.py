"""How well scores agree with people: correlations with intervals, and tests of one metric against another.

Intervals and p-values resample images, with the same draws for all metrics: captions of one image go together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from capeval.bench.correlation import bootstrapped, centred_ranks, correlation_of_ranks, correlations
from capeval.bench.draws import Draws, bootstrap_draws, numbered
from capeval.bench.forms import ScoresByMetric
from capeval.bench.probability import student_p
from capeval.errors import DataError
from capeval.significance import holm, interval
from capeval.types import Array, Flags, Ints

if TYPE_CHECKING:
    from capeval.bench.ratings import Ratings
    from capeval.bench.systems import Systems


class Estimate(NamedTuple):
    """A number with its 95 % interval and, for a correlation, the textbook p-value of there being none."""

    value: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class Agreement:
    metric: str
    rows: int
    left_out: int
    """Rows that the metric gave no score."""
    estimates: Mapping[str, Estimate]
    with_mean: Mapping[str, float]
    """The same statistics with the mean judgement of each caption, where it has several."""
    drawn: Mapping[str, Array]
    """Each statistic in each resample."""


class Judged(NamedTuple):
    """One row for each judgement."""

    score: Array
    human: Array
    group: Ints


def judged_rows(ratings: Ratings, scores: Array) -> Judged:
    """Each judgement beside the score of its caption, where there are both."""
    captions, judges = np.nonzero(np.isfinite(ratings.human) & np.isfinite(scores)[:, None])
    group = numbered(ratings.dataset.images)
    return Judged(scores[captions], ratings.human[captions, judges], group[captions])


def agree(ratings: Ratings, scores: ScoresByMetric, weights: Draws, threads: int = 1) -> list[Agreement]:
    """The agreement of each metric with people, on the rows that it has scored; `weights` are from `image_draws`."""
    return [_agreement(ratings, name, values, weights, threads) for name, values in scores.items()]


def _agreement(ratings: Ratings, name: str, scores: Array, weights: Draws, threads: int) -> Agreement:
    rows = judged_rows(ratings, scores)
    if len(rows.score) < 2:
        raise DataError(f"{name} has scored {len(rows.score)} rows; two or more are needed")
    found = correlations(rows.score, rows.human)
    drawn = bootstrapped(rows.score, rows.human, rows.group, weights, threads)
    estimates = {}
    for statistic, each in found.items():
        low, high = known_interval(drawn[statistic])
        estimates[statistic] = Estimate(each.value, low, high, each.p)
    with_mean: dict[str, float] = {}
    if ratings.human.shape[1] > 1:
        has_both = np.isfinite(scores) & np.isfinite(ratings.human).any(axis=1)
        means = np.nanmean(ratings.human[has_both], axis=1)
        with_mean = {key: each.value for key, each in correlations(scores[has_both], means).items()}
    total = int(np.isfinite(ratings.human).sum())
    return Agreement(name, len(rows.score), total - len(rows.score), estimates, with_mean, drawn)


def known_interval(drawn: Array) -> tuple[float, float]:
    """The interval of resamples, NaN where none of them has a number."""
    if not np.isfinite(drawn).any():
        return math.nan, math.nan
    low, high = interval(drawn)
    return float(low), float(high)


def pairwise_p(
    ratings: Ratings, scores: ScoresByMetric, found: Sequence[Agreement], weights: Draws, threads: int = 1
) -> Array:
    """P-value of no difference for each two metrics, by paired bootstrap over images, corrected by Holm's method.

    Two metrics are compared on the rows that both have scored, however few a third one has. `found` is what `agree`
    gave for the same scores.
    """
    drawn = {(each.metric, np.isfinite(scores[each.metric]).tobytes()): each.drawn[ratings.main] for each in found}

    def of(metric: str, common: Flags) -> Array:
        key = metric, common.tobytes()
        if key not in drawn:
            rows = judged_rows(ratings, np.where(common, scores[metric], np.nan))
            drawn[key] = bootstrapped(rows.score, rows.human, rows.group, weights, threads)[ratings.main]
        return drawn[key]

    p_values = []
    for a, b in combinations(scores, 2):
        common = np.isfinite(scores[a]) & np.isfinite(scores[b])
        p_values.append(bootstrap_p(of(a, common) - of(b, common)))
    return holm_matrix(len(scores), p_values)


def on_common_rows(scores: ScoresByMetric) -> ScoresByMetric:
    """The scores, only where every metric has one."""
    common = np.logical_and.reduce([np.isfinite(values) for values in scores.values()])
    return {name: np.where(common, values, np.nan) for name, values in scores.items()}


def common_judgements(ratings: Ratings, scores: ScoresByMetric) -> int:
    """How many judgements are of captions that every metric has scored."""
    return len(judged_rows(ratings, next(iter(on_common_rows(scores).values()))).score)


def bootstrap_p(gaps: Array) -> float:
    """Twice the smaller share of resamples on either side of no difference; never 0.

    1 where there is no difference to tell, since a metric gives every caption the same score.
    """
    gaps = gaps[np.isfinite(gaps)]
    if not len(gaps):
        return 1.0
    fewer = min(int((gaps <= 0).sum()), int((gaps >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (len(gaps) + 1))


def holm_matrix(size: int, p_values: Sequence[float]) -> Array:
    """The corrected p-values of all pairs, in the order of `itertools.combinations`; 1 on the diagonal."""
    matrix = np.ones((size, size))
    for (i, j), p in zip(combinations(range(size), 2), holm(p_values)):
        matrix[i, j] = matrix[j, i] = p
    return matrix


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Williams' test of r12 against r13, two correlations with the same variable 1: t, and its two-sided p-value."""
    if n < 4:
        raise ValueError("Williams' test needs four rows or more")
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if math.isnan(spread):
        return math.nan, math.nan
    if spread <= 0:  # the two are the same
        return 0.0, 1.0
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return t, student_p(t, n - 3)


def williams_p(ratings: Ratings, scores: ScoresByMetric) -> Array:
    """Two-sided p-values of Williams' test with Pearson's correlations, for each two metrics; 1 on the diagonal."""
    rows = [judged_rows(ratings, values) for values in on_common_rows(scores).values()]
    with np.errstate(invalid="ignore", divide="ignore"):  # a metric may give every caption the same score
        r = np.corrcoef([rows[0].human, *(each.score for each in rows)])
    matrix = np.ones((len(rows), len(rows)))
    for i, j in combinations(range(len(rows)), 2):
        matrix[i, j] = matrix[j, i] = williams(r[0, i + 1], r[0, j + 1], r[i + 1, j + 1], len(rows[0].human))[1]
    return matrix


def between_metrics(scores: ScoresByMetric) -> Array:
    """Spearman's correlation of each two metrics, on the rows that both have scored."""
    columns = list(scores.values())
    known: list[Flags] = [np.isfinite(column) for column in columns]
    ranks: dict[tuple[int, bytes], Array] = {}

    def ranks_of(metric: int, rows: Flags) -> Array:
        key = metric, rows.tobytes()
        if key not in ranks:
            ranks[key] = centred_ranks(columns[metric][rows])
        return ranks[key]

    matrix = np.ones((len(columns), len(columns)))
    for i, j in combinations(range(len(columns)), 2):
        both = known[i] & known[j]
        matrix[i, j] = matrix[j, i] = correlation_of_ranks(ranks_of(i, both), ranks_of(j, both))
    return matrix


def agree_systems(
    systems: Systems, scores: ScoresByMetric, resamples: int = 1000, seed: int = 0, threads: int = 1
) -> dict[str, dict[str, Agreement]]:
    """By metric and human measure, the correlation over systems; intervals resample systems."""
    found: dict[str, dict[str, Agreement]] = {}
    for name, values in scores.items():
        known = np.isfinite(values)
        if known.sum() < 3:
            raise DataError(f"{name} has scores for {known.sum()} systems; three or more are needed")
        group = np.arange(known.sum(), dtype=np.int32)
        weights = bootstrap_draws(len(group), resamples, seed)
        found[name] = {}
        for measure, human in systems.human.items():
            x, y = values[known], human[known]
            drawn = bootstrapped(x, y, group, weights, threads)
            estimates = {
                key: Estimate(each.value, *known_interval(drawn[key]), each.p)
                for key, each in correlations(x, y).items()
            }
            found[name][measure] = Agreement(name, len(x), len(values) - len(x), estimates, {}, drawn)
    return found
