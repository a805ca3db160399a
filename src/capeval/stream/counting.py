"""Document frequencies of more captions than fit into memory: counted by shard, then added up.

An image counts once, in whatever shards its rows stand: what an earlier shard has counted is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.io.dftable import DfTable, table_from_counts
from capeval.metrics.cider import Cider, count_documents
from capeval.metrics.composite import Composite
from capeval.run import Run
from capeval.stream.folder import Folder
from capeval.types import Flags, Ints, Longs, Metric

Hashes = npt.NDArray[np.uint64]

_ROWS_AT_ONCE = 2_000_000
"""N-grams that wait to be added, and are sorted together: some 200 MB."""


class Counted(NamedTuple):
    """In how many reference sets each n-gram occurs."""

    vocabulary: list[str]
    grams: Ints
    """[G, n], positions in the vocabulary, padded with -1; each n-gram once."""
    counts: Longs


def orders_wanted(metrics: Iterable[Metric]) -> dict[bool, int]:
    """The highest order that the metrics, or their parts, weigh by all images together: for words and for stems."""
    found: dict[bool, int] = {}
    for metric in metrics:
        parts = [each.metric for each in metric.parts] if isinstance(metric, Composite) else []
        for stem, n in orders_wanted(parts).items():
            found[stem] = max(n, found.get(stem, 0))
        if isinstance(metric, Cider) and metric.df == "corpus":
            found[metric.stem] = max(metric.n, found.get(metric.stem, 0))
    return found


def count(sets: Sequence[tuple[str, ...]], n: int, stem: bool, run: Run) -> Counted:
    vocabulary, grams, counts = count_documents(sets, n=n, stem=stem, run=run)
    there = counts > 0
    return Counted(vocabulary, grams[there], counts[there].astype(np.int64))


class Tally:
    """Adds up counts: n-grams stand in the order of a number that is mixed of their words, so new ones are found, and
    put in, without sorting all again."""

    def __init__(self, n: int) -> None:
        self._number: dict[str, int] = {}
        self._seed = 1
        self._keys = np.empty(0, np.uint64)
        self._grams, self._counts = np.empty((0, n), np.int32), np.empty(0, np.int64)
        self._waiting: list[tuple[Ints, Longs]] = []

    def add(self, part: Counted) -> None:
        number = self._number
        place = np.array([*(number.setdefault(word, len(number)) for word in part.vocabulary), -1], np.int32)
        # Padding, position -1, finds the extra one at the end.
        self._waiting.append((place[part.grams], part.counts))
        if sum(len(counts) for _, counts in self._waiting) > max(_ROWS_AT_ONCE, len(self._counts) // 4):
            self._settle()

    def total(self) -> Counted:
        self._settle()
        return Counted(list(self._number), self._grams, self._counts)

    def _settle(self) -> None:
        if not self._waiting:
            return
        grams = np.concatenate([each for each, _ in self._waiting])
        counts = np.concatenate([each for _, each in self._waiting])
        self._waiting = []
        while not self._join(grams, counts):  # two n-grams are mixed to one number, as one pair in 10^19 is
            self._seed += 1
            self._keys = _mixed(self._grams, self._seed)
            order = np.argsort(self._keys)
            self._keys, self._grams, self._counts = self._keys[order], self._grams[order], self._counts[order]

    def _join(self, grams: Ints, counts: Longs) -> bool:
        """Adds the counts, unless different n-grams have one number."""
        keys = _mixed(grams, self._seed)
        order = np.argsort(keys)
        keys, grams = keys[order], grams[order]
        is_new = np.ones(len(keys), bool)
        is_new[1:] = keys[1:] != keys[:-1]
        if not _same(grams[1:], grams[:-1])[~is_new[1:]].all():
            return False
        begins = np.flatnonzero(is_new)
        keys, grams = keys[begins], grams[begins]
        counts = np.add.reduceat(counts[order], begins) if len(begins) else counts
        place = np.searchsorted(self._keys, keys)
        known = place < len(self._keys)
        known[known] = self._keys[place[known]] == keys[known]
        there, new = place[known], ~known
        if not _same(self._grams[there], grams[known]).all():
            return False
        self._counts[there] += counts[known]
        self._keys = np.insert(self._keys, place[new], keys[new])
        self._grams = np.insert(self._grams, place[new], grams[new], axis=0)
        self._counts = np.insert(self._counts, place[new], counts[new])
        return True


def _mixed(grams: Ints, seed: int) -> Hashes:
    mixed = np.full(len(grams), seed, np.uint64)
    for column in grams.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _same(a: Ints, b: Ints) -> Flags:
    same = np.ones(len(a), bool)
    for one, other in zip(a.T, b.T):
        same &= one == other
    return same


def taken_back(counted: Counted, again: Counted) -> Counted:
    """Without what was counted elsewhere too."""
    tally = Tally(counted.grams.shape[1])
    tally.add(counted)
    tally.add(again._replace(counts=-again.counts))
    whole = tally.total()
    there = whole.counts > 0
    return Counted(whole.vocabulary, whole.grams[there], whole.counts[there])


def table_of(counted: Counted, images: int, n: int, stem: bool, tokenizer: str) -> DfTable:
    try:
        frequent = np.minimum(counted.counts, np.iinfo(np.int32).max).astype(np.int32)
        return table_from_counts(images, n, tokenizer, stem, counted.vocabulary, counted.grams, frequent)
    except ValueError as problem:
        raise DataError(
            f"the document frequencies of all shards do not fit into a table: {problem}. Count them over some of the "
            "shards with `capeval df`, and score with that table: cider_d(df=FILE)"
        ) from problem


def save(folder: Folder, name: str, counted: Counted) -> None:
    words = np.frombuffer("\n".join(counted.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
    for kind, array in (("words", words), ("grams", counted.grams), ("counts", counted.counts)):
        folder.write_array(f"{name}.{kind}.npy", array)


def load(folder: Folder, name: str) -> Counted:
    words, grams, counts = (
        np.asarray(folder.read_array(f"{name}.{kind}.npy")) for kind in ("words", "grams", "counts")
    )
    text = words.tobytes().decode("utf-8", "surrogatepass")
    return Counted(text.split("\n") if text else [], grams, counts)


def delete(folder: Folder, name: str) -> None:
    for kind in ("words", "grams", "counts"):
        folder.delete(f"{name}.{kind}.npy")


# Hashes of all rows, of which no more than a part is in memory

_PART = 1 << 21


def merged(folder: Folder, names: Sequence[str]) -> Iterator[tuple[Hashes, list[Hashes]]]:
    """Sorted arrays in files, range by range: the distinct hashes of a range, ascending, and those of each array.

    A file is opened for each range anew: there may be more of them than a process may have open.
    """
    total = sum(len(folder.read_array(name)) for name in names)
    ranges = max(1, -(-total // _PART))
    bounds = np.array([part * 2**64 // ranges for part in range(1, ranges)], np.uint64)
    places = []
    for name in names:
        array = folder.read_array(name)
        places.append([0, *np.searchsorted(array, bounds).tolist(), len(array)])
    for part in range(ranges):
        pieces = [np.array(folder.read_array(name)[p[part] : p[part + 1]]) for name, p in zip(names, places)]
        yield np.unique(np.concatenate([*pieces, np.empty(0, np.uint64)])), pieces


def seen_before(folder: Folder, names: Sequence[str]) -> list[Hashes]:
    """For each sorted array the hashes that an earlier one has."""
    found: list[list[Hashes]] = [[] for _ in names]
    for _, pieces in merged(folder, names):
        known = np.empty(0, np.uint64)
        for again, piece in zip(found, pieces):
            place = np.minimum(np.searchsorted(known, piece), max(0, len(known) - 1))
            again.append(piece[known[place] == piece] if len(known) else known)
            known = np.union1d(known, piece)
    return [np.concatenate([*each, np.empty(0, np.uint64)]) for each in found]
