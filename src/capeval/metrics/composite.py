"""What every metric made of other metrics shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.errors import CapevalError
from capeval.metrics.explaining import explain
from capeval.run import Run
from capeval.types import NOT_A_PARAMETER, Array, Explanation, Metric, Picture, Selection

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Composite(Metric):
    """A metric that is computed from the scores of others.

    It says which ones, as expressions, in `made_of`; the registry turns these into objects and puts them into `parts`.
    Needs, signatures, training data and explanations come from the parts.
    """

    # Not for the constructor: a copy with another parameter has other parts, and must get them from the registry.
    parts: tuple[Selection, ...] = field(default=(), init=False, repr=False, compare=False, metadata=NOT_A_PARAMETER)

    def with_parts(self, parts: tuple[Selection, ...]) -> Self:
        made = replace(self)
        object.__setattr__(made, "parts", parts)
        return made

    def made_of(self) -> tuple[str, ...]:
        """The expression of each part; the first score that it names is the one that counts."""
        raise NotImplementedError

    def combine(self, scores: Array) -> Array:
        """Scores per caption [rows, names] from those of the parts [rows, parts]."""
        raise NotImplementedError

    def stats(self, corpus: Corpus) -> Array:
        """One column for each part: its score."""
        if not self.parts:
            raise CapevalError(f"{self.info.name} has no parts: capeval.registry.complete gives it some")
        return np.column_stack([_scores(metric, names[0], corpus) for metric, names in self.parts])

    def per_sample(self, stats: Array) -> Array:
        return self.combine(stats)

    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(need for metric, _ in self.parts for need in metric.needs())) or self.info.needs

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for metric, _ in self.parts for name in metric.encoders(run)))

    def joinable(self) -> bool:
        return all(metric.joinable() for metric, _ in self.parts)

    def trained_on(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for metric, _ in self.parts for name in metric.trained_on()))

    def signature_extras(self, run: Run) -> Mapping[str, Any]:
        """The parts with all that decides their scores, each on its own: two checkpoints cannot be taken for one."""
        shown = []
        for expression, (metric, _) in zip(self.made_of(), self.parts, strict=True):
            extras = "".join(f", {key}: {value}" for key, value in metric.signature_extras(run).items())
            shown.append(f"{expression} rev: {metric.info.revision}{extras}")
        return {"parts": f"[{'; '.join(shown)}]"}

    def for_one_image(self) -> Metric:
        parts = tuple(Selection(metric.for_one_image(), names) for metric, names in self.parts)
        return self if parts == self.parts else self.with_parts(parts)

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """The whole with the scores of its parts, then each part."""
        whole = self.for_one_image()
        assert isinstance(whole, Composite)
        corpus = of_one(candidate, references, run, picture)
        facts = dict(zip(self.info.names, whole.per_sample(whole.stats(corpus))[0].tolist(), strict=True))
        scores = Composite.stats(whole, corpus)[0].tolist()
        rows = [(names[0], score) for (_, names), score in zip(whole.parts, scores, strict=True)]
        found = [Explanation(" / ".join(" ".join(each) for each in references), facts, ("part", "score"), rows)]
        # Several parts may be scores of one metric, which explains them all at once.
        named: dict[Metric, list[str]] = {}
        for expression, (metric, _) in zip(whole.made_of(), whole.parts, strict=True):
            named.setdefault(metric, []).append(expression)
        for metric, expressions in named.items():
            told = explain(metric, candidate, references, run, picture)
            found += [replace(each, metric=each.metric or ", ".join(expressions)) for each in told]
        return found


def _scores(metric: Metric, name: str, corpus: Corpus) -> Array:
    scores: Array = metric.per_sample(corpus.stats(metric))[:, metric.info.names.index(name)]
    return scores
