"""Captions with the scores that people gave them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from capeval.bench import agreement
from capeval.bench.combining import Measured, best_combinations
from capeval.bench.correlation import correlations
from capeval.bench.details import details_of_ratings
from capeval.bench.forms import Form, Part, ScoresByMetric, Settings, draws_for
from capeval.bench.scoring import Scorer, ScoreTable
from capeval.errors import CapevalError, UnknownName
from capeval.types import Array, Dataset

# Williams' test has no degree of freedom with fewer rows.
_FEWEST = 4
# Two systems can only agree or disagree.
_FEWEST_SYSTEMS = 3


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
    judgements: Mapping[str, Array] = field(default_factory=dict)
    """By name, where people gave several kinds of judgement: `human` is one of them."""

    unused: ClassVar[tuple[str, ...]] = ("draws", "references", "ties", "counts")

    @property
    def rows(self) -> int:
        return int(np.isfinite(self.human).sum())

    @property
    def distinct_images(self) -> list[str]:
        return list(dict.fromkeys(self.dataset.images))

    def captions(self) -> Dataset:
        return self.dataset

    def judged_by(self, name: str) -> Ratings:
        if not self.judgements:
            super().judged_by(name)
        if name not in self.judgements:
            raise UnknownName("judgement", name, self.judgements)
        return replace(self, human=self.judgements[name])

    def of_images(self, images: Container[str]) -> Ratings:
        rows = [row for row, image in enumerate(self.dataset.images) if image in images]
        judgements = {name: values[rows] for name, values in self.judgements.items()}
        return replace(self, dataset=self.dataset.rows(rows), human=self.human[rows], judgements=judgements)

    def measure(self, scorer: Scorer, settings: Settings) -> Part:
        run, table = scorer.run, scorer.score(self.dataset)
        scores = table.per_caption
        run.progress.step("resampling")
        weights = draws_for(self.dataset.images, len(scores), settings, run)
        found = agreement.agree(self, scores, weights, run.threads)
        comparisons: dict[str, Any] = {"statistic": self.main, "names": list(scores), "resamples": len(weights)}
        can_compare = len(scores) < 2 or agreement.common_judgements(self, scores) >= _FEWEST
        if not can_compare:
            run.progress.note(f"Fewer than {_FEWEST} judgements have a score of every metric: they are not compared.")
        if len(scores) > 1 and can_compare:
            comparisons["p_bootstrap_holm"] = agreement.pairwise_p(self, scores, found, weights, run.threads)
            comparisons["p_williams"] = agreement.williams_p(self, scores)
            comparisons["spearman_between_metrics"] = agreement.between_metrics(scores)
        if settings.combine and can_compare:
            run.progress.step("combining metrics")
            chosen = _chosen(settings)
            best = best_combinations(
                self, scores, size=settings.combine, chosen_on=chosen, weights=weights, threads=run.threads
            )
            comparisons["combinations"] = [each.known() for each in best]
        by_system = _system_level(self, table)
        rows = [
            _row(each) | ({"system_level": by_system[each.metric]} if each.metric in by_system else {})
            for each in found
        ]
        return Part(self, scores, rows, comparisons, table.signatures)

    def details(self, scores: ScoresByMetric) -> dict[str, Any]:
        return details_of_ratings(self, scores)


def _chosen(settings: Settings) -> Measured | None:
    if settings.chosen_on is None or settings.chosen_by is None:
        return None
    if not isinstance(settings.chosen_on, Ratings):
        raise CapevalError("combinations are chosen by ratings of single captions, and that benchmark has none")
    return Measured(settings.chosen_on, settings.chosen_by.score(settings.chosen_on.dataset).per_caption)


def _system_level(ratings: Ratings, table: ScoreTable) -> dict[str, dict[str, float]]:
    """By metric the correlation of systems' scores with their mean judgements, over the captions that have both."""
    judged, systems = np.isfinite(ratings.human).any(axis=1), np.array(ratings.dataset.systems)
    rows_of = {name: np.nonzero(judged & (systems == name))[0] for name in np.unique(systems[judged]) if name}
    if len(rows_of) < _FEWEST_SYSTEMS:
        return {}
    scores = {name: table.of_rows(rows) for name, rows in rows_of.items()}
    found: dict[str, dict[str, float]] = {}
    for metric, values in table.per_caption.items():
        scored = {name: rows[np.isfinite(values[rows])] for name, rows in rows_of.items()}
        if not all(map(len, scored.values())):
            continue
        people = np.array([np.nanmean(ratings.human[rows]) for rows in scored.values()])
        statistics = correlations(np.array([scores[name][metric] for name in scored]), people)
        found[metric] = {"systems": len(scored)} | {key: each.value for key, each in statistics.items()}
    return found


def _row(found: agreement.Agreement) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": found.metric, "rows": found.rows, "left_out": found.left_out}
    row |= {key: estimate._asdict() for key, estimate in found.estimates.items()}
    return row | ({"mean_judgement": dict(found.with_mean)} if found.with_mean else {})
