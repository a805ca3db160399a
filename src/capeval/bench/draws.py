"""Resamples of images: how often each is drawn, for many draws, in little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.types import Array, Bytes, Ints, Longs

# Draws worked on together: enough for fast matrix products, few enough for little memory.
_BLOCK = 500
_MOST = 0.025
"""The smallest p-value that the usual number of resamples can give is at most this, after Holm's correction."""
_FEWEST = 1000


@dataclass(frozen=True)
class Draws:
    """Works as a matrix [resamples, groups] where it is multiplied with one number, or several, a group."""

    counts: Bytes
    """[groups, resamples]: few groups count where categories are looked at one by one, and they are rows here."""
    seed: int = 0
    kept: Path | None = None
    """Folder of what earlier runs computed with the same draws."""

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.counts.shape[1]), int(self.counts.shape[0])

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[Ints]:
        """The matrix, some rows at a time."""
        for begin in range(0, len(self), _BLOCK):
            yield np.ascontiguousarray(self.counts[:, begin : begin + _BLOCK].T, np.int32)

    def __matmul__(self, columns: npt.NDArray[Any]) -> Array:
        used = np.flatnonzero(columns.any(axis=tuple(range(1, columns.ndim))))
        counts, factors = self.counts[used], columns[used]
        found = np.zeros((len(self), *columns.shape[1:]))
        for begin in range(0, len(self), _BLOCK):
            found[begin : begin + _BLOCK] = counts[:, begin : begin + _BLOCK].T.astype(np.float64) @ factors
        return found


def image_draws(images: Sequence[str], resamples: int, seed: int, kept: Path | None = None) -> Draws:
    """How often each image is drawn in each resample; images are given for each row."""
    groups = int(numbered(images).max()) + 1
    counts = np.empty((resamples, groups), np.uint8)  # an image is drawn once on the average, and never 256 times
    for row, drawn in zip(counts, _each_draw(groups, resamples, seed)):
        row[:] = drawn
    return Draws(np.ascontiguousarray(counts.T), seed, kept)


def bootstrap_draws(groups: int, resamples: int, seed: int) -> Ints:
    """How often each group is drawn in each resample, [resamples, groups]."""
    return np.array(list(_each_draw(groups, resamples, seed)), np.int32).reshape(resamples, groups)


def _each_draw(groups: int, resamples: int, seed: int) -> Iterator[Longs]:
    generator = np.random.default_rng([seed, 0])
    for _ in range(resamples):
        yield np.bincount(generator.integers(0, groups, groups), minlength=groups)


def numbered(names: Sequence[str]) -> Ints:
    """The group of each row, from the name of its image."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)


def smallest_p(metrics: int, resamples: int) -> float:
    """Each p-value is at least 2 / (resamples + 1), and Holm multiplies it by the number of comparisons."""
    return min(1.0, metrics * (metrics - 1) / (resamples + 1))


def usual_resamples(metrics: int) -> int:
    """As many as can tell metrics apart: a round number (1, 2 or 5 thousand, and so on), so that one metric more
    seldom needs other draws."""
    step, factors = _FEWEST, cycle((2.0, 2.5, 2.0))
    while smallest_p(metrics, step) > _MOST:
        step = int(step * next(factors))
    return step
