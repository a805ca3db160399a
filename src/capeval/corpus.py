"""A dataset turned into numbers: every distinct caption tokenised once, and what several metrics share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capeval import engine
from capeval.errors import CapevalError, DataError
from capeval.run import Run
from capeval.text.tokenize import encode
from capeval.types import Array, Dataset, Features, Floats, Ints, Longs, Metric, Picture, Rows, Sample

T = TypeVar("T")


class Words(NamedTuple):
    """Captions as token numbers: caption c is `tokens[offsets[c]:offsets[c + 1]]`."""

    tokens: Ints
    offsets: Longs
    vocabulary: list[str]


class Ngrams(NamedTuple):
    """Distinct n-grams of each caption and order with their counts, as the engine gives them."""

    ids: Ints
    counts: Ints
    gram_offsets: Longs
    grams: Ints
    n: int


class Corpus:
    """What metrics compute their statistics from."""

    def __init__(self, dataset: Dataset, run: Run | None = None) -> None:
        self.dataset, self.run = dataset, run or Run()
        self.threads, self.engine = self.run.threads, engine.load(self.run.engine)
        self._memo: dict[Hashable, Any] = {}
        self._number: dict[str, int] = {}
        number = self._number
        self.rows = Rows(
            np.array([number.setdefault(text, len(number)) for text in dataset.candidates], np.int32),
            dataset.group,
            np.cumsum([0, *map(len, dataset.reference_sets)], dtype=np.int64),
            np.array([number.setdefault(t, len(number)) for refs in dataset.reference_sets for t in refs], np.int32),
        )

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def captions(self) -> list[str]:
        """The distinct captions; everything per caption is in this order."""
        return list(self._number)

    @cached_property
    def pieces(self) -> Words:
        """Tokens as the tokenizer gives them; a few hold a no-break space (`23 3/4`, phone numbers)."""
        return Words(*encode(self.captions, self.run))

    @cached_property
    def words(self) -> Words:
        """Tokens split at every white space, as the official n-gram metrics (but not ROUGE) do a second time."""
        pieces = self.pieces
        if all(len(word.split()) == 1 for word in pieces.vocabulary):
            return pieces
        return _split_words(pieces)

    def texts(self, captions: npt.NDArray[np.integer[Any]]) -> list[list[str]]:
        """The tokens of some captions, as words."""
        tokens, offsets, vocabulary = self.pieces
        bounds = zip(offsets[captions].tolist(), offsets[captions + 1].tolist())
        return [[vocabulary[token] for token in tokens[begin:end].tolist()] for begin, end in bounds]

    def require_references(self) -> None:
        """Raises DataError where a row has none."""
        lacking = [i for i, group in enumerate(self.rows.group) if not self.dataset.reference_sets[group]]
        if lacking:
            raise DataError("captions without a reference.", ids=[self.dataset.ids[i] for i in lacking])

    def ngrams(self, n: int) -> Ngrams:
        def compute() -> Ngrams:
            return self.count_ngrams(self.words.tokens, n)

        return self.memo(("ngrams", n), compute)

    def count_ngrams(self, tokens: Ints, n: int) -> Ngrams:
        """N-grams of the captions with other numbers for their words, such as the numbers of stems."""
        ids, counts, gram_offsets, grams = self.engine.ngrams(tokens, self.words.offsets, n, self.threads)
        return Ngrams(ids, counts, gram_offsets, grams, n)

    def stats(self, metric: Metric) -> Array:
        """The statistics of a metric: computed once, whoever asks for them."""

        def compute() -> Array:
            found = metric.stats(self)
            if found.ndim != 2 or found.shape[0] != len(self) or not np.isfinite(found).all():
                raise CapevalError(f"{metric.info.name} gave wrong statistics: shape {found.shape} or not finite")
            return found

        return self.memo(("stats", metric), compute)

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Computes once what several metrics share."""
        if key not in self._memo:
            self._memo[key] = compute()
        value: T = self._memo[key]
        return value

    @cached_property
    def images(self) -> list[str]:
        """The distinct images; everything per image is in this order."""
        return list(dict.fromkeys(self.dataset.images))

    @cached_property
    def image_number(self) -> Ints:
        """For each row, the number of its image in `images`."""
        number = {image: i for i, image in enumerate(self.images)}
        return np.array([number[image] for image in self.dataset.images], np.int32)

    def features(self, encoder: str = "") -> Features:
        """What is seen of the pictures: by that encoder where there are pictures, else by the one that is there."""
        if self.dataset.features is None:
            raise DataError("there are no pictures: give a folder of them, or their features")
        return self.dataset.features.by(encoder)

    def vectors(self, encoder: str = "") -> Floats:
        """One feature vector for each of `images`."""
        seen = self.features(encoder)
        return self.memo(("vectors", seen.encoder), lambda: seen.vectors(self.images))

    def regions(self, start: int, stop: int, encoder: str = "") -> Floats:
        """The regions of `images[start:stop]`; they are too large to be held for all."""
        return self.features(encoder).regions(self.images[start:stop])

    def boxes(self, start: int, stop: int, encoder: str = "") -> Floats | None:
        """Where the regions of `images[start:stop]` are, if that is known."""
        return self.features(encoder).boxes(self.images[start:stop])


def of_one(
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    run: Run,
    picture: Picture | None = None,
    others: Sequence[Sequence[str]] = (),
) -> Corpus:
    """Of one tokenised caption, and others of the same picture after it.

    Tokens are tokenised again: a table of document frequencies is for one tokenizer alone.
    """
    captions = [" ".join(tokens) for tokens in (candidate, *others)]
    texts = tuple(" ".join(tokens) for tokens in references)
    image = "" if picture is None else picture.image
    dataset = Dataset.from_samples([Sample(str(i), image, caption, texts) for i, caption in enumerate(captions)])
    dataset.features = None if picture is None else picture.features
    return Corpus(dataset, run)


def _split_words(pieces: Words) -> Words:
    vocabulary = {word: number for number, word in enumerate(pieces.vocabulary)}
    parts = {
        number: [vocabulary.setdefault(part, len(vocabulary)) for part in word.split()]
        for number, word in enumerate(pieces.vocabulary)
        if len(word.split()) != 1
    }
    places = np.flatnonzero(np.isin(pieces.tokens, list(parts)))
    inserts = [parts[int(pieces.tokens[place])] for place in places]
    extra = np.array([len(insert) for insert in inserts], np.int64)
    tokens = np.insert(pieces.tokens, np.repeat(places, extra), [token for insert in inserts for token in insert])
    added = np.concatenate([[0], np.cumsum(extra)])
    tokens = np.delete(tokens, places + added[1:])
    grown = added - np.arange(len(added))  # by how much all before has grown
    offsets = pieces.offsets + grown[np.searchsorted(places, pieces.offsets)]
    return Words(tokens, offsets, list(vocabulary))
