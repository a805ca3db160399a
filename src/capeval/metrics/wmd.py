"""WMD (Kusner et al. 2015): how far the words of one caption are from those of another in a space of word vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from capeval import engine
from capeval.corpus import Corpus
from capeval.engine.transport import distances
from capeval.errors import ExpressionError
from capeval.io.shipped import shipped
from capeval.run import Run
from capeval.text.vectors import load_vectors
from capeval.types import Array, Explanation, Floats, Info, Ints, Longs, Metric, Picture, Word


class Bags(NamedTuple):
    """The bag of caption c: words `ids[offsets[c]:offsets[c + 1]]` and their counts; word i is at `vectors[i]`."""

    ids: Ints
    counts: Ints
    offsets: Longs
    vectors: Floats


class Move(NamedTuple):
    """A part of a caption, 1 being the whole, that goes from one word to another."""

    source: str
    target: str
    amount: float
    distance: float


@dataclass(frozen=True)
class Wmd(Metric):
    """`vectors`: `glove-100d` or the path of a file of word vectors; `normalize`: vectors of length 1;
    `stopwords`: leave out function words; `reference`: the `best` one counts, or the `mean` over all.
    """

    vectors: str = "glove-100d"
    normalize: bool = False
    stopwords: bool = True
    reference: str = "best"

    info: ClassVar[Info] = Info(
        name="wmd",
        names=("wmd",),
        summary="exp(-Word Mover's Distance) to the closest reference",
        citation="Kusner et al. 2015, From Word Embeddings To Document Distances (ICML); "
        "for captions: Kilickaya et al. 2017, Re-evaluating Automatic Metrics for Image Captioning (EACL)",
    )

    def __post_init__(self) -> None:
        if self.reference not in ("best", "mean"):
            raise ExpressionError(f"wmd: reference is {self.reference!r}; it must be best or mean")

    def stats(self, corpus: Corpus) -> Array:
        """One column: the similarity."""
        key = ("word bags", self.vectors, self.normalize, self.stopwords)
        bags = corpus.memo(key, lambda: self._bags(corpus))
        return corpus.engine.wmd_stats(*bags, corpus.rows, self.reference == "best", corpus.threads)

    def per_sample(self, stats: Array) -> Array:
        return stats

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"vectors": load_vectors(self.vectors, run).digest[:12]}

    def flow(self, candidate: Sequence[str], reference: Sequence[str], run: Run | None = None) -> list[Move]:
        """Which word of a tokenised candidate goes where; the distance of the two is the sum of amount * distance.

        Nothing moves when one of them has no known words.
        """
        run = run or Run()
        vocabulary = list(dict.fromkeys([*candidate, *reference]))
        vectors, place = self._known(vocabulary, run)
        words = [word for word, at in zip(vocabulary, place.tolist()) if at >= 0]
        ours = np.array([candidate.count(word) for word in words], np.int64)
        theirs = np.array([reference.count(word) for word in words], np.int64)
        ours, theirs = ours * theirs.sum(), theirs * ours.sum()
        staying = np.minimum(ours, theirs)
        giving, taking = np.flatnonzero(ours > staying), np.flatnonzero(theirs > staying)
        cost = distances(vectors[giving], vectors[taking])
        flow = engine.load(run.engine).transport(cost, (ours - staying)[giving], (theirs - staying)[taking])
        amounts = np.diag(staying)
        amounts[np.ix_(giving, taking)] = flow
        lengths = np.zeros(amounts.shape)
        lengths[np.ix_(giving, taking)] = cost
        return [
            Move(words[i], words[j], float(amounts[i, j] / ours.sum()), float(lengths[i, j]))
            for i, j in np.argwhere(amounts).tolist()
        ]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        return [self._explain(candidate, reference, run) for reference in references]

    def _explain(self, candidate: Sequence[str], reference: Sequence[str], run: Run) -> Explanation:
        moves = self.flow(candidate, reference, run)
        total = sum(move.amount * move.distance for move in moves)
        return Explanation(
            reference=" ".join(reference),
            facts={"wmd": math.exp(-total), "distance": total} if moves else {"wmd": 0.0},
            header=("from", "to", "amount", "distance", "cost"),
            rows=[(m.source, m.target, m.amount, m.distance, m.amount * m.distance) for m in moves],
            candidate_words=_travelled(candidate, [(m.source, m.target, m) for m in moves]),
            reference_words=_travelled(reference, [(m.target, m.source, m) for m in moves]),
        )

    def _bags(self, corpus: Corpus) -> Bags:
        words = corpus.words
        vectors, place = self._known(words.vocabulary, corpus.run)
        kept = place[words.tokens]
        is_known = kept >= 0
        offsets = np.concatenate([[0], np.cumsum(is_known)])[words.offsets].astype(np.int64)
        # Words counted caption by caption are n-grams of order 1.
        ids, counts, offsets, found = corpus.engine.ngrams(kept[is_known], offsets, 1, corpus.threads)
        return Bags(ids, counts, offsets, np.ascontiguousarray(vectors[found[:, 0]]))

    def _known(self, vocabulary: list[str], run: Run) -> tuple[Floats, Ints]:
        """The vectors of the words that count, and where in them each word of the vocabulary is (-1: it does not)."""
        table = load_vectors(self.vectors, run)
        rows = table.rows_of(vocabulary)
        if self.stopwords:
            rows[[word in stopwords() for word in vocabulary]] = -1
        vectors = table.take(rows[rows >= 0])
        place = np.where(rows >= 0, np.cumsum(rows >= 0) - 1, -1).astype(np.int32)
        return _of_length_one(vectors) if self.normalize else vectors, place


def _travelled(words: Sequence[str], moves: Sequence[tuple[str, str, Move]]) -> tuple[Word, ...]:
    """Words with where they go, or come from; those that stay are matches, and function words do not count."""
    found = []
    for word in words:
        mine = [(other, move) for this, other, move in moves if this == word]
        if not mine:
            found.append(Word(word))
            continue
        far = sum(move.amount * move.distance for _, move in mine)
        told = ", ".join(f"{other} ({move.distance:.2f})" for other, move in mine if other != word)
        found.append(Word(word, "near" if far else "match", note=f"to {told}" if told else "stays"))
    return tuple(found)


@lru_cache(maxsize=1)
def stopwords() -> frozenset[str]:
    """The function words that are left out."""
    lines = shipped("stopwords.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _of_length_one(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))
