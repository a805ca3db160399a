"""The order of metrics, and which of them may be the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from capeval.bench import Part, Ratings, Settings, Systems
from capeval.bench.ranked import ranked
from capeval.bench.scoring import Scorer
from capeval.types import Array, Dataset

SYSTEMS = Systems(list("abc"), {}, {})


def part(values: dict[str, float], scored: dict[str, int] | None = None, **compared: Any) -> Part:
    rows = [
        {"metric": name, "rows": (scored or {}).get(name, 100), "pearson": {"value": value}}
        for name, value in values.items()
    ]
    return Part(SYSTEMS, {}, rows, {"statistic": "pearson", "names": list(values)} | compared)


def test_the_best_come_first_and_those_that_may_be_are_marked() -> None:
    p_values = np.array([[1, 0.2, 0.01], [0.2, 1, 0.049], [0.01, 0.049, 1]])
    found = ranked(part({"low": 0.1, "middle": 0.3, "high": 0.4}, p_bootstrap_holm=p_values)).metrics
    assert [(row["metric"], row["best"]) for row in found] == [("high", True), ("middle", False), ("low", False)]
    found = ranked(part({"a": 0.4, "b": 0.3, "c": 0.1}, p_bootstrap_holm=p_values)).metrics
    assert [row["best"] for row in found] == [True, True, False]


def test_a_metric_with_few_rows_is_neither_the_best_nor_as_good() -> None:
    p_values = np.array([[1, 0.9, 0.9], [0.9, 1, 0.01], [0.9, 0.01, 1]])
    values = {"few": 0.9, "good": 0.4, "bad": 0.1}
    found = ranked(part(values, {"few": 49}, p_bootstrap_holm=p_values)).metrics
    assert [(row["metric"], row["best"]) for row in found] == [("few", False), ("good", True), ("bad", False)]
    found = ranked(part(values, {"few": 50}, p_bootstrap_holm=p_values)).metrics
    assert [row["best"] for row in found] == [True, True, True]


def test_without_tests_nothing_is_marked() -> None:
    found = ranked(part({"none": float("nan"), "b": 0.1})).metrics
    assert [row["metric"] for row in found] == ["b", "none"]
    assert not any("best" in row for row in found)


def test_resamples_are_enough_to_decide() -> None:
    """14 metrics, of which 13 know nothing: with 1,000 resamples none could be told apart from the best."""
    generator = np.random.default_rng(0)
    human = generator.integers(1, 5, (300, 1)).astype(float)
    ids = [str(i) for i in range(300)]
    ratings = Ratings(Dataset(ids, ids, ids, [()] * 300, range(300)), human)

    def metric(number: int) -> Any:
        def score(dataset: Dataset) -> Array:
            return human[:, 0] if number == 3 else np.random.default_rng(number).random(300)

        score.__name__ = f"metric_{number}"
        return score

    found = ranked(ratings.measure(Scorer.of([metric(i) for i in range(14)]), Settings()))
    assert found.comparisons["resamples"] == 10_000
    assert [row["metric"] for row in found.metrics if row["best"]] == ["metric_3"]
