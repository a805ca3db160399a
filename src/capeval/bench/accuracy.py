"""How often a metric prefers the caption that people prefer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capeval.bench.agreement import Estimate, bootstrap_p, holm_matrix, known_interval
from capeval.bench.draws import Draws, numbered
from capeval.bench.forms import ScoresByMetric
from capeval.errors import DataError
from capeval.types import Array, Dataset, Flags, Ints

if TYPE_CHECKING:
    from capeval.bench.pairs import Pairs

TIES = {"half": 0.5, "wrong": 0.0, "right": 1.0}
"""What a pair counts whose captions a metric finds equally good."""

Score = Callable[[Dataset], ScoresByMetric]
"""Scores the captions of a dataset with some metrics."""

ByCategory = dict[str, Array]
"""By category in lower case, and `mean`."""


@dataclass(frozen=True)
class Accuracy:
    """Of one metric, in percent."""

    metric: str
    rows: int
    left_out: int
    ties: float
    """Pairs that the metric finds equal, mean over the draws."""
    estimates: Mapping[str, Estimate]
    """By category in lower case, and `mean`, which is of what `Pairs.mean_of` says."""
    spread: Mapping[str, float]
    """The standard deviation over the draws of references."""
    counts: Mapping[str, int]
    """Pairs that the metric has scored, by category and all."""

    @property
    def worst(self) -> str:
        """The category with the lowest accuracy, where there are several."""
        known = {key: each.value for key, each in self.estimates.items() if key != "mean" and self.counts[key]}
        return min(known, key=known.__getitem__) if len(known) > 1 else ""


def right(pairs: Pairs, scores: Array, ties: str = "half") -> Array:
    """For each pair 1 if the metric prefers what people prefer, else 0; NaN where it lacks a score."""
    gap = scores[0::2] - scores[1::2]
    is_right = np.where(gap == 0, TIES[ties], (gap > 0) == pairs.first_wins)
    return np.where(np.isfinite(gap), is_right, np.nan)


def draw_scores(pairs: Pairs, score: Score, count: int | None, repeats: int, seed: int) -> dict[str, Array]:
    """By metric, the scores of both captions of each pair with each draw of references, [draws, 2 * pairs]."""
    if count is None or all(count >= len(references) for references in pairs.references):
        repeats = 1  # there is nothing to draw
    drawn = [score(pairs.dataset(count, seed + repeat)) for repeat in range(repeats)]
    return {name: np.stack([each[name] for each in drawn]) for name in drawn[0]}


def accuracies(pairs: Pairs, scores: ScoresByMetric, weights: Draws, ties: str = "half") -> list[Accuracy]:
    """From scores [draws, 2 * pairs] by metric; intervals are from the `weights` of `image_draws`."""
    outcomes = {name: _Outcome.of(pairs, name, values, ties) for name, values in scores.items()}
    found = _shares(pairs, [(outcome, outcome.known) for outcome in outcomes.values()], weights)
    return [_accuracy(pairs, name, scores[name], outcomes[name].known, *each) for name, each in zip(outcomes, found)]


def _accuracy(
    pairs: Pairs, name: str, scores: Array, known: Flags, per_draw: ByCategory, resampled: ByCategory
) -> Accuracy:
    estimates, spread = {}, {}
    for key, values in per_draw.items():
        estimates[key] = Estimate(float(values.mean()), *known_interval(resampled[key]))
        spread[key] = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    equal = float((scores[:, 0::2] == scores[:, 1::2])[:, known].sum(axis=1).mean())
    categories = np.array([category.lower() for category in pairs.categories])
    counts = {key: int((known & (categories == key)).sum()) for key in estimates} | {"mean": int(known.sum())}
    return Accuracy(name, counts["mean"], int((~known).sum()), equal, estimates, spread, counts)


class _Outcome(NamedTuple):
    """Whether a metric is right, [draws, pairs], and the pairs that it has scored in every draw."""

    right: Array
    known: Flags

    @classmethod
    def of(cls, pairs: Pairs, name: str, scores: Array, ties: str) -> _Outcome:
        outcome = np.stack([right(pairs, each, ties) for each in scores])
        known: Flags = np.asarray(np.isfinite(outcome).all(axis=0))
        if not known.any():
            raise DataError(f"{name} has scored no pair")
        return cls(outcome, known)


def _shares(
    pairs: Pairs, wanted: Sequence[tuple[_Outcome, Flags]], weights: Draws
) -> Iterator[tuple[ByCategory, ByCategory]]:
    """Percent right on some of the pairs, in each category and in the mean: by draw of references, and by resample.

    The resamples of all that is wanted are counted in one product of matrices, since it takes most of the time; a count
    of pairs, which many share, is in it once.
    """
    counts = _Resampled(numbered(pairs.images), weights)
    categories = {name.lower(): np.array(pairs.categories) == name for name in sorted(set(pairs.categories))}
    rows: list[dict[str, tuple[Flags, int, int]]] = []
    for outcome, chosen in wanted:
        parts = {key: mine & chosen for key, mine in categories.items()}
        if pairs.mean_of == "pairs":
            parts["mean"] = chosen
        # A pair counts in halves for each draw: whole numbers, whose sums are exact in any order.
        halves = np.rint(2 * np.where(chosen, outcome.right, 0).sum(axis=0))
        rows.append({key: (part, counts.of(np.where(part, halves, 0)), counts.of(part)) for key, part in parts.items()})
    counted = counts.counted()
    for (outcome, _), parts_of in zip(wanted, rows):
        per_draw, resampled = {}, {}
        for key, (part, hits, count) in parts_of.items():
            if not part.any():  # the metric has scored none of these pairs
                per_draw[key] = np.full(len(outcome.right), np.nan)
                resampled[key] = np.full(len(weights), np.nan)
                continue
            per_draw[key] = 100 * outcome.right[:, part].mean(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                resampled[key] = 100 * (counted[hits] / (2 * len(outcome.right))) / counted[count]
        if pairs.mean_of == "categories":
            _add_mean_of_categories(per_draw, resampled)
        yield per_draw, resampled


def _add_mean_of_categories(per_draw: ByCategory, resampled: ByCategory) -> None:
    per_draw["mean"] = np.mean(list(per_draw.values()), axis=0)
    # A resample may draw no image of a small category: its mean is that of the others, else only resamples with many
    # pairs of that category would count. Where the metric lacks a category there is no mean at all.
    several = np.stack(list(resampled.values()))
    count = np.isfinite(several).sum(axis=0)
    mean = np.nansum(several, axis=0) / np.maximum(count, 1)
    resampled["mean"] = np.where((count > 0) & np.isfinite(per_draw["mean"]).all(), mean, np.nan)


class _Resampled:
    """Sums over pairs in each resample, all of them asked for first and then computed at once."""

    def __init__(self, group: Ints, weights: Draws) -> None:
        self._group, self._weights = group, weights
        self._columns: list[Array] = []
        self._places: dict[bytes, int] = {}

    def of(self, values: Array | Flags) -> int:
        """The place of the sum of a number for each pair."""
        column = np.bincount(self._group, values, minlength=self._weights.shape[1]).astype(np.float64)
        place = self._places.setdefault(column.tobytes(), len(self._columns))
        if place == len(self._columns):
            self._columns.append(column)
        return place

    def counted(self) -> Array:
        """[sums, resamples]"""
        return np.ascontiguousarray((self._weights @ np.stack(self._columns, axis=1)).T)


def pairwise_p(pairs: Pairs, scores: ScoresByMetric, weights: Draws, ties: str = "half") -> Array:
    """P-value of equal mean accuracy for each two metrics, by paired bootstrap over images, corrected by Holm.

    Two metrics are compared on the pairs that both have scored, however few a third one has.
    """
    outcomes = [_Outcome.of(pairs, name, values, ties) for name, values in scores.items()]
    compared = [(a, b, outcomes[a].known & outcomes[b].known) for a, b in combinations(range(len(outcomes)), 2)]
    wanted = {(each, common.tobytes()): (outcomes[each], common) for *both, common in compared for each in both}
    means = {key: found[1]["mean"] for key, found in zip(wanted, _shares(pairs, list(wanted.values()), weights))}
    p_values = [
        bootstrap_p(np.asarray(means[a, common.tobytes()] - means[b, common.tobytes()])) for a, b, common in compared
    ]
    return holm_matrix(len(outcomes), p_values)


@dataclass(frozen=True)
class AgainstReferences:
    """The accuracy with each of some numbers of references."""

    counts: Sequence[int]
    curves: Mapping[str, Mapping[str, list[float]]]
    """By category in lower case, and `mean`: by metric the accuracy in percent for each of the counts."""
    lost: Mapping[str, Estimate]
    """By metric, what the mean accuracy loses from the most references to the fewest."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        categories = {key: curves for key, curves in self.curves.items() if key != "mean"}
        lost = {name: {"value": each.value, "low": each.low, "high": each.high} for name, each in self.lost.items()}
        return {"counts": list(self.counts), "mean": self.curves["mean"], "categories": categories, "lost": lost}


