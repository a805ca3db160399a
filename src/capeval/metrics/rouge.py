"""ROUGE-L (Lin 2004) as the COCO evaluation computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.errors import ExpressionError
from capeval.run import Run
from capeval.types import Array, Explanation, Info, Metric, Picture, Word


@dataclass(frozen=True)
class Rouge(Metric):
    """`beta`: how much more recall counts than precision."""

    beta: float = 1.2

    info: ClassVar[Info] = Info(
        name="rouge",
        names=("rouge_l",),
        summary="longest common subsequence: F-score of the best precision and the best recall over the references",
        citation="Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries (ACL workshop)",
    )

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise ExpressionError(f"rouge: beta is {self.beta}; it must be above 0")

    def stats(self, corpus: Corpus) -> Array:
        """Columns: best precision, best recall; each over all references, so they may come from two of them."""
        # Not corpus.words: the official ROUGE splits at spaces only, and a no-break space keeps a token whole.
        tokens, offsets, _ = corpus.pieces
        return corpus.engine.rouge_stats(tokens, offsets, corpus.rows, corpus.threads)

    def per_sample(self, stats: Array) -> Array:
        precision, recall = stats[:, :1], stats[:, 1:]
        beta2 = self.beta**2
        weighted = recall + beta2 * precision
        return np.divide((1 + beta2) * precision * recall, weighted, where=weighted > 0, out=np.zeros_like(weighted))

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """The common subsequence with each reference. The score takes the best precision and the best recall."""
        score = float(self.per_sample(self.stats(of_one(candidate, references, run)))[0, 0])
        common = [common_subsequence(candidate, reference) for reference in references]
        precisions = [len(pairs) / max(1, len(candidate)) for pairs in common]
        recalls = [len(pairs) / max(1, len(reference)) for pairs, reference in zip(common, references)]
        found = []
        for pairs, reference, precision, recall in zip(common, references, precisions, recalls):
            ours, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
            counts = [
                name
                for name, mine, all_ in (("precision", precision, precisions), ("recall", recall, recalls))
                if mine == max(all_)
            ]
            facts: dict[str, str | float] = {"rouge_l": score, "common words": len(pairs)}
            facts |= {
                "precision": precision,
                "recall": recall,
                "best of all references in": ", ".join(counts) or "nothing",
            }
            rows = [(candidate[i], i + 1, j + 1) for i, j in pairs]
            found.append(
                Explanation(
                    " ".join(reference),
                    facts,
                    ("common word", "place in candidate", "place in reference"),
                    rows,
                    tuple(Word(text, "match" if i in ours else "miss") for i, text in enumerate(candidate)),
                    tuple(Word(text, "match" if j in theirs else "miss") for j, text in enumerate(reference)),
                )
            )
        return found


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The places in both of a longest common subsequence; of several, the one that begins first in `a`."""
    longest = np.zeros((len(a) + 1, len(b) + 1), int)  # of what is left from each place on
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            longest[i, j] = 1 + longest[i + 1, j + 1] if a[i] == b[j] else max(longest[i + 1, j], longest[i, j + 1])
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i, j + 1] >= longest[i + 1, j]:
            j += 1
        else:
            i += 1
    return pairs
