"""What a report shows beside the numbers: how scores lie in each grade, how far they err, and where they err most.

All of it is small, whatever the size of the benchmark: shares in bins, and a few captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from capeval.bench.agreement import judged_rows, on_common_rows
from capeval.bench.analysis import rank_mapped_errors
from capeval.bench.forms import ScoresByMetric
from capeval.types import Array, Ints

if TYPE_CHECKING:
    from capeval.bench.pairs import Pairs
    from capeval.bench.ratings import Ratings

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_BINS = 24
_MOST_GRADES = 8
_EACH_WAY = 2
_AGREED = 1e-9
"""Grades that are as close as this are the same."""
_REFERENCES = 5
_ALL = "mean of all metrics"
_FAR = 1.25
"""Numbers are far above the others if they make the axis longer by this factor."""


def details_of_ratings(ratings: Ratings, scores: ScoresByMetric) -> dict[str, Any]:
    return {
        "distributions": {name: _distribution(ratings, values) for name, values in scores.items()},
        "errors": {name: _errors(ratings, values) for name, values in scores.items()},
        "examples": _examples_of_ratings(ratings, scores),
    }


def details_of_pairs(pairs: Pairs, scores: ScoresByMetric) -> dict[str, Any]:
    return {"examples": _examples_of_pairs(pairs, scores)}


def shape(values: Array, low: float, high: float, bins: int = _BINS) -> dict[str, Any]:
    """How some numbers lie; those beyond `low` and `high` are in the first and the last bin, so that all are in one."""
    counts = np.histogram(np.clip(values, low, high), bins, (low, high))[0]
    return {
        "rows": len(values),
        "mean": float(values.mean()),
        "quantiles": np.quantile(values, QUANTILES).tolist(),
        "shares": np.round(counts / max(1, len(values)), 5).tolist(),
    }


def limits(values: Array, most: float = 0.995) -> tuple[float, float]:
    """From the lowest to the highest, or where a few are far above all others, which must not flatten the rest, to
    nearly the highest."""
    low, high, highest = float(values.min()), float(np.quantile(values, most)), float(values.max())
    if high > low and highest - low > _FAR * (high - low):
        return low, high
    return low, max(highest, low + 1e-9 + abs(low) * 1e-6)


def _distribution(ratings: Ratings, scores: Array) -> dict[str, Any]:
    rows = judged_rows(ratings, scores)
    labels, group = _grades(rows.human)
    low = float(rows.score.min())
    high = max(limits(rows.score[group == i], 0.98)[1] for i in range(len(labels)))
    grades = [{"grade": label} | shape(rows.score[group == i], low, high) for i, label in enumerate(labels)]
    return {"low": low, "high": high, "open": bool(rows.score.max() > high), "grades": grades}


def _grades(human: Array) -> tuple[list[str], Ints]:
    """A name for each grade and the grade of each row; many different grades are put together in five ranges."""
    distinct, group = np.unique(human, return_inverse=True)
    if len(distinct) <= _MOST_GRADES:
        return [f"{each:.3g}" for each in distinct.tolist()], group.astype(np.int32)
    edges = np.linspace(distinct[0], distinct[-1], 6)
    ranges = np.searchsorted(edges[1:-1], human, side="left").astype(np.int32)
    names = [f"{a:.2g} to {b:.2g}" for a, b in pairwise(edges.tolist())]
    present = np.unique(ranges)
    return [names[i] for i in present.tolist()], np.searchsorted(present, ranges).astype(np.int32)


def _errors(ratings: Ratings, scores: Array) -> dict[str, Any]:
    errors = rank_mapped_errors(ratings, scores)
    human = judged_rows(ratings, scores).human
    distinct = np.unique(human)
    reach = max(float(distinct[-1] - distinct[0]), 1e-9)
    # Bins of half a grade where grades are few. Their number is odd: no error at all is the middle of one.
    few = 1 < len(distinct) <= _MOST_GRADES
    bins = 1 + 2 * round(2 * reach / float(np.diff(distinct).min())) if few else _BINS + 1
    edge = reach * bins / (bins - 1)
    found = shape(errors, -edge, edge, bins)
    found |= {"differences": _differences(errors, distinct)} if few else {}
    return {"low": -edge, "high": edge, "mean_absolute": float(np.abs(errors).mean())} | found


def _differences(errors: Array, grades: Array) -> dict[str, float]:
    """The share of judgements that the metric is so many grades above people, in whole grades; none where the grades
    are not equally far from each other."""
    steps = np.diff(grades)
    if not np.allclose(steps, steps[0]):
        return {}
    # Equal scores share a mean grade: half a grade off is not yet off.
    whole = (np.sign(errors) * np.ceil(np.abs(errors) / steps[0] - 0.5 - 1e-9)).astype(int)
    reach = len(steps)
    return {f"{off:+d}" if off else "0": float((whole == off).mean()) for off in range(-reach, reach + 1)}


def _examples_of_ratings(ratings: Ratings, scores: ScoresByMetric) -> list[dict[str, Any]]:
    people = np.full(len(ratings.dataset), np.nan)
    judged = np.isfinite(ratings.human).any(axis=1)
    people[judged] = np.nanmean(ratings.human[judged], axis=1)
    mapped = {name: _mapped_grades(ratings, values) for name, values in scores.items()}
    chosen = dict(mapped)
    if len(mapped) > 1:
        shared = on_common_rows(mapped)
        chosen = {_ALL: np.mean(list(shared.values()), axis=0), **mapped}
    found = []
    for name, grades in chosen.items():
        error = grades - people
        for direction, rows in _shown_rows(error, people, ratings.dataset.images).items():
            for row in rows:
                sample = ratings.dataset[row]
                found.append(
                    {
                        "metric": name,
                        "direction": direction,
                        "id": sample.id,
                        "image": sample.image,
                        "caption": sample.candidate,
                        "references": list(sample.references[:_REFERENCES]),
                        "people": float(people[row]),
                        "grade": float(grades[row]),
                        "score": float(scores[name][row]) if name in scores else None,
                    }
                )
    return found


def _shown_rows(error: Array, people: Array, images: Sequence[str]) -> dict[str, list[int]]:
    """Captions that a metric finds better than people do, those that it finds worse, the largest errors first, and
    captions on which both agree: the best one and the worst one of these."""
    agreed = np.where(np.abs(error) <= _AGREED, people, np.nan)
    best, worst = _first_rows(-agreed, images, 1), _first_rows(agreed, images, 1)
    return {
        "above": [row for row in _first_rows(-error, images) if error[row] > _AGREED],
        "below": [row for row in _first_rows(error, images) if error[row] < -_AGREED],
        "equal": list(dict.fromkeys(best + worst)),
    }


def _mapped_grades(ratings: Ratings, scores: Array) -> Array:
    """The metric's grade of each caption on the human scale (`rank_mapped_errors`); NaN where there is none."""
    captions, _ = np.nonzero(np.isfinite(ratings.human) & np.isfinite(scores)[:, None])
    grades = np.full(len(scores), np.nan)
    grades[captions] = rank_mapped_errors(ratings, scores) + judged_rows(ratings, scores).human
    return grades


