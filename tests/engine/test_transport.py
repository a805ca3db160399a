"""Optimal transport in both engines: against all possible plans on tiny problems, and against each other."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval.engine import python
from capeval.types import Rows

try:
    compiled: ModuleType | None = importlib.import_module("capeval.engine._compiled")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="the compiled engine was not built")
ENGINES = [pytest.param(python, id="python"), pytest.param(compiled, id="compiled", marks=needs_compiled)]
both_engines = pytest.mark.parametrize("engine", ENGINES)

# Whole numbers make ties, on which a careless solver would run in circles.
COSTS = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0]) | st.floats(0, 10)


@st.composite
def tiny_problems(draw: st.DrawFn, size: int = 3, units: int = 5) -> tuple[Any, Any, Any]:
    total = draw(st.integers(0, units))
    suppliers, customers = draw(st.integers(1, size)), draw(st.integers(1, size))
    cost = draw(st.lists(COSTS, min_size=suppliers * customers, max_size=suppliers * customers))
    supply, demand = draw(shares(total, suppliers)), draw(shares(total, customers))
    return np.array(cost).reshape(suppliers, customers), supply, demand


@st.composite
def shares(draw: st.DrawFn, total: int, parts: int) -> Any:
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=parts - 1, max_size=parts - 1)))
    return np.diff([0, *cuts, total]).astype(np.int64)


def cheapest_by_trying(cost: Any, supply: Any, demand: Any) -> float:
    """The least cost over all plans, unit by unit."""
    units = [i for i, amount in enumerate(supply.tolist()) for _ in range(amount)]

    @cache
    def rest(unit: int, wanted: tuple[int, ...]) -> float:
        if unit == len(units):
            return 0.0
        return min(
            cost[units[unit], j] + rest(unit + 1, (*wanted[:j], wanted[j] - 1, *wanted[j + 1 :]))
            for j in range(len(wanted))
            if wanted[j]
        )

    return rest(0, tuple(demand.tolist()))


def assert_is_plan(flow: Any, supply: Any, demand: Any) -> None:
    assert flow.dtype == np.int64
    assert flow.shape == (len(supply), len(demand))
    assert (flow >= 0).all()
    np.testing.assert_array_equal(flow.sum(axis=1), supply)
    np.testing.assert_array_equal(flow.sum(axis=0), demand)


@both_engines
@settings(deadline=None, max_examples=200)
@given(problem=tiny_problems())
def test_no_plan_is_cheaper(engine: Any, problem: tuple[Any, Any, Any]) -> None:
    cost, supply, demand = problem
    flow = engine.transport(cost, supply, demand)
    assert_is_plan(flow, supply, demand)
    assert (flow * cost).sum() == pytest.approx(cheapest_by_trying(cost, supply, demand), abs=1e-12)


@needs_compiled
@settings(deadline=None, max_examples=100)
@given(problem=tiny_problems(size=12, units=200))
def test_engines_find_equally_cheap_plans(problem: tuple[Any, Any, Any]) -> None:
    cost, supply, demand = problem
    flows = [engine.transport(cost, supply, demand) for engine in (python, compiled)]
    for flow in flows:
        assert_is_plan(flow, supply, demand)
    assert (flows[0] * cost).sum() == pytest.approx((flows[1] * cost).sum(), rel=1e-12, abs=1e-12)


@both_engines
@pytest.mark.parametrize("ties", [True, False])
def test_sixty_words_on_each_side(engine: Any, ties: bool) -> None:
    """A plan is cheapest if prices exist that nobody beats: found here by Bellman and Ford's method."""
    random = np.random.default_rng(1)
    cost = random.integers(0, 4, (60, 60)).astype(float) if ties else random.random((60, 60))
    supply, demand = (random.multinomial(3600, np.full(60, 1 / 60)).astype(np.int64) for _ in range(2))
    flow = engine.transport(cost, supply, demand)
    assert_is_plan(flow, supply, demand)
    at_supplier, at_customer = np.zeros(60), np.full(60, np.inf)
    for _ in range(120):
        at_customer = np.minimum(at_customer, (at_supplier[:, None] + cost).min(axis=0))
        back = np.where(flow > 0, at_customer - cost, np.inf).min(axis=1)
        at_supplier = np.minimum(at_supplier, back)
    # A plan that could be improved has a circle of moves that gains, and then this would still be falling.
    assert (at_supplier[:, None] + cost >= at_customer - 1e-12).all()
    assert (np.abs((at_supplier[:, None] + cost - at_customer)[flow > 0]) < 1e-12).all()


