"""BLEU (Papineni et al. 2002) as the COCO evaluation computes it, and sentence BLEU with smoothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.run import Run
from capeval.types import Array, Explanation, Info, Metric, Picture, Word

# The official code's guards against division by zero. They shift scores of captions without matches from 0 to about
# 1e-8 and below, so they are part of the definition.
TINY, SMALL = 1e-15, 1e-9
ORDERS = 4


@dataclass(frozen=True)
class Bleu(Metric):
    """`sentence`: smooth each caption's score (Lin & Och 2004); the corpus score is then their mean."""

    sentence: bool = False

    info: ClassVar[Info] = Info(
        name="bleu",
        names=("bleu_1", "bleu_2", "bleu_3", "bleu_4"),
        summary="n-gram precision with a brevity penalty, geometric mean of the orders up to n",
        citation="Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation (ACL)",
    )

    def stats(self, corpus: Corpus) -> Array:
        """Columns: matches of each order, n-grams of each order, length, length of the closest reference."""
        ids, counts, gram_offsets, _, n = corpus.ngrams(ORDERS)
        return corpus.engine.bleu_stats(ids, counts, gram_offsets, n, corpus.words.offsets, corpus.rows, corpus.threads)

    def per_sample(self, stats: Array) -> Array:
        return self._smoothed(stats) if self.sentence else self._official(stats)

    def summands(self, stats: Array) -> Array:
        return self._smoothed(stats) if self.sentence else stats

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        return super().from_totals(totals, rows) if self.sentence else self._official(totals)

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """For each order, the n-grams that a reference has and those that none has; and what brevity costs."""
        corpus = of_one(candidate, references, run)
        stats = self.stats(corpus)
        ours, *theirs = (" ".join(tokens).split() for tokens in (candidate, *references))
        covered = np.zeros(len(ours), int)  # by n-grams of how many words, at most
        rows: list[tuple[str | float | tuple[str, ...], ...]] = []
        for n in range(1, ORDERS + 1):
            counts = Counter(_grams(ours, n))
            most: Counter[tuple[str, ...]] = Counter()
            for each in theirs:
                most |= Counter(_grams(each, n))
            matched = counts & most
            total = max(0, len(ours) - n + 1)
            precision = matched.total() / total if total else 0.0
            rows.append((n, matched.total(), total, precision, _listed(matched), _listed(counts - matched)))
            left = Counter(matched)
            for start, gram in enumerate(_grams(ours, n)):
                if left[gram] > 0:
                    left[gram] -= 1
                    covered[start : start + n] = n
        length, closest = stats[0, -2:].astype(int).tolist()
        penalty = 0.0 if not length else float(np.exp(min(0.0, 1 - closest / length)))
        facts: dict[str, str | float] = dict(zip(self.info.names, self.per_sample(stats)[0].tolist(), strict=True))
        facts |= {"brevity penalty": penalty, "words": length, "words of the closest reference": closest}
        words = tuple(
            Word(text, "match" if n else "miss", note=f"in a matched {n}-gram" if n else "in no reference")
            for text, n in zip(ours, covered.tolist())
        )
        header = ("n", "matched", "of", "precision", "n-grams matched", "n-grams missed")
        return [Explanation(" / ".join(" ".join(each) for each in theirs), facts, header, rows, words)]

    def _official(self, stats: Array) -> Array:
        matches, grams, length, closest = self._split(stats)
        scores = self._geometric_means((matches + TINY) / (grams + SMALL))
        ratio = (length + TINY) / (closest + SMALL)
        penalty = np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0)
        # The guards would give an empty caption beside an empty reference about 1e-6; an empty caption scores 0.
        return np.where(length == 0, 0.0, scores * penalty)

    def _smoothed(self, stats: Array) -> Array:
        """One is added to matches and n-grams of every order but the first; no matching word means 0."""
        matches, grams, length, closest = self._split(stats)
        extra = np.array([0.0] + [1.0] * (ORDERS - 1))
        precisions = (matches + extra) / np.maximum(grams + extra, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.exp(np.minimum(0.0, 1 - closest / length, where=length > 0, out=np.full_like(length, -np.inf)))
        return self._geometric_means(precisions) * penalty

    def _split(self, stats: Array) -> tuple[Array, Array, Array, Array]:
        return stats[..., :ORDERS], stats[..., ORDERS : 2 * ORDERS], stats[..., -2:-1], stats[..., -1:]

    def _geometric_means(self, precisions: Array) -> Array:
        products = np.cumprod(precisions, axis=-1)
        return np.asarray(products ** (1.0 / np.arange(1, ORDERS + 1)))


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def _listed(grams: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(" ".join(gram) + (f" ({count} times)" if count > 1 else "") for gram, count in grams.items() if count)