def _first_rows(order: Array, images: Sequence[str], count: int = _EACH_WAY) -> list[int]:
    """The rows with the lowest numbers, one for each image."""
    rows: list[int] = []
    seen: set[str] = set()
    for row in np.argsort(order, kind="stable").tolist():
        if len(rows) == count or not np.isfinite(order[row]):
            break
        if images[row] not in seen:
            seen.add(images[row])
            rows.append(row)
    return rows


def _examples_of_pairs(pairs: Pairs, scores: ScoresByMetric) -> list[dict[str, Any]]:
    """Pairs where a metric prefers the other caption by most, in the mean over the draws of references."""
    found = []
    for name, values in scores.items():
        first, second = values[:, 0::2].mean(axis=0), values[:, 1::2].mean(axis=0)
        gap = np.where(pairs.first_wins, first - second, second - first)
        for row in _first_rows(gap, pairs.images, 2 * _EACH_WAY):
            if gap[row] >= 0:
                break
            texts, numbers = (pairs.first[row], pairs.second[row]), (float(first[row]), float(second[row]))
            best = 0 if pairs.first_wins[row] else 1
            found.append(
                {
                    "metric": name,
                    "id": pairs.ids[row],
                    "image": pairs.images[row],
                    "category": pairs.categories[row],
                    "caption": texts[best],
                    "other": texts[1 - best],
                    "score": numbers[best],
                    "other_score": numbers[1 - best],
                    "references": list(pairs.references[row][:_REFERENCES]),
                }
            )
    return found
