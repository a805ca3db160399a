"""Accord: whether a caption belongs to its references, to a network that has all of them before it, word by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.run import Run
from capeval.types import Array, Info, Metric

if TYPE_CHECKING:
    from capeval.runtime.accord import Accord as Network
    from capeval.runtime.accord import Readings
    from capeval.runtime.checkpoint import Checkpoint


@dataclass(frozen=True)
class Accord(Metric):
    """`checkpoint`: the folder of a network of your own; `meaning`: that of the sentence encoder it reads by."""

    checkpoint: str = ""
    meaning: str = ""

    info: ClassVar[Info] = Info(
        name="accord",
        names=("accord",),
        summary="Whether the caption belongs to its references: what its words find in them, and what it leaves out",
        citation="ours; words aligned by attention and compared as in Parikh et al. 2016 and Chen et al. 2017 (ESIM)",
    )

    def trained_on(self) -> tuple[str, ...]:
        from capeval.runtime.meaning import open_trained as open_encoder

        own, encoder = self._checkpoint(), open_encoder(self.meaning or "meaning")
        return tuple(dict.fromkeys([*own.facts.get("trained_on", ()), *encoder.facts.get("trained_on", ())]))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words, or if no reference has any."""
        from capeval.runtime.batches import for_each

        corpus.require_references()
        network = self._network(corpus.run)
        words = self.readings(corpus).all(corpus.texts, corpus.threads)
        rows, captions = corpus.rows, corpus.captions
        has_words = np.array([len(each.telling) > 0 for each in words], bool)
        odds, is_scored = np.zeros(len(corpus)), np.zeros(len(corpus), bool)

        def score(row: int) -> None:
            its = rows.group_captions[rows.group_offsets[rows.group[row]] : rows.group_offsets[rows.group[row] + 1]]
            # In one order, whatever the order that they come in: sums go by it.
            references = sorted(its[has_words[its]].tolist(), key=captions.__getitem__)
            if references and has_words[rows.candidate[row]]:
                odds[row] = network.odds(words[rows.candidate[row]], [words[each] for each in references])
                is_scored[row] = True

        for_each(score, range(len(corpus)), corpus.threads)
        return np.where(is_scored, network.scores(odds), 0.0)[:, None]

    def readings(self, corpus: Corpus) -> Readings:
        """What the network has read of a corpus so far."""
        from capeval.runtime.accord import Readings

        network = self._network(corpus.run)
        return corpus.memo(("accord", network.checkpoint.digest), lambda: Readings(network, len(corpus.captions)))

    def _network(self, run: Run) -> Network:
        from capeval.runtime.accord import open_accord

        return open_accord(self.checkpoint or "accord", self.meaning, run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.accord import open_trained

        return open_trained(self.checkpoint or "accord", run)