@both_engines
def test_nothing_to_move(engine: Any) -> None:
    none = np.zeros(0, np.int64)
    assert engine.transport(np.zeros((0, 0)), none, none).shape == (0, 0)
    assert engine.transport(np.zeros((0, 2)), none, np.zeros(2, np.int64)).shape == (0, 2)
    np.testing.assert_array_equal(engine.transport(np.ones((1, 1)), *[np.zeros(1, np.int64)] * 2), [[0]])


ONE, TWO = np.array([1], np.int64), np.array([2], np.int64)
COST = np.ones((1, 1))


@both_engines
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((COST, ONE, TWO), "same total"),
        ((COST, -ONE, -ONE), "negative"),
        ((COST, ONE.astype(np.int32), ONE), "supply must be a 1-dimensional contiguous array of int64"),
        ((np.ones((1, 2)), ONE, ONE), "a row for each supply"),
        ((COST * np.nan, ONE, ONE), "cost must be finite"),
        ((-COST, ONE, ONE), "cost must be finite and not negative"),
        ((COST, np.array([2**62], np.int64), np.array([2**62], np.int64)), "below 2"),
    ],
)
def test_bad_problems_are_refused(engine: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine.transport(*arguments)


Bag = dict[int, int]


def packed(bags: list[Bag], vectors: Any) -> tuple[Any, ...]:
    ids = [word for bag in bags for word in sorted(bag)]
    counts = [bag[word] for bag in bags for word in sorted(bag)]
    offsets = np.cumsum([0, *map(len, bags)], dtype=np.int64)
    return np.array(ids, np.int32), np.array(counts, np.int32), offsets, vectors.astype(np.float32)


def rows_of(references: list[list[int]], candidates: list[int]) -> Rows:
    """Row i judges caption candidates[i] by the captions references[i]."""
    offsets = np.cumsum([0, *map(len, references)], dtype=np.int64)
    captions = np.array([caption for each in references for caption in each], np.int32)
    return Rows(np.array(candidates, np.int32), np.arange(len(candidates), dtype=np.int32), offsets, captions)


@st.composite
def scoring_problems(draw: st.DrawFn) -> tuple[tuple[Any, ...], Rows]:
    words, dimensions = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 3, 9, 20]))
    # Few distinct values: words at the same place, and distances that tie.
    numbers = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0]) | st.floats(-3, 3, width=32)
    vectors = draw(st.lists(numbers, min_size=words * dimensions, max_size=words * dimensions))
    bag = st.dictionaries(st.integers(0, words - 1), st.integers(1, 4), max_size=8)
    bags = draw(st.lists(bag, min_size=1, max_size=8))
    caption = st.integers(0, len(bags) - 1)
    rows = draw(st.lists(st.tuples(caption, st.lists(caption, max_size=6)), max_size=8))
    references, candidates = [each for _, each in rows], [candidate for candidate, _ in rows]
    return packed(bags, np.array(vectors).reshape(words, dimensions)), rows_of(references, candidates)


@needs_compiled
@settings(deadline=None, max_examples=200)
@given(problem=scoring_problems(), best=st.booleans())
def test_engines_agree_on_scores(problem: Any, best: bool) -> None:
    bags, rows = problem
    expected = python.wmd_stats(*bags, rows, best, 1)
    found = compiled.wmd_stats(*bags, rows, best, 2)  # type: ignore[union-attr]
    assert found.shape == expected.shape == (len(rows[0]), 1)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=0)


