"""Rank correlation in both engines: against counting all pairs, against each other, and against worked examples."""

from __future__ import annotations

import importlib
import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval.bench.correlation import (
    bootstrapped,
    correlations,
    kendall_b,
    kendall_c,
    pearson,
    spearman,
)
from capeval.bench.draws import bootstrap_draws
from capeval.bench.probability import incomplete_beta, kendall_p, normal_p, student_p
from capeval.engine import python
from capeval.engine.ranking import RANK_COLUMNS

try:
    compiled: ModuleType | None = importlib.import_module("capeval.engine._compiled")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="the compiled engine was not built")
ENGINES = [pytest.param(python, id="python"), pytest.param(compiled, id="compiled", marks=needs_compiled)]
both_engines = pytest.mark.parametrize("engine", ENGINES)


def by_counting(x: list[int], y: list[int]) -> dict[str, float]:
    """What the kernel gives, from all pairs of rows and from ranks counted one by one."""
    n = len(x)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in pairs]
    ranks = [[2 * sum(b < a for b in v) + sum(b == a for b in v) + 1 - (n + 1) for a in v] for v in (x, y)]
    return {
        "rows": n,
        "balance": sum(signs),
        "ties_x": sum(x[i] == x[j] for i, j in pairs),
        "ties_y": sum(y[i] == y[j] for i, j in pairs),
        "values_x": len(set(x)),
        "values_y": len(set(y)),
        "product": sum(a * b for a, b in zip(*ranks)),
        "square_x": sum(a * a for a in ranks[0]),
        "square_y": sum(b * b for b in ranks[1]),
    }


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, ...]:
    rows, groups = draw(st.integers(1, 14)), draw(st.integers(1, 4))

    def column(top: int) -> Any:
        return np.array(draw(st.lists(st.integers(0, top), min_size=rows, max_size=rows)), np.int32)

    x, y, group = column(min(3, rows - 1)), column(rows - 1), column(groups - 1)
    resamples = draw(st.integers(0, 3))
    weights = draw(st.lists(st.integers(0, 3), min_size=resamples * groups, max_size=resamples * groups))
    return x, y, group, np.array(weights, np.int32).reshape(resamples, groups)


@both_engines
@settings(max_examples=100)
@given(problem=problems())
def test_kernel_equals_counting_all_pairs(engine: Any, problem: tuple[Any, ...]) -> None:
    x, y, group, weights = problem
    found = engine.rank_stats(x, y, group, weights, 2)
    assert found.shape == (len(weights), len(RANK_COLUMNS))
    for drawn, stats in zip(weights, found):
        rows = [row for row in range(len(x)) for _ in range(drawn[group[row]])]
        expected = by_counting(x[rows].tolist(), y[rows].tolist())
        assert dict(zip(RANK_COLUMNS, stats.tolist())) == expected


@needs_compiled
def test_engines_and_threads_agree_on_many_rows() -> None:
    random = np.random.default_rng(5)
    x, y, group = (random.integers(0, top, 3000).astype(np.int32) for top in (5, 900, 200))
    weights = bootstrap_draws(200, 20, seed=1)
    expected = python.rank_stats(x, y, group, weights, 1)
    for threads in (1, 3):
        np.testing.assert_allclose(compiled.rank_stats(x, y, group, weights, threads), expected, rtol=1e-12)  # type: ignore[union-attr]


@both_engines
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.array([0, 3], np.int32), "x must number"),
        (1, np.array([-1, 0], np.int32), "y must number"),
        (1, np.array([0], np.int32), "differ in length"),
        (2, np.array([0, 9], np.int32), "group must hold"),
        (2, np.array([0, 1]), "group must be a 1-dimensional contiguous array of int32"),
        (3, np.array([[1, -1]], np.int32), "negative"),
        (4, 0, "threads"),
    ],
)
def test_bad_arguments_are_refused(engine: Any, place: int, value: Any, message: str) -> None:
    two = np.array([0, 1], np.int32)
    arguments: list[Any] = [two, two, two, np.ones((1, 2), np.int32), 1]
    arguments[place] = value
    with pytest.raises(ValueError, match=message):
        engine.rank_stats(*arguments)


