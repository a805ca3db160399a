"""Which rows are written: those that pass a filter, and the best of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import UnknownName
from capeval.stream.filters import Lookup
from capeval.stream.forms.base import Rows
from capeval.stream.scorer import Scores
from capeval.types import Array

OWN = ("length", "characters")
"""What can be asked of every caption: its words, by white space, and its characters."""


def label_for(name: str, labels: Sequence[str]) -> str | None:
    """The score of that name; its parameters may be left out where only one has it."""
    if name in labels:
        return name
    found = [each for each in labels if each.partition("(")[0] == name]
    return found[0] if len(found) == 1 else None


def lookup_in(rows: Rows, header: Sequence[str], scores: Scores) -> Lookup:
    """The column of a name: a score, a column of the rows, or what can be asked of every caption."""

    def lookup(name: str) -> Any:
        if (label := label_for(name, list(scores.columns))) is not None:
            return scores.columns[label]
        if name in header:
            return rows.column(name)
        if name in OWN:
            found = [len(text.split() if name == "length" else text) for text in scores.block.captions]
            sizes = np.array(found, np.float64)
            sizes[list(scores.block.problems)] = np.nan
            return sizes
        raise UnknownName("name in the filter", name, [*scores.columns, *header, *OWN])

    return lookup


def threshold(parts: Iterable[Array], share: float) -> tuple[float, int]:
    """The lowest score that belongs to the best `share` of all, and how many scores there are; NaN is no score.

    It is exact and needs no more memory than one part at a time: the numbers are narrowed down by their leading bits,
    so the parts are gone through five times.
    """
    count = sum(int(np.count_nonzero(~np.isnan(each))) for each in parts)
    if not count:
        return np.inf, 0
    rank = max(1, min(count, int(np.ceil(share * count - 1e-9))))  # how many are kept, ties aside
    prefix = np.uint64(0)
    for shift in (48, 32, 16, 0):
        counts = np.zeros(1 << 16, np.int64)
        for each in parts:
            keys = _keys(each)
            if shift < 48:
                keys = keys[(keys >> np.uint64(shift + 16)) == (prefix >> np.uint64(shift + 16))]
            digits = ((keys >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64)
            counts += np.bincount(digits, minlength=1 << 16)
        from_above = np.cumsum(counts[::-1])
        digit = (1 << 16) - 1 - int(np.searchsorted(from_above, rank))
        rank -= int(counts[digit + 1 :].sum())
        prefix |= np.uint64(digit) << np.uint64(shift)
    return _value(prefix), count


_SIGN = np.uint64(1 << 63)


def _keys(values: Array) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of the values, without those that are NaN."""
    there = np.asarray(values[~np.isnan(values)], np.float64) + 0.0  # and -0.0 is 0.0
    bits = there.view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _value(key: np.uint64) -> float:
    bits = key & ~_SIGN if key & _SIGN else ~key
    return float(np.array([bits], np.uint64).view(np.float64)[0])