def random_bags(count: int, words: int, longest: int) -> Iterator[Bag]:
    random = np.random.default_rng(3)
    for _ in range(count):
        chosen = random.choice(words, random.integers(0, longest + 1), replace=False)
        yield {int(word): int(random.integers(1, 3)) for word in chosen}


def large_problem(longest: int) -> tuple[tuple[Any, ...], Rows]:
    random = np.random.default_rng(4)
    bags = packed(list(random_bags(60, 100, longest)), random.normal(size=(100, 30)))
    references = [random.integers(0, 60, random.integers(0, 8)).tolist() for _ in range(150)]
    return bags, rows_of(references, random.integers(0, 60, 150).tolist())


@needs_compiled
@pytest.mark.parametrize(("longest", "rows_used"), [(8, 150), (60, 12)])
@pytest.mark.parametrize("best", [True, False])
def test_skipping_references_changes_nothing(longest: int, rows_used: int, best: bool) -> None:
    bags, (candidate, group, *sets) = large_problem(longest)
    rows = Rows(candidate[:rows_used].copy(), group[:rows_used].copy(), *sets)
    expected = python.wmd_stats(*bags, rows, best, 1)
    np.testing.assert_allclose(compiled.wmd_stats(*bags, rows, best, 1), expected, rtol=1e-11)  # type: ignore[union-attr]


@both_engines
def test_threads_change_nothing(engine: Any) -> None:
    bags, rows = large_problem(8)
    alone = engine.wmd_stats(*bags, rows, True, 1)
    np.testing.assert_array_equal(engine.wmd_stats(*bags, rows, True, 7), alone)


@both_engines
def test_worked_by_hand(engine: Any) -> None:
    # Words 0, 1, 2, 3 stand at 0, 1, 3, 3 on a line.
    bags = packed([{0: 1}, {1: 1}, {0: 1, 2: 1}, {}, {3: 2}, {2: 1}], np.array([[0.0], [1.0], [3.0], [3.0]]))
    rows = rows_of([[1], [2], [1, 2, 3], [3], [0], [], [5], [0, 2]], [0, 0, 0, 0, 3, 0, 4, 0])
    best = engine.wmd_stats(*bags, rows, True, 1)[:, 0]
    np.testing.assert_allclose(best, [math.exp(-1), math.exp(-1.5), math.exp(-1), 0, 0, 0, 1, 1], atol=0, rtol=1e-15)
    mean = engine.wmd_stats(*bags, rows, False, 1)[:, 0]
    three = (math.exp(-1) + math.exp(-1.5) + 0) / 3
    two = (1 + math.exp(-1.5)) / 2
    np.testing.assert_allclose(mean, [math.exp(-1), math.exp(-1.5), three, 0, 0, 0, 1, two], atol=0, rtol=1e-15)


@both_engines
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.array([0, 9, 1], np.int32)}, "ids must be below the number of vectors"),
        ({0: np.array([1, 0, 1], np.int32)}, "ids must rise within each caption"),
        ({0: np.array([0, 0, 1], np.int32)}, "ids must rise within each caption"),
        ({1: np.array([1, 0, 1], np.int32)}, "counts must be at least 1"),
        ({1: np.array([2**31 - 1, 1, 1], np.int32)}, "too many words"),
        ({2: np.array([0, 2, 2], np.int64)}, "gram_offsets must rise"),
        ({3: np.zeros((2, 3))}, "vectors must be a 2-dimensional contiguous array of float32"),
        ({3: np.zeros((2, 0), np.float32)}, "at least one dimension"),
        ({3: np.full((2, 3), np.nan, np.float32)}, "vectors must be finite"),
        ({4: rows_of([[1]], [7])}, "candidate must hold indices of captions"),
        ({6: 0}, "threads must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(engine: Any, change: dict[int, Any], message: str) -> None:
    arguments = [*packed([{0: 1, 1: 1}, {1: 1}], np.zeros((2, 3))), rows_of([[1]], [0]), True, 1]
    assert engine.wmd_stats(*arguments).shape == (1, 1)
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=message):
        engine.wmd_stats(*arguments)
