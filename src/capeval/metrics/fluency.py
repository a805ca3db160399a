"""Fluency: whether a person would write such a sentence, to a network that has heard many broken ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.run import Run
from capeval.types import Array, Info, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.fluency import Fluency as Network


@dataclass(frozen=True)
class Fluency(Metric):
    """`checkpoint`: the folder of a network of your own."""

    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="fluency",
        names=("fluency",),
        summary="Whether a person would write so: no words in disorder, said twice or picked at random",
        citation="ours; on the lower layers of MiniLM (Wang et al. 2020)",
        needs=(),
        revision=4,
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        used, place = np.unique(corpus.rows.candidate, return_inverse=True)
        return self._network(corpus.run).scores(corpus.texts(used), corpus.run.threads)[place][:, None]

    def _network(self, run: Run) -> Network:
        from capeval.runtime.fluency import open_fluency

        return open_fluency(self.checkpoint or "fluency", run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.fluency import open_trained

        return open_trained(self.checkpoint or "fluency", run)