def against_references(
    pairs: Pairs,
    score: Score,
    counts: Sequence[int],
    weights: Draws,
    *,
    repeats: int = 5,
    ties: str = "half",
    seed: int = 0,
) -> AgainstReferences:
    """The accuracy of each metric with each number of references; the `weights` of `image_draws` give the interval of
    what is lost, each image with all its references and with few in the same resample."""
    curves: dict[str, dict[str, list[float]]] = {}
    means: dict[str, dict[int, tuple[float, Array]]] = {}
    for count in counts:
        for name, values in draw_scores(pairs, score, count, repeats, seed).items():
            outcome = _Outcome.of(pairs, name, values, ties)
            per_draw, resampled = next(_shares(pairs, [(outcome, outcome.known)], weights))
            for key, accuracy in per_draw.items():
                curves.setdefault(key, {}).setdefault(name, []).append(float(accuracy.mean()))
            means.setdefault(name, {})[count] = float(per_draw["mean"].mean()), resampled["mean"]
    fewest, most = min(counts), max(counts)
    lost = {}
    for name, found in means.items():
        (few, few_drawn), (many, many_drawn) = found[fewest], found[most]
        lost[name] = Estimate(many - few, *known_interval(many_drawn - few_drawn))
    return AgainstReferences(counts, curves, lost)
