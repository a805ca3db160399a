"""Whether a caption and its references call up the same picture: the caption side of `sight`, without any picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.beside import Beside
from capeval.metrics.sight import read_once
from capeval.run import Run
from capeval.types import Array, Info, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.sight import Sight as Network


@dataclass(frozen=True)
class SightText(Metric):
    """`checkpoint`: the folder of a network of your own; `meaning`: that of the sentence encoder it goes with."""

    checkpoint: str = ""
    meaning: str = ""

    info: ClassVar[Info] = Info(
        name="sight_text",
        names=("sight_text",),
        summary="How alike the pictures are that the caption and its references call up, by the dual encoder of sight",
        citation="ours; as RefCLIPScore (Hessel et al. 2021) does with CLIP's captions",
    )

    def trained_on(self) -> tuple[str, ...]:
        from capeval.runtime.meaning import open_trained as open_encoder

        encoder = open_encoder(self.meaning or "meaning").facts.get("trained_on", ())
        return tuple(dict.fromkeys([*self._checkpoint().facts.get("trained_on", ()), *encoder]))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        corpus.require_references()
        network, beside = self._network(corpus.run), Beside.of(corpus)
        captions, place = read_once(network, corpus, np.arange(len(corpus.captions)))
        cosines = network.cosines(captions, place[beside.one], captions, place[beside.other])
        return beside.means(np.clip(cosines, 0, 1))[:, None]

    def _network(self, run: Run) -> Network:
        from capeval.runtime.sight import open_sight

        return open_sight(self.checkpoint or "sight", self.meaning, run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.sight import open_trained

        return open_trained(self.checkpoint or "sight", run)
