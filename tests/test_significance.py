"""Intervals and p-values against plain definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.evaluate import evaluate
from capeval.metrics.bleu import Bleu
from capeval.metrics.rouge import Rouge
from capeval.registry import parse
from capeval.significance import bootstrap_scores, compare, interval
from capeval.types import Array, Dataset, Metric


def perfect(rows: int) -> Array:
    """Statistics of captions whose ROUGE-L is 1."""
    return np.ones((rows, 2))


def hopeless(rows: int) -> Array:
    return np.zeros((rows, 2))


def naive_bootstrap(metric: Metric, stats: Array, images: Any, resamples: int, seed: int) -> Array:
    """Draws images one by one and scores all their rows again."""
    total = int(images.max()) + 1
    generator = np.random.default_rng([seed, 0])
    scores = []
    for _ in range(resamples):
        drawn = generator.integers(0, total, total)
        rows = np.concatenate([np.flatnonzero(images == image) for image in drawn])
        scores.append(metric.corpus_score(stats[rows]))
    return np.array(scores)


@pytest.mark.parametrize("expression", ["bleu", "bleu(sentence=true)", "rouge", "cider_d"])
@pytest.mark.parametrize("resamples", [1, 32, 75])
def test_bootstrap_equals_naive_resampling(small: Dataset, expression: str, resamples: int) -> None:
    metric = parse(expression).metric
    stats = evaluate(small, [metric]).scored[0].stats
    images = np.array([0, 1, 2, 3, 4, 5] * 2)  # two captions an image, drawn together
    (fast,) = bootstrap_scores(metric, [stats], [images], resamples, 3)
    naive = naive_bootstrap(metric, stats, images, resamples, 3)
    np.testing.assert_allclose(fast, naive, rtol=0, atol=1e-12)
    np.testing.assert_allclose(interval(fast, 0.9), np.quantile(naive, [0.05, 0.95], axis=0), rtol=0, atol=1e-12)


def test_two_systems_are_drawn_together() -> None:
    stats = np.random.default_rng(0).random((30, 2))
    one, other = bootstrap_scores(Rouge(), [stats, stats], [np.arange(30)] * 2, 50, 0)
    np.testing.assert_array_equal(one, other)


def test_seed_0_is_a_seed() -> None:
    stats, images = np.random.default_rng(0).random((30, 2)), np.arange(30)

    def drawn(seed: int) -> Array:
        return bootstrap_scores(Rouge(), [stats], [images], 10, seed)[0]

    np.testing.assert_array_equal(drawn(0), drawn(0))
    assert not np.array_equal(drawn(0), drawn(1))


def test_a_comparison_depends_on_nothing_but_its_seed(small: Dataset) -> None:
    stats, images = evaluate(small, ["bleu"]).scored[0].stats, np.arange(6)
    one, again, other = (compare(Bleu(), stats[:6], stats[6:], images, resamples=50, seed=s) for s in (0, 0, 1))
    assert one == again
    assert [each.low for each in one] != [each.low for each in other]
    assert [each.difference for each in one] == [each.difference for each in other]


def exact_permutation(metric: Metric, a: Array, b: Array, images: Any) -> Array:
    """The share of all ways to swap whole images whose difference is at least as large."""
    observed = np.abs(metric.corpus_score(a) - metric.corpus_score(b))
    as_large = []
    for swap in itertools.product([False, True], repeat=int(images.max()) + 1):
        swapped = np.array(swap)[images][:, None]
        gap = metric.corpus_score(np.where(swapped, b, a)) - metric.corpus_score(np.where(swapped, a, b))
        as_large.append(np.abs(gap) >= observed - 1e-12)
    return np.mean(as_large, axis=0)


@pytest.mark.parametrize("expression", ["bleu", "rouge"])
def test_permutation_against_all_permutations(small: Dataset, expression: str) -> None:
    metric = parse(expression).metric
    stats = evaluate(small, [metric]).scored[0].stats
    images = np.arange(6)
    found = compare(metric, stats[:6], stats[6:], images, resamples=20_000)
    exact = exact_permutation(metric, stats[:6], stats[6:], images)
    # The standard error of a share from 20,000 draws is at most 0.0036.
    assert [each.p_permutation for each in found] == pytest.approx(exact.tolist(), abs=0.015)


def test_captions_of_one_image_are_swapped_together() -> None:
    # All of 4 images better: 2 of 16 ways to swap them are as extreme, however many captions each has.
    for each in (1, 5):
        images = np.repeat(np.arange(4), each)
        (found,) = compare(Rouge(), perfect(4 * each), hopeless(4 * each), images, resamples=20_000)
        assert found.p_permutation == pytest.approx(2 / 16, abs=0.01)


def test_equal_systems(small: Dataset) -> None:
    stats = evaluate(small[:6], ["bleu"]).scored[0].stats
    for found in compare(Bleu(), stats, stats, np.arange(6), resamples=100):
        assert (found.difference, found.low, found.high) == (0, 0, 0)
        assert (found.p_bootstrap, found.p_permutation) == (1, 1)


def test_a_clear_difference() -> None:
    (found,) = compare(Rouge(), perfect(40), hopeless(40), np.arange(40), resamples=999)
    assert (found.a, found.b, found.difference, found.low, found.high) == (1, 0, 1, 1, 1)
    # The observed case counts, so no p-value is 0: (0 + 1) / (999 + 1), on both sides for the bootstrap.
    assert found.p_permutation == pytest.approx(0.001)
    assert found.p_bootstrap == pytest.approx(0.002)


def test_sides_are_exchangeable(small: Dataset) -> None:
    stats, images = evaluate(small, ["rouge"]).scored[0].stats, np.arange(6)
    (one,) = compare(Rouge(), stats[:6], stats[6:], images, resamples=200)
    (other,) = compare(Rouge(), stats[6:], stats[:6], images, resamples=200)
    assert (other.a, other.b, other.difference) == (one.b, one.a, -one.difference)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert (other.p_bootstrap, other.p_permutation) == (one.p_bootstrap, one.p_permutation)


def test_p_values_are_fair_when_there_is_nothing_to_find() -> None:
    """With two systems that are the same by chance, p falls under 0.2 in about a fifth of the cases."""
    generator = np.random.default_rng(0)
    small_p = 0
    for _ in range(200):
        a, b = (np.repeat(generator.random((30, 1)), 2, axis=1) for _ in range(2))
        small_p += compare(Rouge(), a, b, np.arange(30), resamples=99)[0].p_permutation <= 0.2
    assert 20 <= small_p <= 62


def test_compare_pairs_rows_by_id() -> None:
    references = {"1": ["a dog"], "2": ["a cat"], "3": ["a bird"]}
    a = {"1": "a dog", "2": "a cat", "3": "x"}
    b = {"3": "a bird", "2": "x", "1": "x"}
    found = capeval.compare(a, b, references, ["rouge_l"], resamples=10)
    assert found.n == 3
    assert found.comparisons["rouge_l"].a == pytest.approx(2 / 3)
    assert found.comparisons["rouge_l"].b == pytest.approx(1 / 3)
    assert list(found.to_dict()) == ["schema", "n", "comparisons", "signatures"]


@pytest.mark.parametrize(
    ("b", "message"),
    [
        ([{"image_id": 1, "caption": "x"}], "1 caption of candidates not there to compare with"),
        ([{"image_id": i, "caption": "x"} for i in (1, 2, 3)], "1 caption not in"),
        ([{"image_id": 2, "id": 1, "caption": "x"}, {"image_id": 1, "id": 2, "caption": "x"}], "another image"),
        ([{"image_id": 1, "caption": "x", "system": s} for s in "st"], "one system a file"),
    ],
)
def test_systems_that_cannot_be_compared(b: Any, message: str) -> None:
    a = [{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat"}]
    references = {1: ["a dog"], 2: ["a cat"], 3: ["a bird"]}
    with pytest.raises(capeval.DataError, match=message):
        capeval.compare(a, b, references, ["rouge"], resamples=10)


def test_scores_that_are_not_defined() -> None:
    low, high = interval(np.array([[np.nan, 1.0], [np.nan, np.nan], [np.nan, 3.0]]), 0.5)
    np.testing.assert_array_equal(low, [np.nan, 1.5])
    np.testing.assert_array_equal(high, [np.nan, 2.5])
    captions, references = ["a dog", "a cat"], [["a dog"], ["a cat"]]
    found = capeval.compare(captions, captions, references, ["spice_fast_color"], resamples=20).to_dict()
    assert set(found["comparisons"]["spice_fast_color"].values()) == {None}  # no reference has a colour
