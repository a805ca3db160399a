"""Two captions of one image, and which of them people prefer."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from capeval.bench import accuracy, agreement
from capeval.bench.details import details_of_pairs
from capeval.bench.forms import Form, Part, ScoresByMetric, Settings, draws_for
from capeval.bench.scoring import Scorer
from capeval.perturb.choices import Choice
from capeval.types import Dataset, Flags


@dataclass(frozen=True)
class Pairs(Form):
    ids: Sequence[str]
    images: Sequence[str]
    first: Sequence[str]
    second: Sequence[str]
    references: Sequence[tuple[str, ...]]
    """All there are for the image; a run draws some of them."""
    first_wins: Flags
    categories: Sequence[str]
    drawn: int | None = None
    """How many references the protocol draws for each pair; None for all of them."""
    mean_of: Literal["pairs", "categories"] = "pairs"
    """What the mean accuracy is the mean of. A benchmark's is over all pairs; robustness checks let categories, whose
    sizes are of their own making, count alike."""

    unused: ClassVar[tuple[str, ...]] = ("combine",)

    @classmethod
    def of_choices(cls, choices: Sequence[Choice]) -> Pairs:
        """The right caption is the first one."""
        ids, images, first, second, references, categories = (list(column) for column in zip(*choices, strict=True))
        return cls(ids, images, first, second, references, np.ones(len(ids), np.bool_), categories)

    @property
    def rows(self) -> int:
        return len(self.ids)

    @property
    def distinct_images(self) -> list[str]:
        return list(dict.fromkeys(self.images))

    def captions(self) -> Dataset:
        return self.dataset()

    def of_images(self, images: Container[str]) -> Pairs:
        rows = [row for row, image in enumerate(self.images) if image in images]
        return replace(
            self,
            ids=[self.ids[row] for row in rows],
            images=[self.images[row] for row in rows],
            first=[self.first[row] for row in rows],
            second=[self.second[row] for row in rows],
            references=[self.references[row] for row in rows],
            first_wins=self.first_wins[rows],
            categories=[self.categories[row] for row in rows],
        )

    def dataset(self, count: int | None = None, seed: int = 0) -> Dataset:
        """Both captions of each pair, one after the other, with `count` references drawn for the pair."""
        generator = np.random.default_rng(seed)
        sets: list[tuple[str, ...]] = []
        for references in self.references:
            if count is not None and count < len(references):
                places = generator.choice(len(references), count, replace=False)
                references = tuple(references[place] for place in sorted(places.tolist()))
            sets += [references, references]
        return Dataset(
            [f"{each}-{side}" for each in self.ids for side in (1, 2)],
            [image for image in self.images for _ in (1, 2)],
            [text for both in zip(self.first, self.second) for text in both],
            sets,
            np.arange(len(sets), dtype=np.int32),
        )

    def measure(self, scorer: Scorer, settings: Settings) -> Part:
        ties, run = settings.ties, scorer.run
        signatures: dict[str, str] = {}

        def score(dataset: Dataset) -> ScoresByMetric:
            table = scorer.score(dataset)
            signatures.update(table.signatures | signatures)  # those of the first draw of references stay
            return table.per_caption

        count = settings.references or self.drawn
        scores = accuracy.draw_scores(self, score, count, settings.draws, settings.seed)
        run.progress.step("resampling")
        weights = draws_for(self.images, len(scores), settings, run)
        rows = [_row(each) for each in accuracy.accuracies(self, scores, weights, ties)]
        draws = len(next(iter(scores.values())))
        comparisons: dict[str, Any] = {"statistic": "mean", "names": list(scores), "draws": draws}
        comparisons["resamples"] = len(weights)
        if len(scores) > 1:
            comparisons["p_bootstrap_holm"] = accuracy.pairwise_p(self, scores, weights, ties)
            means = {name: values.mean(axis=0) for name, values in scores.items()}
            comparisons["spearman_between_metrics"] = agreement.between_metrics(means)
        # More references than there are would show those that there are under a wrong number.
        if counts := [count for count in settings.counts if count <= max(map(len, self.references))]:
            run.progress.step("drawing fewer references")
            found = accuracy.against_references(
                self, score, counts, weights, repeats=settings.draws, ties=ties, seed=settings.seed
            )
            comparisons["by_references"] = found.to_dict()
        return Part(self, scores, rows, comparisons, signatures)

    def details(self, scores: ScoresByMetric) -> dict[str, Any]:
        return details_of_pairs(self, scores)


def _row(found: accuracy.Accuracy) -> dict[str, Any]:
    row = {"metric": found.metric, "rows": found.rows, "left_out": found.left_out, "ties": found.ties}
    row |= {"worst_kind": found.worst} if found.worst else {}
    return row | {
        key: {
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "spread": found.spread[key],
            "n": found.counts[key],
        }
        for key, each in found.estimates.items()
    }
