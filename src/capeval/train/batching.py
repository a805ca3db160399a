"""How an epoch's rows become batches. Each row comes once, and the order is the random generator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from capeval.types import Longs

_POOL = 50  # batches that are sorted by length together


def parts_of(rows: Longs, size: int) -> list[Longs]:
    """Parts of `size` rows; the last one may be smaller."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def count_of(rows: int, size: int) -> int:
    """How many parts these are."""
    return -(-rows // size)


def by_group(groups: Iterable[Longs], size: int, random: np.random.Generator) -> Iterator[Longs]:
    """Batches in random order, each of rows of one group."""
    parts = [part for group in groups for part in parts_of(random.permutation(group), size)]
    for number in random.permutation(len(parts)):
        yield parts[number]


def by_length(lengths: Longs, size: int, random: np.random.Generator) -> Iterator[Longs]:
    """Batches of rows of like lengths, so that little is padded."""
    for pool in parts_of(random.permutation(len(lengths)), _POOL * size):
        parts = parts_of(pool[np.argsort(lengths[pool], kind="stable")], size)
        for number in random.permutation(len(parts)):
            yield parts[number]
