"""The n-grams of captions, in plain Python: what the C++ twin must compute."""

from __future__ import annotations

from array import array
from itertools import pairwise

import numpy as np

from capeval.engine.checks import (
    check_captions,
    check_grams,
    check_order,
    check_range,
    check_sets,
    check_threads,
)
from capeval.engine.rows import reference_sets
from capeval.types import Ints, Longs

PADDING = -1


def ngrams(tokens: Ints, offsets: Longs, n: int, threads: int) -> tuple[Ints, Ints, Longs, Ints]:
    """The distinct n-grams of every caption: `(ids, counts, gram_offsets, grams)`.

    Those of caption c and order k stand at `gram_offsets[c * n + k - 1]:gram_offsets[c * n + k]`, ids ascending.
    Ids are given in order of first occurrence: captions in order, then orders, then positions. Row g of `grams` holds
    the tokens of gram g, padded with -1.
    """
    check_threads(threads)
    check_order(n)
    check_captions(tokens, offsets)
    number: dict[tuple[int, ...], int] = {}
    ids, counts, bounds = array("i"), array("i"), array("q", [0])
    for first, last in pairwise(offsets.tolist()):
        caption = tuple(tokens[first:last].tolist())
        for k in range(1, n + 1):
            found: dict[int, int] = {}
            for start in range(len(caption) - k + 1):
                gram = number.setdefault(caption[start : start + k], len(number))
                found[gram] = found.get(gram, 0) + 1
            ordered = sorted(found)
            ids.extend(ordered)
            counts.extend([found[gram] for gram in ordered])
            bounds.append(len(ids))
    rows = array("i")
    for words in number:
        rows.extend(words + (PADDING,) * (n - len(words)))
    grams = np.array(rows, dtype=np.int32).reshape(len(number), n)
    return np.array(ids, dtype=np.int32), np.array(counts, dtype=np.int32), np.array(bounds, dtype=np.int64), grams


def document_frequency(
    ids: Ints, gram_offsets: Longs, n: int, group_offsets: Longs, group_captions: Ints, size: int, threads: int
) -> Ints:
    """In how many reference sets each of the `size` grams occurs, each set counted once."""
    check_threads(threads)
    captions = check_grams(ids, ids, gram_offsets, n)
    check_sets(group_offsets, group_captions, captions)
    if size < 0:
        raise ValueError("size must not be negative")
    check_range(ids, size, "ids must be below size")
    sets_with = np.zeros(size, dtype=np.int32)
    for references in reference_sets(group_offsets, group_captions):
        occurring = [ids[gram_offsets[c * n] : gram_offsets[(c + 1) * n]] for c in references]
        if occurring:
            sets_with[np.unique(np.concatenate(occurring))] += 1
    return sets_with
