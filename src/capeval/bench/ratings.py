"""Captions with the scores that people gave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from capeval.bench import agreement, analysis
from capeval.bench.correlation import image_draws
from capeval.bench.details import details_of_ratings
from capeval.bench.forms import Form, Part, ScoresByMetric, Settings, note_coarse_p
from capeval.bench.scoring import Scorer
from capeval.types import Array, Dataset

# Williams' test has no degree of freedom with fewer rows.
_FEWEST = 4


@dataclass(frozen=True)
class Ratings(Form):
    """Each row of the dataset has a reference set of its own, even where rows share an image: CIDEr's document
    frequencies on a benchmark count a row's references once for each row.
    """

    dataset: Dataset
    human: Array
    """[rows, judges]; NaN where a judge gave no score. Every score is one row of the agreement."""
    main: str = "kendall_c"
    """The statistic that the benchmark is known for."""

    unused: ClassVar[tuple[str, ...]] = ("draws", "references", "ties", "counts")

    @property
    def rows(self) -> int:
        return int(np.isfinite(self.human).sum())

    @property
    def distinct_images(self) -> list[str]:
        return list(dict.fromkeys(self.dataset.images))

    def captions(self) -> Dataset:
        return self.dataset

    def measure(self, scorer: Scorer, settings: Settings) -> Part:
        run, table = scorer.run, scorer.score(self.dataset)
        scores = table.per_caption
        run.progress.step("resampling")
        note_coarse_p(len(scores), settings.resamples, run)
        weights = image_draws(self.dataset.images, settings.resamples, settings.seed)
        found = agreement.agree(self, scores, weights, run.threads)
        comparisons: dict[str, Any] = {"statistic": self.main, "names": list(scores)}
        can_compare = len(scores) < 2 or agreement.common_judgements(self, scores) >= _FEWEST
        if not can_compare:
            run.progress.note(f"Fewer than {_FEWEST} judgements have a score of every metric: they are not compared.")
        if len(scores) > 1 and can_compare:
            common = found
            if any(each.left_out for each in found):
                common = agreement.agree(self, agreement.on_common_rows(scores), weights, run.threads)
            comparisons["p_bootstrap_holm"] = agreement.pairwise_p(common, self.main)
            comparisons["p_williams"] = agreement.williams_p(self, scores)
            comparisons["spearman_between_metrics"] = agreement.between_metrics(scores)
        if settings.combine and can_compare:
            run.progress.step("combining metrics")
            best = analysis.best_combinations(self, scores, size=settings.combine)
            comparisons["combinations"] = [{"metrics": each.metrics, "value": each.value} for each in best]
        return Part(self, scores, [_row(each) for each in found], comparisons, table.signatures)

    def details(self, scores: ScoresByMetric) -> dict[str, Any]:
        return details_of_ratings(self, scores)


def _row(found: agreement.Agreement) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": found.metric, "rows": found.rows, "left_out": found.left_out}
    row |= {key: estimate._asdict() for key, estimate in found.estimates.items()}
    return row | ({"mean_judgement": dict(found.with_mean)} if found.with_mean else {})
