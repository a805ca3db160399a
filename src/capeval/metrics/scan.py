"""SCAN's own score (Lee et al. 2018): how well the regions of a picture are met by a caption's words; no reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.grounding import ByScan, grounded
from capeval.types import Array, Info


@dataclass(frozen=True)
class Scan(ByScan):
    """`checkpoint`: the folder of a SCAN of your own, whose regions look at words (i2t)."""

    info: ClassVar[Info] = Info(
        name="scan",
        names=("scan",),
        summary="How well the picture's regions are met by the caption's words, on average; needs no reference",
        citation="Lee et al. 2018, Stacked Cross Attention for Image-Text Matching (ECCV); the network of tiger",
        needs=("pictures",),
    )

    def hint_without_pictures(self) -> str:
        return "meaning compares with references instead"

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: half of one and the mean cosine; 0 for a caption of which the network knows no word."""
        found = np.zeros((len(corpus), 1))
        for rows, candidate, _, _ in grounded(corpus, self.open(corpus), references=False):
            found[rows, 0] = np.where(candidate.any(axis=1), (1 + candidate.mean(axis=1)) / 2, 0)
        return found
