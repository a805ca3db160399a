"""Captions to tags, heads and labels by the network, and from there by the same rules as official parses."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from capeval import engine
from capeval.engine.graph_types import Basic, Graph, SceneTuple, Token
from capeval.run import Run
from capeval.scene.fast.weights import Weights, read_weights
from capeval.scene.fast.words import glove_vectors, spelling_features
from capeval.scene.graph import enhanced_graph
from capeval.scene.lemma import token
from capeval.scene.words import LISTS
from capeval.types import Array, Floats, Ints, Longs

MAX_TOKENS = 120
"""A longer caption is parsed in pieces, as the official parser does; the later ones hang under the first."""
BATCH_TOKENS = 8192
"""Parsed together; as many words are remembered, so that memory stays the same however many captions there are."""
REMEMBERED = 1 << 16
# Words and columns of a product. So few that NumPy wakes no other threads for it, which takes longer than the work.
_TOGETHER, _COLUMNS = 8, 256


class Parse(NamedTuple):
    """A caption's words with their tags and lemmas, and its tree: (head, dependent, relation) from 1, root 0."""

    tokens: tuple[Token, ...]
    basic: tuple[Basic, ...]

    def graph(self) -> Graph:
        return enhanced_graph(self.tokens, self.basic)


class FastParser:
    """Parses captions that are tokenised already: words with single spaces between them."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._words = _WordTable(weights)
        # Only the word under the root has the relation root.
        self._names = [*weights.labels, "root", "dep"]
        self._relations = np.arange(len(weights.labels))
        self._relations[[label == "root" for label in weights.labels]] = len(self._names) - 1
        self._lock = threading.Lock()
        self.remembered: dict[str, list[SceneTuple]] = {}
        """Tuples of captions that were parsed lately. A benchmark that draws its references several times asks for most
        of them again."""

    @property
    def digest(self) -> str:
        """Identifies the weights."""
        return self.weights.digest

    def parses(self, captions: Iterable[str], run: Run | None = None) -> Iterator[Parse]:
        """One parse for each caption, in order; without words an empty one. They come batch by batch.

        With more than one thread the network reads the next batch while this one is turned into parses.
        """
        for batch, rows in self._found(captions, run or Run()):
            yield from self._parses(batch, rows)

    def graphs(self, captions: Iterable[str], run: Run | None = None) -> Iterator[Graph]:
        return (parse.graph() for parse in self.parses(captions, run))

    def tuples(self, captions: Iterable[str], run: Run | None = None) -> Iterator[list[SceneTuple]]:
        """Those of `parse.graph()`, several times faster."""
        run = run or Run()
        for batch, rows in self._found(captions, run):
            yield from self._tuples(batch, rows, run)

    def remember(self, tuples: Mapping[str, list[SceneTuple]]) -> None:
        """Keeps the tuples of some captions in place of older ones, never those of more than `REMEMBERED`."""
        if len(self.remembered) + len(tuples) > REMEMBERED:
            self.remembered = {}
        self.remembered |= dict(islice(tuples.items(), REMEMBERED))

    def _found(self, captions: Iterable[str], run: Run) -> Iterator[tuple[_Batch, Ints]]:
        batches = _batches(captions)
        if run.threads == 1:
            for batch in batches:
                yield batch, self._read(batch, run)
            return
        with ThreadPoolExecutor(1) as ahead:
            waiting = None
            for batch in batches:
                coming = ahead.submit(self._read, batch, run)
                if waiting is not None:
                    yield waiting[0], waiting[1].result()
                waiting = batch, coming
            if waiting is not None:
                yield waiting[0], waiting[1].result()

    def _read(self, batch: _Batch, run: Run) -> Ints:
        compute, network, found = engine.load(run.engine), self.weights.network, []
        for first, last in _runs(batch.offsets.tolist()):
            begin, end = batch.offsets[first], batch.offsets[last]
            with self._lock:
                tokens, inputs = self._words.rows(batch.tokens[begin:end])
                offsets = batch.offsets[first : last + 1] - begin
                found.append(compute.parse_network(tokens, offsets, inputs, **network, threads=run.threads))
        return np.concatenate([np.zeros((0, 3), np.int32), *found])

    def _parses(self, batch: _Batch, rows: Ints) -> Iterator[Parse]:
        tags, names = self.weights.tags, self._names
        heads, relations = (each.tolist() for each in self._trees(batch, rows))
        tokens = [token(word, tags[tag]) for word, tag in zip(batch.tokens, rows[:, 0].tolist(), strict=True)]
        for begin, end in pairwise(batch.bounds().tolist()):
            labels = [names[relation] for relation in relations[begin:end]]
            basic = zip(heads[begin:end], range(1, end - begin + 1), labels, strict=True)
            yield Parse(tuple(tokens[begin:end]), tuple(basic))

    def _tuples(self, batch: _Batch, rows: Ints, run: Run) -> list[list[SceneTuple]]:
        number: dict[Token, int] = {}
        tags = self.weights.tags
        tokens = [
            number.setdefault(token(word, tags[tag]), len(number))
            for word, tag in zip(batch.tokens, rows[:, 0].tolist(), strict=True)
        ]
        words, tagged, stems = map(list, zip(*number, strict=True)) if number else ([], [], [])
        heads, relations = self._trees(batch, rows)
        compute = engine.load(run.engine if all(map(_is_plain, words)) else "python")
        return compute.dependency_tuples(
            [word.lower() for word in words],
            tagged,
            [stem.lower() for stem in stems],
            stems,
            np.array(tokens, np.int32),
            batch.bounds(),
            heads,
            relations,
            self._names,
            LISTS,
        )

    def _trees(self, batch: _Batch, rows: Ints) -> tuple[Ints, Ints]:
        """The head of each token in its caption, and the number of the relation's name: pieces joined into one tree."""
        heads, bounds = rows[:, 1], batch.bounds()
        starts = np.repeat(batch.offsets[:-1], np.diff(batch.offsets))
        begins = np.repeat(bounds[:-1], np.diff(bounds))
        joined = np.where(heads > 0, heads + (starts - begins), 0).astype(np.int32)
        root, other = len(self._names) - 2, len(self._names) - 1
        relations = np.where(heads > 0, self._relations[rows[:, 2]], root).astype(np.int32)
        for (first, last), begin, end in zip(batch.captions, bounds[:-1], bounds[1:], strict=True):
            if last - first > 1:
                tops = begin + np.flatnonzero(joined[begin:end] == 0)
                joined[tops[1:]] = tops[0] - begin + 1
                relations[tops[1:]] = other
        return joined, relations


