"""Several metrics together: each scaled to [0, 1], and added (Kilickaya et al. 2017, section 3.4).

A combination that is the best of many on some judgements is too good there. So it can be chosen on one benchmark and
measured on another, with the scale it had where it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capeval.bench.agreement import Judged, judged_rows, known_interval, on_common_rows, williams
from capeval.bench.correlation import bootstrapped, statistics_of
from capeval.bench.draws import Draws
from capeval.bench.forms import ScoresByMetric
from capeval.errors import CapevalError
from capeval.types import Array

if TYPE_CHECKING:
    from capeval.bench.ratings import Ratings

ALL = 1 << 20
"""As a size: combinations of any size."""
_MOST = 1 << 15  # combinations
_DETAILED = 20  # of the best ones, intervals and tests are given


@dataclass(frozen=True)
class Combination:
    metrics: tuple[str, ...]
    value: float
    chosen: float = math.nan
    """The value where it was chosen; NaN where that is here."""
    low: float = math.nan
    high: float = math.nan
    p_williams: float = math.nan
    """Of being no better than the best single metric; NaN for that one and where it was not asked for."""

    def known(self) -> dict[str, Any]:
        """Its fields, without what was not asked for."""
        found = asdict(self)
        return {key: found[key] for key in found if key in ("metrics", "value") or not math.isnan(found[key])}


class Measured(NamedTuple):
    """A benchmark and the scores of its captions."""

    ratings: Ratings
    scores: ScoresByMetric


class _Judgements:
    """Judgements of the captions that every metric has scored."""

    def __init__(self, measured: Measured, statistic: str) -> None:
        self.statistic = statistic or measured.ratings.main
        common = on_common_rows(measured.scores)
        self.rows: dict[str, Judged] = {name: judged_rows(measured.ratings, each) for name, each in common.items()}
        first = next(iter(self.rows.values()))
        self.human, self.group = first.human, first.group

    def scale(self) -> dict[str, tuple[float, float]]:
        """The lowest score of each metric and how far the highest is from it."""
        return {name: (float(each.score.min()), float(np.ptp(each.score))) for name, each in self.rows.items()}

    def total(self, names: Sequence[str], scale: dict[str, tuple[float, float]]) -> Array:
        parts = []
        for name in names:
            low, spread = scale[name]
            parts.append((self.rows[name].score - low) / spread if spread > 0 else np.zeros(len(self.human)))
        return np.asarray(np.sum(parts, axis=0))


def best_combinations(
    ratings: Ratings,
    scores: ScoresByMetric,
    *,
    size: int = 3,
    statistic: str = "",
    chosen_on: Measured | None = None,
    weights: Draws | None = None,
    threads: int = 1,
) -> list[Combination]:
    """All sets of up to `size` metrics on the rows that all metrics have scored, the best first by the statistic of
    the benchmark or by another one.

    With `chosen_on` the order and the scales come from there, and the values are from here. With `weights` the best
    ones and the single metrics get an interval and Williams' test against the single metric that comes first.
    """
    here = _Judgements(Measured(ratings, scores), statistic)
    there = here if chosen_on is None else _Judgements(chosen_on, statistic)
    names = [name for name in here.rows if name in there.rows]
    scale = there.scale()
    found = []
    for several in _subsets(names, size):
        chosen = statistics_of(there.total(several, scale), there.human)[there.statistic]
        value = chosen if chosen_on is None else _value(here, several, scale)
        found.append(Combination(several, value, math.nan if chosen_on is None else chosen))
    found.sort(key=lambda each: _order(each, each.value if chosen_on is None else each.chosen))
    if weights is None:
        return found
    single = next(each.metrics for each in found if len(each.metrics) == 1)
    return [
        _detailed(each, here, scale, single, weights, threads) if number < _DETAILED or len(each.metrics) == 1 else each
        for number, each in enumerate(found)
    ]


def _order(each: Combination, value: float) -> tuple[bool, float, int, tuple[str, ...]]:
    """Metrics that give every caption the same score have no correlation; they come last."""
    return math.isnan(value), -value, len(each.metrics), each.metrics


def _subsets(names: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    size = min(size, len(names))
    if not names:
        raise CapevalError("there is no metric that has scored both benchmarks: none can be combined")
    if (count := sum(math.comb(len(names), k) for k in range(1, size + 1))) > _MOST:
        raise CapevalError(f"{count:,} combinations are too many: {_MOST:,} can be tried. Name fewer metrics or a size")
    for k in range(1, size + 1):
        yield from combinations(names, k)


def _value(here: _Judgements, names: Sequence[str], scale: dict[str, tuple[float, float]]) -> float:
    return statistics_of(here.total(names, scale), here.human)[here.statistic]


def _detailed(
    each: Combination,
    here: _Judgements,
    scale: dict[str, tuple[float, float]],
    single: tuple[str, ...],
    weights: Draws,
    threads: int,
) -> Combination:
    ours, theirs = here.total(each.metrics, scale), here.total(single, scale)
    drawn = bootstrapped(ours, here.human, here.group, weights, threads)[here.statistic]
    low, high = known_interval(drawn)
    p = math.nan
    if each.metrics != single:
        with np.errstate(invalid="ignore", divide="ignore"):  # a metric may give every caption the same score
            r = np.corrcoef([here.human, ours, theirs])
        p = float(williams(r[0, 1], r[0, 2], r[1, 2], len(here.human))[1])
    return replace(each, low=low, high=high, p_williams=p)
