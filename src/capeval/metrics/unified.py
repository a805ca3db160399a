"""Unified: what meaning, sight, grounding, scene graphs, words and fluency say together, as people would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.errors import CheckpointError, ExpressionError
from capeval.metrics.accord import Accord
from capeval.metrics.composite import Composite
from capeval.metrics.explaining import leave_one_out
from capeval.metrics.meaning import Meaning
from capeval.metrics.sight_text import SightText, read_for_both
from capeval.run import Progress, Run
from capeval.types import Array, Explanation, Info, Metric, Picture

if TYPE_CHECKING:
    from capeval.runtime.unified import Judge, Weighing

_TEXT = ("accord", "confirmed", "belongs", "spice_fast", "cider_d(df=coco-val2014)")
SAYS = {
    "both": (*_TEXT, "sight", "sight_words", "scan", "tiger_wds"),
    "references": _TEXT,
    "pictures": ("sight", "sight_words", "scan"),
}
"""By what there is beside the candidate: the parts that tell whether it says the right thing."""
SOUNDS = ("fluency",)
"""The part that tells whether it is a sound sentence."""
PARTS = {inputs: (*says, *SOUNDS) for inputs, says in SAYS.items()}
_FRESH = 0.55
"""Share of pairs of words that must be said for the first time; a caption that is said twice has a little less."""
_CHOICES = ("auto", "none")


@dataclass(frozen=True)
class Unified(Composite):
    """`references`, `pictures`: `none` leaves them out even where they are given; `checkpoint`: the folder of a fit of
    your own.
    """

    references: str = "auto"
    pictures: str = "auto"
    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="unified",
        names=("unified",),
        summary="How good people would call the caption: meaning, sight, grounding, words and fluency in one",
        citation="ours; the combination that Kilickaya et al. 2017 ask for",
        needs=("references", "pictures"),
        revision=8,
    )

    def __post_init__(self) -> None:
        for name in ("references", "pictures"):
            if getattr(self, name) not in _CHOICES:
                raise ExpressionError(f"unified: {name} is {getattr(self, name)!r}; it must be {' or '.join(_CHOICES)}")
        if self.references == self.pictures == "none":
            raise ExpressionError("unified needs references or pictures; with neither, uice_syn judges the sentence")
        if self.checkpoint:
            self._judge()  # what it is made of cannot be told without it

    @property
    def _inputs(self) -> str:
        if self.references == "none":
            return "pictures"
        return "references" if self.pictures == "none" else "both"

    def for_inputs(self, references: bool, pictures: bool) -> Metric | None:
        """The same scale from what there is."""
        if references == pictures:
            return None
        kept, missing = ("pictures", "references") if pictures else ("references", "pictures")
        is_able = getattr(self, kept) != "none" and getattr(self, missing) != "none"
        if not is_able:
            return None
        return replace(self, pictures="none") if missing == "pictures" else replace(self, references="none")

    def made_of(self) -> tuple[str, ...]:
        from capeval.runtime.unified import parts_of

        return parts_of(self._judge().checkpoint.config, self._inputs) if self.checkpoint else PARTS[self._inputs]

    def stats(self, corpus: Corpus) -> Array:
        """The parts' scores, and a number of the caption's form; rows of -1 for a caption without words."""
        made_of = set(self.made_of())
        if made_of & set(Meaning.info.names) and made_of & set(SightText.info.names):
            read_for_both(corpus, *([Accord().readings(corpus)] if "accord" in made_of else []))
        found = np.column_stack([super().stats(corpus), form(corpus)])
        has_words = np.diff(corpus.pieces.offsets)[corpus.rows.candidate] > 0
        return np.where(has_words[:, None], found, -1.0)

    def per_sample(self, stats: Array) -> Array:
        scores = self._weighing().scores(np.maximum(stats, 0))
        return np.where(stats[:, -1] >= 0, scores, 0.0)[:, None]

    def trained_on(self) -> tuple[str, ...]:
        own = self._judge().checkpoint.facts.get("trained_on", ())
        return tuple(dict.fromkeys([*super().trained_on(), *own]))

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._judge(run).checkpoint.digest, **super().signature_extras(run)}

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """What each part adds to the score of a usual caption, or takes off, and each word; then the parts."""
        from capeval.metrics.shapley import shares

        first, *parts = super().explain(candidate, references, run, picture)
        (values,) = self.stats(of_one(candidate, references, run, picture))
        weighing = self._weighing(run)
        usual = float(weighing.scores(weighing.usual[None])[0])
        found = shares(weighing.scores, np.maximum(values, 0), weighing.usual)
        rows = [
            (weighing.parts[place], float(values[place]), float(weighing.usual[place]), float(found[place]))
            for place in np.argsort(-np.abs(found), kind="stable")
        ]
        words = leave_one_out(self, candidate, references, replace(run, progress=Progress()), picture).candidate_words
        facts = {**first.facts, "of a usual caption": usual}
        header = ("part", "value", "usual", "share")
        return [Explanation(first.reference, facts, header, rows, words), *parts]

    def _weighing(self, run: Run | None = None) -> Weighing:
        return self._judge(run).weighings[self._inputs]

    def _judge(self, run: Run | None = None) -> Judge:
        from capeval.runtime.unified import open_judge, parts_of

        found = open_judge(self.checkpoint or "unified", run)
        if not self.checkpoint and parts_of(found.checkpoint.config, self._inputs) != PARTS[self._inputs]:
            raise CheckpointError(
                f"{found.checkpoint.folder}: made of other metrics than this version of capeval knows"
            )
        return found


def form(corpus: Corpus) -> Array:
    """Of each candidate, from 0 to 1: how far it does not repeat itself; 0 without words."""
    used, place = np.unique(corpus.rows.candidate, return_inverse=True)
    found = np.zeros((len(used), 1))
    for row, words in enumerate(corpus.texts(used)):
        if words:
            pairs = list(pairwise(words))
            found[row] = min(1.0, len(set(pairs)) / len(pairs) / _FRESH) if pairs else 1.0
    return found[place]
