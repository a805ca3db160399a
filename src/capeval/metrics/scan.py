"""SCAN's own score (Lee et al. 2018): how well the regions of a picture are met by a caption's words; no reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.run import Run
from capeval.types import Array, Info, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint


@dataclass(frozen=True)
class Scan(Metric):
    """`checkpoint`: the folder of a SCAN of your own, whose regions look at words (i2t)."""

    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="scan",
        names=("scan",),
        summary="How well the picture's regions are met by the caption's words, on average; needs no reference",
        citation="Lee et al. 2018, Stacked Cross Attention for Image-Text Matching (ECCV); the network of tiger",
        needs=("pictures",),
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(filter(None, [self._checkpoint(run).encoder]))

    def hint_without_pictures(self) -> str:
        return "meaning compares with references instead"

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: half of one and the mean cosine; 0 for a caption of which the network knows no word."""
        from capeval.metrics.grounding import grounded, open_grounding

        found = np.zeros((len(corpus), 1))
        for rows, candidate, _, _ in grounded(corpus, open_grounding(self.info.name, self._source, corpus), False):
            found[rows, 0] = np.where(candidate.any(axis=1), (1 + candidate.mean(axis=1)) / 2, 0)
        return found

    @property
    def _source(self) -> str:
        from capeval.metrics.tiger import CHECKPOINT

        return self.checkpoint or CHECKPOINT

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.scan import open_trained_scan

        return open_trained_scan(self._source, run)
