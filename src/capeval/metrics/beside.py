"""Each candidate beside each of its references, where the same two captions are compared once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capeval.corpus import Corpus
from capeval.types import Array, Longs


class Beside(NamedTuple):
    """Pairs of captions, and whose they are."""

    one: Longs
    """The candidates' captions of the distinct pairs, by number in the corpus."""
    other: Longs
    """The references' captions."""
    pair: Longs
    """For each candidate and reference, row by row: which of the pairs it is."""
    begins: Longs
    """Where in `pair` each row begins."""
    counts: Longs
    """How many references each row has."""

    @classmethod
    def of(cls, corpus: Corpus) -> Beside:
        rows = corpus.rows
        counts = np.diff(rows.group_offsets)[rows.group]
        ends = np.cumsum(counts)
        row = np.repeat(np.arange(len(corpus)), counts)
        place = rows.group_offsets[rows.group][row] + np.arange(len(row)) - np.repeat(ends - counts, counts)
        pairs = np.column_stack([rows.candidate[row], rows.group_captions[place]]).astype(np.int64)
        distinct, pair = np.unique(pairs, axis=0, return_inverse=True)
        return cls(distinct[:, 0], distinct[:, 1], pair.ravel(), ends - counts, counts)

    def means(self, values: Array) -> Array:
        """Of each row, given a value of each pair."""
        return np.asarray(np.add.reduceat(values[self.pair], self.begins) / self.counts)

    def best(self, values: Array) -> Array:
        return np.asarray(np.maximum.reduceat(values[self.pair], self.begins))
