"""Pearson's, Spearman's and Kendall's correlation with p-values, and under the bootstrap.

The p-values are the textbook ones, for independent rows. Captions of one image are not independent: for those, trust
the bootstrap over images.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np

from capeval import engine
from capeval.bench.draws import Draws
from capeval.bench.probability import kendall_p, normal_p, student_p
from capeval.io.kept import kept_array
from capeval.types import Array, Ints

STATISTICS = ("kendall_c", "kendall_b", "spearman", "pearson")

_EXACT_UP_TO = 33  # beyond, Kendall's distribution is normal for all purposes


class Correlation(NamedTuple):
    value: float
    p: float


def pearson(x: Array, y: Array) -> Correlation:
    r = float(bootstrapped(x, y, *_all_once(len(x)))["pearson"][0])
    return Correlation(r, _p_of_r(r, len(x)))


def spearman(x: Array, y: Array) -> Correlation:
    rho = float(bootstrapped(x, y, *_all_once(len(x)))["spearman"][0])
    return Correlation(rho, _p_of_r(rho, len(x)))


def kendall_b(x: Array, y: Array) -> Correlation:
    return Correlation(float(bootstrapped(x, y, *_all_once(len(x)))["kendall_b"][0]), _kendall_p(x, y))


def kendall_c(x: Array, y: Array) -> Correlation:
    return Correlation(float(bootstrapped(x, y, *_all_once(len(x)))["kendall_c"][0]), _kendall_p(x, y))


def centred_ranks(values: Array) -> Array:
    """Twice the mid-rank of each number, less twice the mean rank: whole numbers, whose sums of products are exact."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    up_to = np.cumsum(counts)
    ranks = 2 * up_to - counts - len(values)
    return np.asarray(ranks, np.float64)[place]


def correlation_of_ranks(x: Array, y: Array) -> float:
    """Spearman's correlation from `centred_ranks`; NaN where either does not vary."""
    square_x, square_y = float(x @ x), float(y @ y)
    if not square_x or not square_y:
        return math.nan
    return float(np.clip(float(x @ y) / math.sqrt(square_x) / math.sqrt(square_y), -1, 1))


def correlations(x: Array, y: Array) -> dict[str, Correlation]:
    """All of `STATISTICS`."""
    values = bootstrapped(x, y, *_all_once(len(x)))
    kendall = _kendall_p(x, y)
    n = len(x)
    p = {"kendall_c": kendall, "kendall_b": kendall}
    return {
        name: Correlation(float(values[name][0]), p[name] if name in p else _p_of_r(float(values[name][0]), n))
        for name in STATISTICS
    }


def statistics_of(x: Array, y: Array) -> dict[str, float]:
    """All of `STATISTICS`, without p-values."""
    return {name: float(values[0]) for name, values in bootstrapped(x, y, *_all_once(len(x))).items()}


def bootstrapped(x: Array, y: Array, group: Ints, weights: Ints | Draws, threads: int = 1) -> dict[str, Array]:
    """Each statistic for each resample; `weights[r, g]` says how often the rows of group g are in resample r.

    NaN where a variable does not vary.
    """
    if len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a correlation needs two rows or more, and finite numbers")

    def compute() -> Array:
        found = _bootstrapped(x, y, group, weights, threads)
        return np.stack([found[name] for name in STATISTICS])

    if isinstance(weights, np.ndarray) or weights.kept is None:
        return dict(zip(STATISTICS, compute(), strict=True))
    digest = hashlib.sha256(x.tobytes() + y.tobytes() + group.tobytes()).hexdigest()
    decides = ("bootstrap", 1, digest, weights.shape, weights.seed)
    return dict(zip(STATISTICS, kept_array(weights.kept, "resamples", decides, compute), strict=True))


def _bootstrapped(x: Array, y: Array, group: Ints, weights: Ints | Draws, threads: int) -> dict[str, Array]:
    blocks = [weights] if isinstance(weights, np.ndarray) else weights.blocks()
    places = _places(x), _places(y)
    stats = np.concatenate([engine.load().rank_stats(*places, group, block, threads) for block in blocks])
    n, balance, ties_x, ties_y, values_x, values_y, product, square_x, square_y = stats.T
    pairs = n * (n - 1) / 2
    fewest = np.minimum(values_x, values_y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "kendall_c": np.where(fewest > 1, 2 * balance * fewest / (n * n * (fewest - 1)), np.nan),
            # One root each: their product under one root could overflow the integers a double can hold.
            "kendall_b": np.clip(balance / np.sqrt(pairs - ties_x) / np.sqrt(pairs - ties_y), -1, 1),
            "spearman": np.clip(product / np.sqrt(square_x) / np.sqrt(square_y), -1, 1),
            "pearson": _pearson(x, y, group, weights),
        }


def _pearson(x: Array, y: Array, group: Ints, weights: Ints | Draws) -> Array:
    # Centred first: the sums of squares then lose no digits.
    x, y = x - x.mean(), y - y.mean()
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    per_group = np.stack([np.bincount(group, c, minlength=weights.shape[1]) for c in columns], axis=1)
    n, sum_x, sum_y, xx, yy, xy = (weights @ per_group).T
    spread_x, spread_y = xx - sum_x**2 / n, yy - sum_y**2 / n
    # What is left of a variable that does not vary is rounding.
    varies = (spread_x > 1e-12 * xx) & (spread_y > 1e-12 * yy)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (xy - sum_x * sum_y / n) / np.sqrt(spread_x) / np.sqrt(spread_y)
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def _places(values: Array) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def _all_once(n: int) -> tuple[Ints, Ints]:
    return np.arange(n, dtype=np.int32), np.ones((1, n), np.int32)


def _p_of_r(r: float, n: int) -> float:
    """Of Pearson's and Spearman's correlation, by Student's distribution."""
    if n < 3 or math.isnan(r):
        return math.nan
    return 0.0 if abs(r) >= 1 else student_p(r * math.sqrt((n - 2) / (1 - r * r)), n - 2)


def _kendall_p(x: Array, y: Array) -> float:
    """Exact for few rows without ties, else by the normal distribution with the variance that ties leave."""
    n = len(x)
    stats = engine.load().rank_stats(_places(x), _places(y), *_all_once(n), 1)[0]
    balance, ties_x, ties_y = stats[1:4]
    if not ties_x and not ties_y and n <= _EXACT_UP_TO:
        return kendall_p(round((n * (n - 1) / 2 - balance) / 2), n)
    pairs = n * (n - 1.0)
    tied = [np.unique(values, return_counts=True)[1].astype(np.float64) for values in (x, y)]
    triples_x, triples_y = ((t * (t - 1) * (t - 2)).sum() for t in tied)
    spread_x, spread_y = ((t * (t - 1) * (2 * t + 5)).sum() for t in tied)
    variance = (pairs * (2 * n + 5) - spread_x - spread_y) / 18 + 2 * ties_x * ties_y / pairs
    if n > 2:
        variance += triples_x * triples_y / (9 * pairs * (n - 2))
    return normal_p(balance / math.sqrt(variance)) if variance > 0 else math.nan
