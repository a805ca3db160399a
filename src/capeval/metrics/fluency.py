"""Fluency: whether a person would write such a sentence, to the sentence encoder of `meaning`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.meaning import read_once
from capeval.run import Run
from capeval.types import Array, Info, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.meaning import Meaning as Encoder


@dataclass(frozen=True)
class Fluency(Metric):
    """`checkpoint`: the folder of a sentence encoder of your own."""

    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="fluency",
        names=("fluency",),
        summary="Whether a person would write so: no words in disorder, said twice or picked at random",
        citation="ours; a head of the sentence encoder of `meaning` (MiniLM, Wang et al. 2020)",
        needs=(),
        revision=2,
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        from capeval.runtime.arrays import probability

        used, place = np.unique(corpus.rows.candidate, return_inverse=True)
        read, own = read_once(self._encoder(corpus.run), corpus, used)
        heard = np.where(np.diff(read.offsets)[own] > 0, probability(read.sounds[own]), 0.0)
        return heard[place][:, None]

    def _encoder(self, run: Run) -> Encoder:
        from capeval.runtime.meaning import open_meaning

        return open_meaning(self.checkpoint or "meaning", run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.meaning import open_trained

        return open_trained(self.checkpoint or "meaning", run)
