"""UICE's syntactic module (Zhao et al.): the probability that a person, writing in a style, wrote the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.errors import UnknownName
from capeval.metrics.explaining import weighed
from capeval.run import Run
from capeval.types import Array, Explanation, Info, Metric, Picture, Word

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint

CITATION = (
    "Zhao et al. 2020, Extricating from Ground Truth: An Unpaired Learning Based Evaluation Metric for Image Captioning"
)
_BAR = 20


@dataclass(frozen=True)
class UiceSyn(Metric):
    """`style`: the style that the sentence is judged by, `photo` or `romance`, or the folder of one of your own."""

    style: str = "photo"

    info: ClassVar[Info] = Info(
        name="uice_syn",
        names=("uice_syn",),
        revision=2,
        summary="Probability that a person wrote the sentence, in a style that can be trained; reads the caption alone",
        citation=CITATION,
        needs=(),
    )

    def trained_on(self) -> tuple[str, ...]:
        return tuple(self._checkpoint().facts.get("trained_on", ()))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def per_sample(self, stats: Array) -> Array:
        return stats

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        from capeval.runtime.uice import open_syntax

        used, place = np.unique(corpus.rows.candidate, return_inverse=True)
        self._checkpoint(corpus.run)
        scores = open_syntax(self._source, corpus.run).judge(corpus.texts(used), corpus.threads)
        has_words = np.diff(corpus.pieces.offsets)[used] > 0
        return np.where(has_words, scores, 0.0)[place][:, None]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """q_t, how human the sentence sounds up to each word; the word after which it falls most is marked."""
        from capeval.runtime.uice import open_syntax

        self._checkpoint(run)
        syntax = open_syntax(self._source, run)
        if not candidate:
            return [Explanation("", {self.info.name: 0.0}, (), [])]
        steps = syntax.steps(candidate)
        read = list(candidate[: syntax.words])
        falls = np.append(steps[0] - 0.5, np.diff(steps))
        worst = int(np.argmin(falls))
        rows = [
            (
                word if syntax.vocabulary.has(word) or word == _END else f"{word} (not known)",
                float(q),
                "█" * round(float(q) * _BAR),
                "falls most" if place == worst and falls[worst] < 0 else "",
            )
            for place, (word, q) in enumerate(zip([*read, _END], steps))
        ]
        facts: dict[str, float | str] = {self.info.name: float(steps[-1]), "style": self.style}
        if len(read) < len(candidate):
            facts["read"] = f"the first {len(read)} words of {len(candidate)}"
        words = weighed(read, falls[: len(read)].tolist()) + tuple(Word(text) for text in candidate[len(read) :])
        return [Explanation("", facts, ("word", "q", "how human up to here", ""), rows, words)]

    @property
    def _source(self) -> str:
        from capeval.runtime.uice import style_source

        return style_source(self.style)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.checkpoint import installed_checkpoints
        from capeval.runtime.uice import STYLE, open_trained

        try:
            return open_trained(self._source, "uice-syn", run)
        except UnknownName:
            named = [name.removeprefix(STYLE) for name in installed_checkpoints(run) if name.startswith(STYLE)]
            raise UnknownName("style (neither a folder nor the name of one)", self.style, named) from None


_END = "(end)"
