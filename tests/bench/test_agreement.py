"""Tests between metrics, accuracies of pairs, and the closer looks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from capeval.bench import Pairs, Ratings, Systems
from capeval.bench.accuracy import accuracies, against_references, draw_scores, pairwise_p, right
from capeval.bench.agreement import (
    agree,
    agree_systems,
    between_metrics,
    bootstrap_p,
    holm,
    williams,
    williams_p,
)
from capeval.bench.agreement import pairwise_p as rating_p
from capeval.bench.analysis import by_grade, rank_mapped_errors
from capeval.bench.combining import Measured, best_combinations
from capeval.bench.correlation import kendall_c
from capeval.bench.draws import image_draws
from capeval.errors import CapevalError
from capeval.types import Array, Dataset


def ratings_of(human: Array, images: int = 20) -> Ratings:
    n = len(human)
    ids = [str(i) for i in range(n)]
    dataset = Dataset(ids, [f"image{i % images}" for i in range(n)], ["a"] * n, [("a",)] * n, range(n))
    return Ratings(dataset, human)


@pytest.fixture
def made() -> tuple[Ratings, dict[str, Array]]:
    """120 captions with three judgements each, and metrics from good to useless."""
    random = np.random.default_rng(1)
    quality = random.normal(size=120)
    human = np.clip(np.round(2.5 + quality[:, None] + random.normal(size=(120, 3)) / 2), 1, 4)
    noise = {"good": 0.3, "fair": 1.0, "poor": 4.0}
    return ratings_of(human), {name: quality + size * random.normal(size=120) for name, size in noise.items()}


def test_agreement_counts_every_judgement(made: tuple[Ratings, dict[str, Array]]) -> None:
    ratings, scores = made
    found = agree(ratings, scores, image_draws(ratings.dataset.images, 200, 0))
    assert [each.rows for each in found] == [360] * 3
    taus = [each.estimates["kendall_c"] for each in found]
    assert taus[0].value > taus[1].value > taus[2].value
    assert all(each.low < each.value < each.high for each in taus)
    assert found[0].with_mean["pearson"] > found[0].estimates["pearson"].value
    assert taus[0].p < 1e-6


def test_rows_without_a_score_are_left_out_and_counted(made: tuple[Ratings, dict[str, Array]]) -> None:
    ratings, scores = made
    scores["good"][:10] = np.nan
    (found,) = agree(ratings, {"good": scores["good"]}, image_draws(ratings.dataset.images, 10, 0))
    assert (found.rows, found.left_out) == (330, 30)


def test_pairwise_p(made: tuple[Ratings, dict[str, Array]]) -> None:
    ratings, scores = made
    scores = {**scores, "again": scores["good"] * 2}
    weights = image_draws(ratings.dataset.images, 999, 0)
    p = rating_p(ratings, scores, agree(ratings, scores, weights), weights)
    assert p[0, 1] < 0.05
    assert p[0, 2] < 0.05
    assert p[0, 3] == 1
    np.testing.assert_array_equal(p, p.T)


def test_a_metric_of_few_rows_does_not_blunt_the_others(made: tuple[Ratings, dict[str, Array]]) -> None:
    ratings, scores = made
    few = np.where(np.arange(120) < 6, scores["good"], np.nan)
    weights = image_draws(ratings.dataset.images, 999, 0)

    def smallest(given: dict[str, Array]) -> float:
        return float(rating_p(ratings, given, agree(ratings, given, weights), weights)[0, 1])

    two = {name: scores[name] for name in ("good", "poor")}
    assert smallest(two) == 2 / 1000
    assert smallest(two | {"few": few}) == 3 * 2 / 1000, "only Holm's factor grows"


def test_bootstrap_p_is_never_zero() -> None:
    assert bootstrap_p(np.full(99, 0.5)) == 2 / 100
    assert bootstrap_p(np.zeros(99)) == 1
    assert bootstrap_p(np.full(99, np.nan)) == 1


def test_holm() -> None:
    # Sorted .01 .02 .03 .04, times 4, 3, 2, 1: .04 .06 .06 .04, and never below the one before.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_williams_by_its_determinant() -> None:
    """Steiger's (1980) form: K is the determinant of the correlation matrix."""
    r12, r13, r23, n = 0.55, 0.42, 0.7, 103
    matrix = np.array([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])
    mean = (r12 + r13) / 2
    below = 2 * (n - 1) / (n - 3) * np.linalg.det(matrix) + mean**2 * (1 - r23) ** 3
    expected = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)
    t, p = williams(r12, r13, r23, n)
    assert t == pytest.approx(expected)
    assert t == pytest.approx(-williams(r13, r12, r23, n)[0])
    # Beyond 100 degrees of freedom Student's tail is a little above the normal one.
    assert math.erfc(t / math.sqrt(2)) < p < 1.2 * math.erfc(t / math.sqrt(2))


