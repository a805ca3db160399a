"""What both engines demand of the arrays they are given; the C++ twin has the same checks and messages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capeval.types import Ints, Longs, Rows

MAX_ORDER = 9


def check_array(values: npt.NDArray[np.generic], dtype: type[np.generic], dimensions: int, name: str) -> None:
    if values.dtype != dtype or values.ndim != dimensions or not values.flags.c_contiguous:
        raise ValueError(f"{name} must be a {dimensions}-dimensional contiguous array of {np.dtype(dtype).name}")


def check_range(values: Ints, size: int, message: str) -> None:
    if len(values) and (values.min() < 0 or values.max() >= size):
        raise ValueError(message)


def check_offsets(offsets: Longs, total: int, name: str, what: str) -> None:
    check_array(offsets, np.int64, 1, name)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} must rise from 0 to the number of {what}")


def check_threads(threads: int) -> None:
    if threads < 1:
        raise ValueError("threads must be at least 1")


def check_order(n: int) -> None:
    if not 1 <= n <= MAX_ORDER:
        raise ValueError(f"n must be from 1 to {MAX_ORDER}")


def check_captions(tokens: Ints, offsets: Longs) -> None:
    check_array(tokens, np.int32, 1, "tokens")
    check_offsets(offsets, len(tokens), "offsets", "tokens")
    check_range(tokens, 2**31, "tokens must not be negative")


def check_grams(ids: Ints, counts: Ints, gram_offsets: Longs, n: int) -> int:
    """How many captions the n-grams are of."""
    check_order(n)
    check_array(ids, np.int32, 1, "ids")
    check_array(counts, np.int32, 1, "counts")
    if len(ids) != len(counts):
        raise ValueError("ids and counts differ in length")
    check_offsets(gram_offsets, len(ids), "gram_offsets", "ids")
    if (len(gram_offsets) - 1) % n:
        raise ValueError("gram_offsets must have n entries per caption, and one more")
    return (len(gram_offsets) - 1) // n


def check_sets(group_offsets: Longs, group_captions: Ints, captions: int) -> None:
    check_array(group_captions, np.int32, 1, "group_captions")
    check_offsets(group_offsets, len(group_captions), "group_offsets", "group_captions")
    check_range(group_captions, captions, "group_captions must be indices of captions")


def check_rows(rows: Rows, captions: int) -> None:
    check_array(rows.candidate, np.int32, 1, "candidate")
    check_array(rows.group, np.int32, 1, "group")
    if len(rows.candidate) != len(rows.group):
        raise ValueError("candidate and group differ in length")
    check_sets(rows.group_offsets, rows.group_captions, captions)
    check_range(rows.candidate, captions, "candidate must hold indices of captions")
    check_range(rows.group, len(rows.group_offsets) - 1, "group must hold indices of reference sets")
