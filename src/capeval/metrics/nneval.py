"""NNEval (Sharif et al. 2018): what several metrics say together, put together by a small network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.errors import CheckpointError, ExpressionError
from capeval.metrics.composite import Composite
from capeval.metrics.explaining import leave_one_out
from capeval.run import Progress, Run
from capeval.types import Array, Explanation, Flags, Info, Picture

if TYPE_CHECKING:
    from capeval.runtime.nneval import Judge

CHECKPOINTS = {"fast": "nneval", "official": "nneval-official"}
"""The networks that come with capeval, by the parser of SPICE."""


def features(spice: str = "spice_fast", wmd: str = "wmd(normalize=true)") -> tuple[str, ...]:
    """The eight metrics of the paper, in its order."""
    return ("meteor", wmd, "bleu_1", "bleu_2", "bleu_3", "bleu_4", spice, "cider_d(df=coco-val2014)")


FEATURES = {"fast": features(), "official": features("spice", "wmd")}
"""What the networks that come with capeval are made of."""


@dataclass(frozen=True)
class Nneval(Composite):
    """`spice`: by which parser SPICE is computed, `fast` (our own) or `official` (its grammar is needed);
    `checkpoint`: the folder of a network of your own, which decides all features.
    """

    spice: str = "fast"
    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="nneval",
        names=("nneval", "nneval_clipped"),
        summary="Probability that the caption is human, by a network over the scores of eight metrics",
        citation="Sharif et al. 2018, NNEval: Neural Network Based Evaluation Metric for Image Captioning (ECCV)",
        revision=2,
        on_request=("nneval_clipped",),
    )

    def __post_init__(self) -> None:
        if self.spice not in CHECKPOINTS:
            raise ExpressionError(f"nneval: spice is {self.spice!r}; it must be {' or '.join(CHECKPOINTS)}")
        if self.checkpoint:
            if self.spice != "fast":
                raise ExpressionError("nneval: a checkpoint decides the features; leave spice out")
            self._judge()  # what it is made of cannot be told without it

    def made_of(self) -> tuple[str, ...]:
        return self._judge().features if self.checkpoint else FEATURES[self.spice]

    def stats(self, corpus: Corpus) -> Array:
        """Columns: the score, and the share of its features that lay beyond what training saw."""
        values = super().stats(corpus)
        network = self._judge(corpus.run).network
        outside = network.outside(values)
        has_words = np.diff(corpus.pieces.offsets)[corpus.rows.candidate] > 0
        self._tell(outside[has_words], corpus.run)
        found = np.column_stack([network.scores(values), outside.mean(axis=1)])
        return np.where(has_words[:, None], found, 0.0)

    def per_sample(self, stats: Array) -> Array:
        return stats

    def trained_on(self) -> tuple[str, ...]:
        """Of the parts too; and what decided which epoch is best, for that is no test any more."""
        facts = self._judge().checkpoint.facts
        own = [*facts.get("trained_on", ()), *facts.get("selected_on", ())]
        return tuple(dict.fromkeys([*own, *super().trained_on()]))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._judge(run).checkpoint.digest, **super().signature_extras(run)}

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What each feature adds to the score of a caption with usual features, or takes off."""
        from capeval.metrics.shapley import shares

        corpus = of_one(candidate, references, run, picture)
        network = self._judge(run).network
        (values,) = super().stats(corpus)
        ((score, clipped),) = self.stats(corpus).tolist()
        usual = float(network.scores(network.usual[None])[0])
        facts = {"nneval": score, "nneval_clipped": clipped, "of usual features": usual}
        found = shares(network.scores, values, network.usual)
        columns = np.column_stack([values, network.usual, network.low, network.high, found])
        largest = np.argsort(-np.abs(found), kind="stable")
        rows = [(self.made_of()[place], *columns[place].tolist()) for place in largest]
        header = ("feature", "value", "usual", "lowest", "highest", "share")
        reference = " / ".join(" ".join(each) for each in references)
        words = leave_one_out(self, candidate, references, replace(run, progress=Progress()), picture).candidate_words
        return [Explanation(reference, facts, header, rows, words)]

    def _tell(self, outside: Flags, run: Run) -> None:
        """Says how many values were beyond what training saw."""
        counts = Counter(dict(zip(self.made_of(), outside.sum(axis=0).tolist(), strict=True)))
        if total := counts.total():
            told = ", ".join(f"{name} {count:,}" for name, count in counts.most_common() if count)
            run.progress.note(
                f"nneval: {total:,} of {outside.size:,} values lie beyond what training saw and count as the nearest "
                f"that it saw ({told})"
            )

    def _judge(self, run: Run | None = None) -> Judge:
        from capeval.runtime.nneval import open_judge

        found = open_judge(self.checkpoint or CHECKPOINTS[self.spice], run)
        if not self.checkpoint and found.features != FEATURES[self.spice]:
            raise CheckpointError(
                f"{found.checkpoint.folder}: made of other metrics than this version of capeval knows"
            )
        return found