def test_williams_finds_what_simulation_finds() -> None:
    """Where both correlations are truly equal, p is uniform: 5 % of samples are below .05."""
    random = np.random.default_rng(4)
    root = np.linalg.cholesky([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]])
    below = 0
    for _ in range(2000):
        r = np.corrcoef(root @ random.normal(size=(3, 30)))
        below += williams(r[0, 1], r[0, 2], r[1, 2], 30)[1] < 0.05
    assert below / 2000 == pytest.approx(0.05, abs=0.015)


def test_williams_matrix(made: tuple[Ratings, dict[str, Array]]) -> None:
    ratings, scores = made
    p = williams_p(ratings, {**scores, "again": scores["good"]})
    assert p[0, 2] < 0.001
    assert p[0, 3] == 1
    assert (np.diag(p) == 1).all()


def test_between_metrics(made: tuple[Ratings, dict[str, Array]]) -> None:
    r = between_metrics({**made[1], "upside down": -made[1]["good"]})
    assert r[0, 3] == pytest.approx(-1)
    assert r[0, 1] > r[0, 2]


def test_best_combination() -> None:
    random = np.random.default_rng(8)
    a, b, c = random.normal(size=(3, 300))
    ratings = ratings_of((a + b)[:, None])
    best = best_combinations(ratings, {"a": a, "b": 100 * b, "c": c}, size=3)
    assert best[0].metrics == ("a", "b")
    assert len(best) == 7
    assert all(math.isnan(each.low) and math.isnan(each.chosen) for each in best)


def test_a_combination_is_chosen_elsewhere_and_measured_here_with_the_scale_it_was_chosen_with() -> None:
    random = np.random.default_rng(8)
    there, here = random.normal(size=(2, 3, 300))
    elsewhere = Measured(ratings_of((there[0] + there[1])[:, None]), dict(zip("abc", there)))
    ratings = ratings_of((here[1] + here[2])[:, None])
    scores = dict(zip("abc", here)) | {"only here": here[0]}
    weights = image_draws(ratings.dataset.images, 50, 0)
    best = best_combinations(ratings, scores, size=9, chosen_on=elsewhere, weights=weights)
    assert len(best) == 7
    assert best[0].metrics == ("a", "b")
    assert best[0].chosen > 0.9 > 0.6 > best[0].value  # the best there, and not here
    assert best[0].low < best[0].value < best[0].high
    spread = {name: np.ptp(values) for name, values in zip("abc", there)}
    total = here[0] / spread["a"] + here[1] / spread["b"]
    assert best[0].value == pytest.approx(kendall_c(total, ratings.human[:, 0]).value)
    singles = [each for each in best if len(each.metrics) == 1]
    assert [math.isnan(each.p_williams) for each in singles] == [True, False, False]
    r = np.corrcoef([ratings.human[:, 0], total, here["abc".index(singles[0].metrics[0])]])
    assert type(best[0].p_williams) is float  # as JSON takes it
    assert best[0].p_williams == pytest.approx(williams(r[0, 1], r[0, 2], r[1, 2], 300)[1])


def test_too_many_combinations_are_refused() -> None:
    values = np.arange(30.0)
    with pytest.raises(CapevalError, match="1,048,575 combinations are too many"):
        best_combinations(ratings_of(values[:, None]), {str(i): values for i in range(20)}, size=99)


