"""ROUGE-L (Lin 2004) as the COCO evaluation computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.errors import ExpressionError
from capeval.types import Array, Info, Metric


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
