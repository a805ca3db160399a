"""Systems with what people think of each, and scores that were published for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from capeval.bench import agreement
from capeval.bench.draws import usual_resamples
from capeval.bench.forms import Form, NoCaptions, Part, Settings
from capeval.bench.scoring import Scorer
from capeval.types import Array, Dataset


@dataclass(frozen=True)
class Systems(Form):
    names: Sequence[str]
    human: Mapping[str, Array]
    scores: Mapping[str, Array]
    """NaN where a system has no score."""

    unused: ClassVar[tuple[str, ...]] = ("draws", "references", "ties", "counts", "combine")

    @property
    def rows(self) -> int:
        return len(self.names)

    @property
    def distinct_images(self) -> list[str]:
        return []

    def captions(self) -> Dataset:
        raise NoCaptions(f"there are no captions in this benchmark, only systems: {', '.join(self.names)}")

    def measure(self, scorer: Scorer, settings: Settings) -> Part:
        if scorer.expressions or scorer.functions:
            raise NoCaptions(
                "the captions of these systems are not public, so they cannot be scored here. Name no metrics: the "
                "published scores are used, and files of scores add your own, with the systems' names as ids"
            )
        more = scorer.score_from_files(self.names, self.scores)
        scores = {**self.scores, **more.per_caption}
        found = agreement.agree_systems(
            self, scores, settings.resamples or usual_resamples(1), settings.seed, scorer.run.threads
        )
        best_first = sorted(found.items(), key=lambda item: -next(iter(item[1].values())).estimates["pearson"].value)
        rows = [_row(name, by_measure) for name, by_measure in best_first]
        return Part(self, scores, rows, {"names": list(scores)}, more.signatures)


def _row(metric: str, by_measure: Mapping[str, agreement.Agreement]) -> dict[str, Any]:
    first = next(iter(by_measure.values()))
    return {"metric": metric, "rows": first.rows, "left_out": first.left_out} | {
        measure: {key: estimate._asdict() for key, estimate in each.estimates.items()}
        for measure, each in by_measure.items()
    }
