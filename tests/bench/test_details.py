"""What a benchmark's result holds for its report."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from capeval.bench import Pairs, Ratings, Systems
from capeval.bench.details import limits, shape
from capeval.types import Array, Dataset


def ratings(human: Array, captions: list[str] | None = None) -> Ratings:
    n = len(human)
    texts = captions or [f"caption {i}" for i in range(n)]
    return Ratings(
        Dataset([str(i) for i in range(n)], [f"image{i}" for i in range(n)], texts, [("a",) * 9] * n, range(n)), human
    )


def test_shape() -> None:
    found = shape(np.array([0.0, 0.1, 0.9, 5.0]), 0.0, 1.0, 2)
    assert found["shares"] == [0.5, 0.5]  # what lies beyond is in the last bin
    assert shape(np.array([-5.0, 0.1, 0.9, 0.9]), 0.0, 1.0, 2)["shares"] == [0.5, 0.5]
    assert found["rows"] == 4
    assert found["quantiles"][2] == pytest.approx(0.5)
    low, high = limits(np.full(5, 0.3))
    assert low < high  # bins need a width


def test_only_what_is_far_above_is_beyond_the_limits() -> None:
    even = np.linspace(0.0, 1.0, 101)
    assert limits(even) == (0.0, 1.0)
    assert limits(np.array([0.1, 0.2, 0.3, 0.4])) == (0.1, 0.4)
    low, high = limits(np.append(np.tile(even, 10), 50.0))
    assert low == 0.0
    assert 0.9 < high <= 1.0


def test_the_grades_of_a_benchmark_hold_every_judgement() -> None:
    scores = np.append(np.linspace(0, 1, 399), 90.0)
    found = ratings(np.tile([1.0, 2.0, 3.0, 4.0], 100)[:, None]).details({"x": scores, "y": np.arange(400.0)})
    for name, is_open in (("x", True), ("y", False)):
        each = found["distributions"][name]
        assert each["open"] == is_open
        assert [sum(grade["shares"]) for grade in each["grades"]] == pytest.approx([1.0] * 4, abs=1e-3)


def test_distributions_count_every_judgement() -> None:
    human = np.array([[1.0, 2.0], [2.0, np.nan], [4.0, 4.0]])
    found = ratings(human).details({"x": np.array([0.1, 0.5, 0.9])})["distributions"]["x"]
    assert [(each["grade"], each["rows"]) for each in found["grades"]] == [("1", 1), ("2", 2), ("4", 2)]
    assert found["grades"][1]["mean"] == pytest.approx(0.3)


def test_many_grades_are_put_together() -> None:
    human = np.linspace(0, 1, 50)[:, None]
    grades = ratings(human).details({"x": np.arange(50.0)})["distributions"]["x"]["grades"]
    assert [each["grade"] for each in grades] == ["0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1"]
    assert sum(each["rows"] for each in grades) == 50
    assert [each["rows"] for each in grades] == [10] * 5


def test_errors() -> None:
    human = np.array([[1.0], [2.0], [3.0], [4.0]])
    good, bad = np.arange(4.0), -np.arange(4.0)
    found = ratings(human).details({"good": good, "bad": bad})["errors"]
    assert found["good"]["mean_absolute"] == 0
    assert found["bad"]["mean_absolute"] == 2
    shares = found["good"]["shares"]
    assert shares[len(shares) // 2] == 1  # no error is the middle bin
    assert len(shares) == 13


def test_errors_in_whole_grades() -> None:
    human = np.array([[1.0], [2.0], [3.0], [4.0]])
    found = ratings(human).details({"good": np.arange(4.0), "swaps": np.array([0.0, 2.0, 1.0, 3.0])})["errors"]
    assert list(found["good"]["differences"]) == ["-3", "-2", "-1", "0", "+1", "+2", "+3"]
    assert found["good"]["differences"]["0"] == 1
    assert found["swaps"]["differences"] == {"-3": 0, "-2": 0, "-1": 0.25, "0": 0.5, "+1": 0.25, "+2": 0, "+3": 0}
    # Two captions that score the same have the mean of their grades: half a grade off either is not off.
    tie = ratings(human).details({"x": np.array([0.0, 1.0, 1.0, 2.0])})["errors"]["x"]
    assert tie["mean_absolute"] == 0.25
    assert tie["differences"]["0"] == 1
    thirds = ratings(human / 3).details({"x": -np.arange(4.0)})["errors"]["x"]["differences"]
    assert thirds == {"-3": 0.25, "-2": 0, "-1": 0.25, "0": 0, "+1": 0.25, "+2": 0, "+3": 0.25}
    uneven = ratings(np.array([[1.0], [2.0], [4.0]])).details({"x": np.arange(3.0)})["errors"]["x"]
    assert uneven["differences"] == {}
    many = ratings(np.linspace(0, 1, 50)[:, None]).details({"x": np.arange(50.0)})["errors"]["x"]
    assert "differences" not in many


def test_examples_are_the_largest_errors_and_some_of_agreement() -> None:
    human = np.array([[1.0], [2.0], [3.0], [4.0]])
    scores = {"x": np.array([9.0, 2.0, 3.0, 1.0]), "y": np.array([1.0, 2.0, 3.0, np.nan])}
    found = ratings(human).details(scores)["examples"]

    def of(metric: str) -> list[tuple[str, str, float, float]]:
        return [(e["direction"], e["id"], e["people"], e["grade"]) for e in found if e["metric"] == metric]

    assert of("x") == [
        ("above", "0", 1.0, 4.0),
        ("below", "3", 4.0, 1.0),
        ("equal", "2", 3.0, 3.0),
        ("equal", "1", 2.0, 2.0),
    ]
    assert of("y") == [("equal", "2", 3.0, 3.0), ("equal", "0", 1.0, 1.0)]  # it does not err
    assert all(len(each["references"]) == 5 for each in found)
    assert {each["metric"] for each in found} == {"x", "y", "mean of all metrics"}
    json.dumps(found, allow_nan=False)


def test_captions_of_one_image_are_shown_once() -> None:
    human = np.array([[4.0], [4.0], [1.0]])
    data = Dataset(["0", "1", "2"], ["same"] * 3, ["a", "b", "c"], [("r",)] * 3, range(3))
    found = Ratings(data, human).details({"x": np.array([3.0, 3.0, 1.0])})["examples"]
    assert [(each["direction"], each["id"]) for each in found] == [("equal", "0"), ("equal", "2")]


def test_examples_of_pairs() -> None:
    pairs = Pairs(["p", "q", "r"], ["1", "2", "3"], ["a"] * 3, ["b"] * 3, [("c",)] * 3, np.array([True, False, True]),
                  ["HC"] * 3)  # fmt: skip
    scores = {"x": np.array([[0.1, 0.9, 0.1, 0.9, 0.5, 0.6], [0.1, 0.9, 0.1, 0.9, 0.5, 0.6]])}
    found: list[dict[str, Any]] = pairs.details(scores)["examples"]
    assert [(each["id"], each["caption"], each["other"]) for each in found] == [("p", "a", "b"), ("r", "a", "b")]
    assert found[0]["score"] == pytest.approx(0.1)
    assert found[0]["other_score"] == pytest.approx(0.9)


def test_systems_have_no_details() -> None:
    assert Systems(["a"], {}, {}).details({}) == {}
