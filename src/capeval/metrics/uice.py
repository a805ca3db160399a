"""UICE (Zhao et al.): does the caption match the picture, and does it sound like a person? No reference is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.expressions import write_expression
from capeval.metrics.composite import Composite
from capeval.metrics.uice_syn import CITATION
from capeval.run import Run
from capeval.types import Array, Explanation, Info, Metric, Picture

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.uice import Fusion

CHECKPOINT = "uice"
"""The fusion that comes with capeval."""


@dataclass(frozen=True)
class Uice(Composite):
    """`style` as in `uice_syn`; `semantics`: the folder of a semantic module of your own; `checkpoint`: that of a
    fusion of your own.
    """

    style: str = "photo"
    semantics: str = ""
    checkpoint: str = ""

    info: ClassVar[Info] = Info(
        name="uice",
        names=("uice",),
        revision=2,
        summary="Whether the caption matches the picture and sounds human, in a style of your own; needs no reference",
        citation=CITATION,
        needs=("pictures",),
    )

    def made_of(self) -> tuple[str, ...]:
        semantics = {"checkpoint": self.semantics} if self.semantics else {}
        return write_expression("uice_sem", semantics), write_expression("uice_syn", {"style": self.style})

    def combine(self, scores: Array) -> Array:
        """A caption without words has 0 of both parts, and of the whole."""
        return np.where(scores.any(axis=1), self._fusion().fuse(scores), 0.0)[:, None]

    def trained_on(self) -> tuple[str, ...]:
        own = self._checkpoint().facts.get("trained_on", ())
        return tuple(dict.fromkeys([*super().trained_on(), *own]))

    def for_inputs(self, references: bool, pictures: bool) -> Metric | None:
        return self.parts[1].metric if self.parts and not pictures else None

    def signature_extras(self, run: Run) -> Mapping[str, Any]:
        return {"fusion": self._checkpoint(run).digest, **super().signature_extras(run)}

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """The whole, then both parts; without a picture, the part that needs none."""
        if picture is None:
            why = "not computed: it looks at the picture, and there is none"
            (syntactic,) = self.parts[1].metric.explain(candidate, references, run)
            return [Explanation("", {"uice_sem": why, **syntactic.facts}, syntactic.header, syntactic.rows)]
        return super().explain(candidate, references, run, picture)

    def _fusion(self, run: Run | None = None) -> Fusion:
        from capeval.runtime.uice import open_fusion

        return open_fusion(self.checkpoint or CHECKPOINT, run)

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.uice import open_trained

        return open_trained(self.checkpoint or CHECKPOINT, "uice", run)
