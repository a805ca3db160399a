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
from capeval.types import Ints, Longs, Metric

Hashes = npt.NDArray[np.uint64]

_ROWS_AT_ONCE = 8_000_000
"""N-grams that are sorted together: some 400 MB."""


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
    """Adds up counts. Only so many wait to be added as can be sorted at once."""

    def __init__(self, n: int) -> None:
        self._waiting = [Counted([], np.empty((0, n), np.int32), np.empty(0, np.int64))]

    def add(self, part: Counted) -> None:
        self._waiting.append(part)
        if sum(len(each.counts) for each in self._waiting) > _ROWS_AT_ONCE:
            self._waiting = [_added(self._waiting)]

    def total(self) -> Counted:
        return _added(self._waiting)


def _added(parts: Sequence[Counted]) -> Counted:
    number: dict[str, int] = {}
    moved = []
    for part in parts:
        place = np.array([*(number.setdefault(word, len(number)) for word in part.vocabulary), -1], np.int32)
        moved.append(place[part.grams])  # padding, position -1, finds the extra one at the end
    grams = np.concatenate(moved)
    counts = np.concatenate([part.counts for part in parts])
    order, begins = _grouped(grams)
    return Counted(list(number), grams[order[begins]], np.add.reduceat(counts[order], begins) if len(order) else counts)


def _grouped(grams: Ints) -> tuple[Longs, Longs]:
    """An order in which equal n-grams stand together, and where each begins."""
    mixed = np.zeros(len(grams), np.uint64)
    for column in grams.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    if not _together(grams, mixed, order):  # two n-grams are mixed to one number, as one pair in 10^19 is
        order = np.lexsort(grams.T)
    ordered = grams[order]
    is_new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]) if len(grams) else np.zeros(0, bool)
    return order, np.flatnonzero(is_new)


def _together(grams: Ints, mixed: Hashes, order: Longs) -> bool:
    ordered, keys = grams[order], mixed[order]
    same = keys[1:] == keys[:-1]
    return bool((ordered[1:][same] == ordered[:-1][same]).all())


def taken_back(counted: Counted, again: Counted) -> Counted:
    """Without what was counted elsewhere too."""
    whole = _added([counted, again._replace(counts=-again.counts)])
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
