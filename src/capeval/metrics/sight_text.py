"""Whether a caption and its references call up the same picture: the caption side of `sight`, without any picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.beside import Beside
from capeval.metrics.meaning import readings as encoder_readings
from capeval.metrics.sight import ByDualEncoder, read_once, readings
from capeval.run import Run
from capeval.types import Array, Info


@dataclass(frozen=True)
class SightText(ByDualEncoder):
    """A caption beside each of its references."""

    info: ClassVar[Info] = Info(
        name="sight_text",
        names=("sight_text",),
        summary="How alike the pictures are that the caption and its references call up, by the dual encoder of sight",
        citation="ours; as RefCLIPScore (Hessel et al. 2021) does with CLIP's captions",
    )

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        corpus.require_references()
        network, beside = self._network(corpus.run), Beside.of(corpus)
        captions, place = read_once(network, corpus, np.arange(len(corpus.captions)))
        cosines = network.cosines(captions, place[beside.one], captions, place[beside.other])
        return beside.means(np.clip(cosines, 0, 1))[:, None]


def read_for_both(corpus: Corpus) -> None:
    """Reads all captions for `meaning` and for `sight_text` at once, where both will ask for them."""
    network = SightText()._network(corpus.run)
    ours, theirs = readings(network, corpus), encoder_readings(network.meaning, corpus)
    every = np.arange(len(corpus.captions))
    new = np.intersect1d(ours.new(every), theirs.new(every))
    read, vectors = network.read_both(corpus.texts(new), corpus.threads)
    theirs.add(new, read)
    ours.add(new, vectors)