def test_scores_by_grade() -> None:
    ratings = ratings_of(np.array([[1.0], [1], [2], [2], [2]]))
    found = by_grade(ratings, np.array([0.0, 1, 2, 3, 4]))
    assert found[1.0] == (2, 0.5, [0, 0.25, 0.5, 0.75, 1])
    assert found[2.0].quantiles == [2, 2.5, 3, 3.5, 4]


def test_rank_mapped_errors() -> None:
    ratings = ratings_of(np.array([[1.0], [1], [3], [5]]))
    np.testing.assert_allclose(rank_mapped_errors(ratings, np.array([0.1, 0.2, 0.3, 0.4])), 0)
    # The other way round the best gets 1 and the worst gets 5.
    np.testing.assert_allclose(rank_mapped_errors(ratings, np.array([4.0, 3, 2, 1])), [4, 2, -2, -4])
    # All the same: everybody gets the mean grade.
    np.testing.assert_allclose(rank_mapped_errors(ratings, np.zeros(4)), [1.5, 1.5, -0.5, -2.5])


@pytest.fixture
def pairs() -> Pairs:
    references = tuple(f"reference {i}" for i in range(6))
    return Pairs(
        ["HC-1", "HC-2", "MM-1", "MM-2"],
        ["one", "two", "one", "two"],
        ["a", "b", "c", "d"],
        ["e", "f", "g", "h"],
        [references] * 4,
        np.array([True, False, True, False]),
        ["HC", "HC", "MM", "MM"],
        drawn=2,
    )


def test_right_and_wrong(pairs: Pairs) -> None:
    scores = np.array([2.0, 1, 2, 1, 1, 1, np.nan, 1])
    np.testing.assert_array_equal(right(pairs, scores), [1, 0, 0.5, np.nan])
    np.testing.assert_array_equal(right(pairs, scores, "wrong"), [1, 0, 0, np.nan])
    np.testing.assert_array_equal(right(pairs, scores, "right"), [1, 0, 1, np.nan])


def test_accuracy_by_category(pairs: Pairs) -> None:
    scores = {"m": np.array([[2.0, 1, 2, 1, 1, 1, 0, 1], [2.0, 1, 1, 2, 1, 1, 0, 1]])}
    (found,) = accuracies(pairs, scores, image_draws(pairs.images, 50, 0))
    assert {key: each.value for key, each in found.estimates.items()} == {"hc": 75, "mm": 75, "mean": 75}
    assert found.spread["hc"] == pytest.approx(np.std([50, 100], ddof=1))
    assert found.spread["mm"] == 0
    assert (found.rows, found.left_out, found.ties) == (4, 0, 1)
    assert found.estimates["mean"].low <= 75 <= found.estimates["mean"].high


def test_the_mean_lies_in_its_interval_where_a_category_is_small() -> None:
    """Most resamples draw no image of the small category, in which the metric is always wrong."""
    count = 40
    pairs = Pairs(
        [f"{i}" for i in range(count)],
        [f"image {i}" for i in range(count)],
        ["a"] * count,
        ["b"] * count,
        [("r",)] * count,
        np.ones(count, bool),
        ["few"] + ["many"] * (count - 1),
        mean_of="categories",
    )
    scores = np.tile([2.0, 1.0], count)[None]
    scores[0, :2] = 1, 2
    (found,) = accuracies(pairs, {"m": scores}, image_draws(pairs.images, 200, 0))
    mean = found.estimates["mean"]
    assert mean.value == 50
    assert mean.low <= mean.value < mean.high == 100


def test_draws_of_references(pairs: Pairs) -> None:
    dataset = pairs.dataset(2, seed=0)
    assert dataset.ids[:3] == ["HC-1-1", "HC-1-2", "HC-2-1"]
    assert dataset.candidates == ["a", "e", "b", "f", "c", "g", "d", "h"]
    assert {len(row.references) for row in dataset} == {2}
    assert dataset[0].references == dataset[1].references
    assert [row.references for row in dataset] == [row.references for row in pairs.dataset(2, seed=0)]
    assert [row.references for row in dataset] != [row.references for row in pairs.dataset(2, seed=1)]
    assert {len(row.references) for row in pairs.dataset()} == {6}