X = np.array([1, 2, 2, 3, 4, 4, 4, 1, 3, 2], float)
Y = np.array([0.1, 0.4, 0.4, 0.3, 0.9, 0.5, 0.9, 0.2, 0.2, 0.6])


def test_a_worked_example_with_ties(each_engine: str) -> None:
    # Of 45 pairs 8 are tied in x, 3 in y and 2 in both; 29 agree and 7 do not.
    assert kendall_b(X, Y).value == pytest.approx(22 / math.sqrt(37 * 42))
    assert kendall_c(X, Y).value == pytest.approx(2 * 22 * 4 / (100 * 3))
    rank_x = np.array([1.5, 4, 4, 6.5, 9, 9, 9, 1.5, 6.5, 4])
    rank_y = np.array([1, 5.5, 5.5, 4, 9.5, 7, 9.5, 2.5, 2.5, 8])
    assert spearman(X, Y).value == pytest.approx(np.corrcoef(rank_x, rank_y)[0, 1])
    assert pearson(X, Y).value == pytest.approx(np.corrcoef(X, Y)[0, 1])


def test_resampling_equals_repeating_rows(each_engine: str) -> None:
    random = np.random.default_rng(2)
    x, y = random.integers(1, 5, 60).astype(float), random.normal(size=60).round(1)
    group = random.integers(0, 12, 60).astype(np.int32)
    weights = bootstrap_draws(12, 8, seed=3)
    found = bootstrapped(x, y, group, weights)
    for r, drawn in enumerate(weights):
        rows = np.repeat(np.arange(60), drawn[group])
        for name, each in correlations(x[rows], y[rows]).items():
            assert found[name][r] == pytest.approx(each.value, abs=1e-12)


def test_a_variable_that_does_not_vary_has_no_correlation() -> None:
    found = correlations(np.ones(5), np.arange(5.0))
    assert all(math.isnan(each.value) for each in found.values())


def test_kendalls_p_is_exact_for_few_rows() -> None:
    # Of the 24 orders of four things, one has no discordant pair and one has all six.
    assert kendall_p(0, 4) == pytest.approx(2 / 24)
    assert kendall_p(6, 4) == pytest.approx(2 / 24)
    assert kendall_p(1, 4) == pytest.approx(2 * 4 / 24)
    assert kendall_p(3, 4) == 1.0
    assert kendall_b(np.arange(4.0), np.array([0.0, 1.0, 3.0, 2.0])).p == pytest.approx(8 / 24)


def test_kendalls_p_with_ties_equals_shuffling() -> None:
    random = np.random.default_rng(0)
    x, y = np.repeat([1.0, 2.0, 3.0], 15), random.integers(0, 6, 45) + np.repeat([0.0, 0.7, 1.4], 15)
    found = kendall_b(x, y)
    shuffled = np.array([kendall_b(random.permutation(x), y).value for _ in range(2000)])
    assert found.p == pytest.approx((np.abs(shuffled) >= abs(found.value) - 1e-12).mean(), abs=0.02)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # Tables of Student's distribution: two-sided 5 % points.
        (student_p(12.7062, 1), 0.05),
        (student_p(2.228139, 10), 0.05),
        (student_p(2.042272, 30), 0.05),
        (student_p(1.0, 1), 0.5),
        (student_p(0.0, 7), 1.0),
        (student_p(math.inf, 7), 0.0),
        (normal_p(1.959964), 0.05),
        (incomplete_beta(0.3, 2, 5), 1 - sum(math.comb(6, k) * 0.3**k * 0.7 ** (6 - k) for k in (0, 1))),
        (incomplete_beta(0.0, 2, 5), 0.0),
        (incomplete_beta(1.0, 2, 5), 1.0),
    ],
)
def test_tails(found: float, expected: float) -> None:
    assert found == pytest.approx(expected, abs=1e-6)


def test_students_tail_by_integration() -> None:
    for freedom, t in ((3, 0.7), (14, 2.5), (40, 1.1)):
        grid = np.linspace(-t, t, 200_001)
        scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
        inside = scale * (1 + grid**2 / freedom) ** (-(freedom + 1) / 2)
        area = float(((inside[1:] + inside[:-1]) / 2).sum() * (grid[1] - grid[0]))
        assert student_p(t, freedom) == pytest.approx(1 - area, abs=1e-9)
