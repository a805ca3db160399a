"""Captions of a corpus grounded in their pictures, some pictures at a time.

Captions with the same tokens are one here. A pair of picture and caption is grounded once, however many rows and sets
of references have it. Vectors of references are remembered, for who scores again with other candidates or references.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.corpus import Corpus
from capeval.errors import CheckpointError, Unavailable
from capeval.run import Run
from capeval.types import Array, Flags, Floats, Longs, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.scan import Scan

CHECKPOINT = "scan"
"""The network that comes with capeval."""
# Bounds of what is held at once. Numbers are those of word vectors, and of mapped regions if a picture has a hundred.
_NUMBERS = 1 << 24
_REGIONS = 100
_PAIRS = 1 << 16
_PICTURES_READ = 128
_ROWS = 1 << 12
_REMEMBERED = 1 << 23


class Grounded(NamedTuple):
    """Rows of a corpus with two vectors [n, regions] each: its caption's, and the mean of its references'."""

    rows: Longs
    candidate: Array
    reference: Array
    is_known: Flags
    """Whether the caption has a word that the model knows, and a reference has one."""


@dataclass(frozen=True)
class ByScan(Metric):
    """What the metrics share that ground captions with a SCAN, whose regions look at words.

    `checkpoint`: the folder of one of your own.
    """

    checkpoint: str = ""

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(filter(None, [self._checkpoint(run).encoder]))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def open(self, corpus: Corpus) -> Scan:
        """The network, if it can ground captions in the pictures of the corpus."""
        from capeval.runtime.scan import open_scan

        if corpus.dataset.features is None:
            raise Unavailable(f"{self.info.name} looks at pictures, and there are none", remedy="pictures")
        checkpoint = self._checkpoint(corpus.run)
        checkpoint.check_encoder(corpus.features(checkpoint.encoder).encoder)
        if checkpoint.config.get("direction") != "i2t":
            raise CheckpointError(
                f"{checkpoint.folder}: in this model words look at regions; {self.info.name} needs one in which "
                "regions look at words (direction i2t)"
            )
        return open_scan(self._source, corpus.run)

    @property
    def _source(self) -> str:
        return self.checkpoint or CHECKPOINT

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.scan import open_trained_scan

        return open_trained_scan(self._source, run)


def grounded(corpus: Corpus, scan: Scan, references: bool = True) -> Iterator[Grounded]:
    """All rows, in no particular order; without `references` of candidates alone."""
    work = _Work(corpus, scan, references)
    for start, stop in _blocks(work.pairs_of_image, max(1, _NUMBERS // (_REGIONS * scan.width)), _PAIRS):
        yield from work.grounded(start, stop)


class Memory:
    """Vectors by picture (its hash) and caption. It keeps as many numbers as it was made for; the oldest go first."""

    def __init__(self, numbers: int = _REMEMBERED) -> None:
        self._left = numbers
        self._vectors: OrderedDict[tuple[bytes, str], Floats] = OrderedDict()
        self._lock = Lock()

    def get(self, picture: bytes, caption: str) -> Floats | None:
        return self._vectors.get((picture, caption))

    def add(self, picture: bytes, caption: str, vector: Floats) -> None:
        with self._lock:
            if (picture, caption) in self._vectors:
                return
            self._vectors[picture, caption] = vector.copy()  # not a view that would keep a whole block alive
            self._left -= vector.size
            while self._left < 0:
                self._left += self._vectors.popitem(last=False)[1].size

    def __len__(self) -> int:
        return len(self._vectors)


@lru_cache(maxsize=4)
def memory(model: str) -> Memory:
    """What this process remembers of a model's vectors."""
    return Memory()