def test_scores_of_every_draw(pairs: Pairs) -> None:
    def count(dataset: Dataset) -> dict[str, Array]:
        return {"count": np.array([len(row.references) for row in dataset], float)}

    assert draw_scores(pairs, count, 2, 3, 0)["count"].shape == (3, 8)
    assert draw_scores(pairs, count, None, 3, 0)["count"].tolist() == [[6.0] * 8]
    found = against_references(pairs, count, [1, 6], image_draws(pairs.images, 20, 0))
    assert found.curves["mean"] == {"count": [50, 50]}  # every pair is a tie
    assert found.lost["count"].value == 0


def test_what_few_references_cost(pairs: Pairs) -> None:
    """A metric that is always right with all references and, with one, wrong in the category MM."""

    def needs_many(dataset: Dataset) -> dict[str, Array]:
        best = np.repeat(pairs.first_wins, 2) == (np.arange(len(dataset)) % 2 == 0)
        few = np.array([len(row.references) == 1 for row in dataset])
        fails = np.repeat([name == "MM" for name in pairs.categories], 2)
        return {"needs": np.where(few & fails, ~best, best).astype(float), "free": best.astype(float)}

    found = against_references(pairs, needs_many, [6, 1], image_draws(pairs.images, 50, 0), repeats=2)
    assert found.to_dict() == {
        "counts": [6, 1],
        "mean": {"needs": [100, 50], "free": [100, 100]},
        "categories": {
            "hc": {"needs": [100, 100], "free": [100, 100]},
            "mm": {"needs": [100, 0], "free": [100, 100]},
        },
        "lost": {"needs": {"value": 50, "low": 50, "high": 50}, "free": {"value": 0, "low": 0, "high": 0}},
    }


def test_metrics_that_share_no_row_do_not_correlate() -> None:
    found = between_metrics({"x": np.array([1.0, 2, np.nan]), "y": np.array([np.nan, np.nan, 1.0])})
    np.testing.assert_array_equal(found, [[1, np.nan], [np.nan, 1]])


def test_a_category_without_any_score(pairs: Pairs) -> None:
    """Numbers that do not exist are NaN, and nothing warns."""
    lost = [place for place, name in enumerate(pairs.categories) if name == pairs.categories[0]]
    scores = np.arange(2.0 * len(pairs.ids))[None]
    scores[0, [2 * place for place in lost]] = np.nan
    (found,) = accuracies(pairs, {"x": scores}, image_draws(pairs.images, 20, 0))
    assert found.left_out == len(lost)
    assert np.isnan(found.estimates[pairs.categories[0].lower()]).all()
    assert found.estimates["mean"].value == np.nanmean([found.estimates["hc"].value, found.estimates["mm"].value])
    alike = replace(pairs, mean_of="categories")
    (found,) = accuracies(alike, {"x": scores}, image_draws(pairs.images, 20, 0))
    assert np.isnan(found.estimates["mean"].value)


def test_pairwise_p_of_accuracies(pairs: Pairs) -> None:
    perfect = np.array([[2.0, 1, 1, 2, 2, 1, 1, 2]])
    p = pairwise_p(pairs, {"right": perfect, "wrong": -perfect, "same": perfect}, image_draws(pairs.images, 99, 0))
    assert p[0, 1] == pytest.approx(3 * 2 / 100)
    assert p[0, 2] == 1
    one = np.where(np.arange(8) < 2, perfect, np.nan)
    p = pairwise_p(pairs, {"right": perfect, "wrong": -perfect, "one": one}, image_draws(pairs.images, 99, 0))
    assert p[0, 1] == pytest.approx(3 * 2 / 100), "compared on all pairs, though a third metric has one only"


def test_systems() -> None:
    systems = Systems(list("abcde"), {"m1": np.array([1.0, 2, 3, 4, 5])}, {})
    found = agree_systems(systems, {"x": np.array([1.0, 2, np.nan, 4, 5])}, resamples=50)["x"]["m1"]
    assert (found.rows, found.left_out) == (4, 1)
    assert found.estimates["kendall_b"].value == 1
    assert found.estimates["kendall_b"].p == pytest.approx(2 / 24)