def _is_plain(word: str) -> bool:
    """Whether the compiled rules can take it: no white space of any kind, and no half of a surrogate pair."""
    if word.isascii():
        return word.isprintable()
    return word.split() == [word] and not any("\ud800" <= letter <= "\udfff" for letter in word)


@lru_cache(maxsize=1)
def fast_parser() -> FastParser:
    """The parser with the weights that come with capeval."""
    return FastParser(read_weights())


@dataclass
class _Batch:
    """Captions in pieces: caption c has the pieces `captions[c]`, piece p the tokens from `offsets[p]`."""

    tokens: list[str]
    offsets: Longs
    captions: list[tuple[int, int]]

    def bounds(self) -> Longs:
        """Where the tokens of each caption begin, and the last ones end."""
        return self.offsets[[0, *(last for _, last in self.captions)]]


def _batches(captions: Iterable[str]) -> Iterator[_Batch]:
    tokens: list[str] = []
    bounds = [0]
    ranges: list[tuple[int, int]] = []
    for caption in captions:
        words = [word for word in caption.split(" ") if word]
        if ranges and len(tokens) + len(words) > BATCH_TOKENS:
            yield _Batch(tokens, np.array(bounds, np.int64), ranges)
            tokens, bounds, ranges = [], [0], []
        count = -(-len(words) // MAX_TOKENS)
        ranges.append((len(bounds) - 1, len(bounds) - 1 + count))
        bounds += [len(tokens) + len(words) * k // count for k in range(1, count + 1)]
        tokens += words
    if ranges:
        yield _Batch(tokens, np.array(bounds, np.int64), ranges)


def _runs(bounds: list[int]) -> Iterator[tuple[int, int]]:
    """Pieces to be parsed together: all of a batch, unless one caption alone is too long for it."""
    first = 0
    for piece in range(1, len(bounds) - 1):
        if bounds[piece + 1] - bounds[first] > BATCH_TOKENS:
            yield first, piece
            first = piece
    yield first, len(bounds) - 1


class _WordTable:
    """What words add to the gates of the first layer, kept for the words met last."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._number: dict[str, int] = {}
        # Memory that is not touched yet costs nothing.
        self._inputs = np.zeros((BATCH_TOKENS, len(weights.words["bias1"])), np.float32)

    def rows(self, words: Sequence[str]) -> tuple[Ints, Floats]:
        """The row of each word, and the table."""
        new = [word for word in dict.fromkeys(words) if word not in self._number]
        if len(self._number) + len(new) > BATCH_TOKENS:
            self._number.clear()
            new = list(dict.fromkeys(words))
        if new:
            size = len(self._number)
            self._inputs[size : size + len(new)] = self._made(new)
            self._number.update(zip(new, range(size, size + len(new)), strict=True))
        return np.array([self._number[word] for word in words], np.int32), self._inputs

    def _made(self, words: list[str]) -> Floats:
        """In double precision, then rounded: words must not depend on those they are looked up with."""
        table, known = self._weights.words, self._weights.vocabulary
        vectors = table["word"][[known.get(word, 0) for word in words]]
        vectors = vectors + table["spelling"][[spelling_features(word) for word in words]].sum(axis=1)
        vectors = vectors + _product(glove_vectors(words).astype(np.float64), table["glove"].T)
        return np.asarray(_product(vectors, table["input1"].T) + table["bias1"], np.float32)


def _product(rows: Array, matrix: Array) -> Array:
    found = np.empty((len(rows), matrix.shape[1]))
    for row in range(0, len(rows), _TOGETHER):
        for column in range(0, matrix.shape[1], _COLUMNS):
            place = slice(row, row + _TOGETHER), slice(column, column + _COLUMNS)
            found[place] = rows[place[0]] @ matrix[:, place[1]]
    return found
