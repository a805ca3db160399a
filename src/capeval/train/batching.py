"""How an epoch's rows become batches. Each row comes once, and the order is the random generator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from capeval.types import Floats, Longs

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


def near_groups(vectors: Floats, rows: Longs, size: int, random: np.random.Generator) -> list[Longs]:
    """Groups of exactly `size` rows whose vectors are near each other, found by random splits; some rows are left over.

    A part is split along the line through two of its rows, until it is a group. So the groups are others each time.
    """
    if len(rows) <= size:
        return [rows] if len(rows) == size else []
    one, other = random.choice(rows, 2, replace=False)
    order = np.argsort(vectors[rows] @ (vectors[one] - vectors[other]), kind="stable")
    cut = size * max(1, len(rows) // size // 2)
    parts = (rows[order[:cut]], rows[order[cut:]])
    return [group for part in parts for group in near_groups(vectors, part, size, random)]


def by_near_groups(
    vectors: Floats, groups: Iterable[Longs], near: int, size: int, random: np.random.Generator
) -> Iterator[Longs]:
    """Batches in random order, each of rows of one group, in which `near` rows at a time are near each other."""
    parts: list[Longs] = []
    for group in groups:
        found = near_groups(vectors, group, min(near, len(group)), random)
        order = random.permutation(len(found))
        parts += [np.concatenate([found[each] for each in part]) for part in parts_of(order, max(1, size // near))]
    for number in random.permutation(len(parts)):
        yield parts[number]
