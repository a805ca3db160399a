"""Intervals and p-values from statistics alone: no caption is scored a second time.

What is drawn is images, not rows: captions of one image are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.types import Array, Metric

# Resamples worked on together: enough for fast matrix products, few enough for little memory.
_BATCH = 32


class Comparison(NamedTuple):
    """Two systems' scores of one kind."""

    a: float
    b: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_permutation: float


def bootstrap_scores(
    metric: Metric, stats: Sequence[Array], images: Sequence[npt.NDArray[np.intp]], resamples: int, seed: int
) -> list[Array]:
    """Corpus scores [resamples, names] of each system, on the same draws of images for all.

    `images[s]` numbers the image of each row of system s.
    """
    summands = [metric.summands(each) for each in stats]
    total = 1 + max(int(each.max()) for each in images)
    drawn: list[list[Array]] = [[] for _ in stats]
    for weights in draws(total, resamples, seed):
        for scores, values, image in zip(drawn, summands, images, strict=True):
            row_weights = weights[:, image]
            scores.append(metric.from_totals(row_weights @ values, row_weights.sum(axis=1, keepdims=True)))
    return [np.concatenate(scores) for scores in drawn]


def interval(scores: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Percentile interval of each column, of the draws that have a number; NaN where none has."""
    unknown = np.isnan(scores).all(axis=0)
    low, high = np.nanquantile(np.where(unknown, 0.0, scores), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def compare(
    metric: Metric, a: Array, b: Array, images: npt.NDArray[np.intp], *, resamples: int = 1000, seed: int = 0
) -> list[Comparison]:
    """Two systems on the same rows: one comparison for each score of the metric.

    The bootstrap p-value is twice the smaller share of resamples on either side of no difference. The permutation
    p-value swaps the systems image by image. Both count the observed case, so neither is ever 0. A score that is not
    defined, such as SPICE's for colors where no reference has any, gives NaN.
    """
    score_a, score_b = metric.corpus_score(a), metric.corpus_score(b)
    drawn_a, drawn_b = bootstrap_scores(metric, [a, b], [images, images], resamples, seed)
    gaps = drawn_a - drawn_b
    low, high = interval(gaps)
    below, above = (gaps <= 0).sum(axis=0), (gaps >= 0).sum(axis=0)
    defined = np.isfinite(gaps).sum(axis=0)
    p_bootstrap = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (defined + 1))
    p_permutation = _permutation(metric, a, b, images, resamples, seed)
    for p_values in (p_bootstrap, p_permutation):
        p_values[np.isnan(score_a - score_b)] = np.nan
    columns = (score_a, score_b, score_a - score_b, low, high, p_bootstrap, p_permutation)
    return [Comparison(*map(float, row)) for row in zip(*columns, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the smallest of m times m, the next times m - 1, and never below one before it."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for done, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[place]))
        corrected[place] = largest
    return corrected


def _permutation(
    metric: Metric, a: Array, b: Array, images: npt.NDArray[np.intp], permutations: int, seed: int
) -> Array:
    values_a, values_b = metric.summands(a), metric.summands(b)
    total_a, total_b, rows = values_a.sum(axis=0), values_b.sum(axis=0), len(a)
    observed = np.abs(metric.from_totals(total_a, rows) - metric.from_totals(total_b, rows))
    # Rounding must not make a permutation that changes nothing look smaller than the observed difference.
    observed = observed - 1e-12
    count = np.ones_like(observed)
    generator = np.random.default_rng([seed, 1])
    for size in _batches(permutations):
        swapped = generator.integers(0, 2, (size, int(images.max()) + 1)).astype(np.float64)[:, images]
        moved = swapped @ (values_b - values_a)
        gaps = metric.from_totals(total_a + moved, rows) - metric.from_totals(total_b - moved, rows)
        count += (np.abs(gaps) >= observed).sum(axis=0)
    return np.asarray(count / (permutations + 1))


def draws(total: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each of `total` images is drawn, in batches of resamples."""
    generator = np.random.default_rng([seed, 0])
    for size in _batches(resamples):
        yield np.stack([np.bincount(generator.integers(0, total, total), minlength=total) for _ in range(size)]).astype(
            np.float64
        )


def _batches(count: int) -> Iterator[int]:
    for begin in range(0, count, _BATCH):
        yield min(_BATCH, count - begin)
