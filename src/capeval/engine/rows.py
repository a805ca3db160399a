"""Rows and their reference sets, as loops of the Python engine want them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from capeval.types import Ints, Longs, Rows


def reference_sets(group_offsets: Longs, group_captions: Ints) -> Iterator[list[int]]:
    """The captions of each set, in order."""
    for first, last in pairwise(group_offsets.tolist()):
        yield group_captions[first:last].tolist()


def rows_by_set(rows: Rows) -> Iterator[tuple[list[int], list[int]]]:
    """Each reference set in use with the numbers of the rows judged by it, so that work on the set is done once."""
    by_set = np.argsort(rows.group, kind="stable")
    bounds = np.searchsorted(rows.group[by_set], np.arange(len(rows.group_offsets)))
    for g, references in enumerate(reference_sets(rows.group_offsets, rows.group_captions)):
        if bounds[g] < bounds[g + 1]:
            yield references, by_set[bounds[g] : bounds[g + 1]].tolist()


def references_of(rows: Rows, row: int) -> list[int]:
    """The captions that one row is judged by."""
    first, last = rows.group_offsets[rows.group[row] : rows.group[row] + 2].tolist()
    captions: list[int] = rows.group_captions[first:last].tolist()
    return captions