class _Work:
    """A corpus as numbers: rows and their contexts, a context being an image with a set of references."""

    def __init__(self, corpus: Corpus, scan: Scan, references: bool) -> None:
        self.corpus, self.scan = corpus, scan
        self.memory = memory(scan.checkpoint.digest)
        same = _same_words(corpus)
        self.is_known = _known(corpus, scan)
        self.image, self.candidate = corpus.image_number, same[corpus.rows.candidate]
        self.by_image = np.argsort(self.image, kind="stable")
        sets = len(corpus.dataset.reference_sets)
        contexts, self.context = np.unique(self.image.astype(np.int64) * sets + corpus.rows.group, return_inverse=True)
        self.context_image, group = contexts // sets, contexts % sets
        offsets = corpus.rows.group_offsets
        self.sizes = np.diff(offsets)[group] * references
        self.references = same[corpus.rows.group_captions[_ranges(offsets[group], self.sizes)]]
        self.reference_offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self.pairs_of_image = np.bincount(self.image) + np.bincount(self.context_image, self.sizes).astype(np.int64)

    def grounded(self, start: int, stop: int) -> Iterator[Grounded]:
        """The rows of `images[start:stop]`."""
        rows = self.by_image[slice(*np.searchsorted(self.image[self.by_image], [start, stop]))]
        first, last = np.searchsorted(self.context_image, [start, stop])
        bounds = self.reference_offsets[first : last + 1]
        captions = len(self.is_known)
        own = self.image[rows].astype(np.int64) * captions + self.candidate[rows]
        shared = np.repeat(self.context_image[first:last], self.sizes[first:last]) * captions
        shared += self.references[bounds[0] : bounds[-1]]
        pairs, place = np.unique(np.concatenate([own, shared]), return_inverse=True)
        candidate, reference = place[: len(rows)], place[len(rows) :]
        vectors = self._vectors(start, stop, pairs // captions, pairs % captions, np.unique(reference))
        is_known = self.is_known[pairs % captions]
        usable = [each[is_known[each]] for each in np.split(reference, bounds[1:-1] - bounds[0])]
        for begin in range(0, len(rows), _ROWS):
            some = slice(begin, begin + _ROWS)
            contexts = (self.context[rows[some]] - first).tolist()
            means = np.zeros((len(contexts), vectors.shape[1]))
            has_references = np.zeros(len(contexts), np.bool_)
            for row, (context, mine) in enumerate(zip(contexts, candidate[some].tolist())):
                used = _without(usable[context], mine)
                if len(used):
                    means[row] = vectors[used].astype(np.float64).sum(axis=0) / len(used)
                    has_references[row] = True
            ours = vectors[candidate[some]].astype(np.float64)
            yield Grounded(rows[some], ours, means, is_known[candidate[some]] & has_references)

    def _vectors(self, start: int, stop: int, image: Longs, caption: Longs, references: Longs) -> Floats:
        """The vector of each pair of an image and a caption; zeros for captions that are not known.

        `references` says which pairs are worth remembering.
        """
        known = np.flatnonzero(self.is_known[caption])
        references = np.intersect1d(references, known)
        mapped = self._mapped(start, stop)
        pictures = [sha256(each).digest() for each in mapped]
        keys = [
            (pictures[which], " ".join(text))
            for which, text in zip((image[references] - start).tolist(), self.corpus.texts(caption[references]))
        ]
        remembered = [self.memory.get(*key) for key in keys]
        is_new = np.array([vector is None for vector in remembered], np.bool_)
        new = np.setdiff1d(known, references[~is_new])
        found = self._ground(mapped, image - start, caption, new)
        for pair, key, vector in zip(references.tolist(), keys, remembered):
            if vector is None:
                self.memory.add(*key, found[pair])
            else:
                found[pair] = vector
        return found

    def _ground(self, mapped: Floats, image: Longs, caption: Longs, pairs: Longs) -> Floats:
        """The vectors of some pairs, at their places among all."""
        found = np.zeros((len(image), mapped.shape[1]), np.float32)
        captions = np.unique(caption[pairs])
        # By length, since captions of one length are read together.
        captions = captions[np.argsort(np.diff(self.corpus.pieces.offsets)[captions], kind="stable")]
        numbers = np.empty(len(self.is_known), np.int64)
        numbers[captions] = np.arange(len(captions))
        place = numbers[caption[pairs]]
        size = max(1, _NUMBERS // (self.scan.words * self.scan.width))
        for begin in range(0, len(captions), size):
            words = self.scan.read(self.corpus.texts(captions[begin : begin + size]), self.corpus.threads)
            here = np.flatnonzero((place >= begin) & (place < begin + size))
            found[pairs[here]] = self.scan.grounding(
                mapped, image[pairs[here]], words, place[here] - begin, self.corpus.threads
            )
        return found

    def _mapped(self, start: int, stop: int) -> Floats:
        checkpoint, blocks = self.scan.checkpoint, []
        for begin in range(start, stop, _PICTURES_READ):
            images = self.corpus.images[begin : min(begin + _PICTURES_READ, stop)]
            blocks.append(self.scan.look(self.corpus.features(checkpoint.encoder), images, self.corpus.threads))
        return np.concatenate(blocks)


def _without(references: Longs, candidate: int) -> Longs:
    """The references but those that are the candidate itself, unless there is no other."""
    others = references[references != candidate]
    return others if len(others) else references


def _same_words(corpus: Corpus) -> Longs:
    """For each caption the number of the first that has the same tokens."""
    tokens, offsets, _ = corpus.pieces
    first: dict[bytes, int] = {}
    bounds = pairwise(offsets.tolist())
    return np.array([first.setdefault(tokens[a:b].tobytes(), i) for i, (a, b) in enumerate(bounds)], np.int64)


def _known(corpus: Corpus, scan: Scan) -> Flags:
    """Whether the model knows a word of each caption, among those that it reads."""
    tokens, offsets, vocabulary = corpus.pieces
    knows = np.array([scan.knows(word) for word in vocabulary] or [False])
    lengths = np.minimum(np.diff(offsets), scan.words)
    caption = np.repeat(np.arange(len(lengths)), lengths)
    read = knows[tokens[_ranges(offsets[:-1], lengths)]]
    return np.bincount(caption, read, len(lengths)) > 0


def _ranges(starts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Longs:
    """`starts[i]` and the `counts[i] - 1` numbers after it, for each i."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(starts - before, counts), np.int64)


def _blocks(pairs: npt.NDArray[Any], most_images: int, most_pairs: int) -> Iterator[tuple[int, int]]:
    """Images in blocks of so many images and pairs at most; one with more pairs is a block of its own."""
    start = total = 0
    for image, count in enumerate(pairs.tolist()):
        if image > start and (image - start == most_images or total + count > most_pairs):
            yield start, image
            start, total = image, 0
        total += count
    if len(pairs):
        yield start, len(pairs)
