"""Work for networks in blocks that do not decide numbers: of one size each, in any order, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.intp]
T = TypeVar("T")


def filled(rows: Rows, size: int) -> Rows:
    """The rows, and the first one again until there are `size`."""
    return np.concatenate([rows, np.full(size - len(rows), rows[0])])


def few(rows: Rows, most: int) -> Rows:
    """The rows, and the first one again until there are two, four, eight and so on up to `most`.

    For networks whose products do not depend on how many rows there are, so that a caption alone costs little. One row
    would be too few: a vector times a matrix is summed in another order than the rows of two matrices.
    """
    return filled(rows, min(most, max(2, 1 << (len(rows) - 1).bit_length())))


def of_one_length(lengths: npt.NDArray[Any], most: Callable[[int], int]) -> list[Rows]:
    """The rows in blocks of which each has one length; `most` says how many rows of a length a block may have."""
    order = np.argsort(lengths, kind="stable")
    values, begins = np.unique(lengths[order], return_index=True)
    blocks = []
    for length, rows in zip(values.tolist(), np.split(order, begins[1:])):
        size = most(length)
        blocks += [rows[start : start + size] for start in range(0, len(rows), size)]
    return blocks


def for_each(work: Callable[[T], None], blocks: Iterable[T], threads: int) -> None:
    """Does the work for each block; blocks must not write to the same places."""
    waiting = list(blocks)
    if threads == 1 or len(waiting) < 2:
        for each in waiting:
            work(each)
        return
    with ThreadPoolExecutor(min(threads, len(waiting))) as pool:
        list(pool.map(work, waiting))
