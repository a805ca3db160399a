"""Both engines under the same tests: small cases worked out by hand, and agreement on random ones."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
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

Caption = list[int]


@dataclass
class Problem:
    """Captions, reference sets (indices of captions), and rows (candidate, set)."""

    captions: list[Caption]
    sets: list[list[int]]
    rows: list[tuple[int, int]]

    def __post_init__(self) -> None:
        self.tokens, self.offsets = packed(self.captions)
        self.group_captions, self.group_offsets = packed(self.sets)
        pairs = np.array(self.rows, dtype=np.int32).reshape(len(self.rows), 2)
        self.candidate, self.group = pairs.T.copy()

    @property
    def sets_arguments(self) -> tuple[Any, ...]:
        return self.group_offsets, self.group_captions

    @property
    def judged(self) -> Rows:
        return Rows(self.candidate, self.group, *self.sets_arguments)


def packed(lists: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return np.array([value for values in lists for value in values], dtype=np.int32), offsets


def run_all(engine: Any, problem: Problem, n: int, threads: int) -> dict[str, Any]:
    """Every function of an engine on one problem."""
    ids, counts, bounds, grams = engine.ngrams(problem.tokens, problem.offsets, n, threads)
    frequency = engine.document_frequency(ids, bounds, n, *problem.sets_arguments, len(grams), threads)
    idf = np.log(7.0) - np.log(np.maximum(1.0, frequency))
    found = {
        "ids": ids,
        "counts": counts,
        "bounds": bounds,
        "grams": grams,
        "frequency": frequency,
        "bleu": engine.bleu_stats(ids, counts, bounds, n, problem.offsets, problem.judged, threads),
        "rouge": engine.rouge_stats(problem.tokens, problem.offsets, problem.judged, threads),
    }
    for clip in (False, True):
        for sigma in (6.0, math.inf):
            arguments = (ids, counts, bounds, n, idf, problem.judged, clip, sigma, threads)
            found[f"cider clip={clip} sigma={sigma}"] = engine.cider_stats(*arguments)
    return found


def assert_same(left: dict[str, Any], right: dict[str, Any], tolerance: float) -> None:
    for name, expected in left.items():
        assert right[name].dtype == expected.dtype, name
        assert right[name].shape == expected.shape, name
        np.testing.assert_allclose(right[name], expected, rtol=tolerance, atol=0, err_msg=name)


# Few words, so that n-grams repeat; two beyond 16 bits, so that packing tokens tightly would show.
WORDS = st.sampled_from([0, 1, 2, 3, 4, 5, 65_536, 65_537, 2**31 - 1])
CAPTIONS = st.lists(st.lists(WORDS, max_size=12) | st.lists(WORDS, min_size=60, max_size=140), min_size=1, max_size=12)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    captions = draw(CAPTIONS)
    index = st.integers(0, len(captions) - 1)
    sets = draw(st.lists(st.lists(index, max_size=6), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(index, st.integers(0, len(sets) - 1)), max_size=10))
    return Problem(captions, sets, rows)


def large_problem(vocabulary: int) -> Problem:
    """Enough rows for several blocks of work, and one set of 120 references."""
    random = np.random.default_rng(0)
    captions = [random.integers(0, vocabulary, random.integers(0, 15)).tolist() for _ in range(1500)]
    sets = [random.integers(0, 1500, random.integers(1, 6)).tolist() for _ in range(300)] + [list(range(120))]
    rows = [(int(random.integers(1500)), int(random.integers(len(sets)))) for _ in range(1000)]
    return Problem(captions, sets, [*rows, (0, len(sets) - 1)])


@needs_compiled
@settings(deadline=None, max_examples=150)
@given(problem=problems(), n=st.integers(1, 5))
def test_engines_agree(problem: Problem, n: int) -> None:
    assert_same(run_all(python, problem, n, 1), run_all(compiled, problem, n, 2), tolerance=1e-12)


@needs_compiled
@pytest.mark.parametrize("vocabulary", [20, 70_000])
@pytest.mark.parametrize("n", [4, 9])
def test_engines_agree_on_a_larger_problem(vocabulary: int, n: int) -> None:
    problem = large_problem(vocabulary)
    assert_same(run_all(python, problem, n, 1), run_all(compiled, problem, n, 3), tolerance=1e-12)


@both_engines
def test_threads_change_nothing(engine: Any) -> None:
    problem = large_problem(50)
    alone = run_all(engine, problem, 4, 1)
    for threads in (2, 7):
        assert_same(alone, run_all(engine, problem, 4, threads), tolerance=0)


@both_engines
def test_inputs_stay_untouched_and_may_be_read_only(engine: Any) -> None:
    problem = large_problem(50)
    arrays = [problem.tokens, problem.offsets, *problem.judged]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    run_all(engine, problem, 4, 2)
    for array, copy in zip(arrays, copies):
        np.testing.assert_array_equal(array, copy)


@both_engines
def test_nothing_at_all(engine: Any) -> None:
    found = run_all(engine, Problem([], [], []), 3, 1)
    assert found["grams"].shape == (0, 3)
    assert found["bounds"].tolist() == [0]
    assert found["bleu"].shape == (0, 8)
    assert found["rouge"].shape == (0, 2)


@both_engines
def test_ngrams_are_numbered_by_first_occurrence(engine: Any) -> None:
    tokens, offsets = packed([[5, 7, 5, 7], [], [7], [7, 5, 9]])
    ids, counts, bounds, grams = engine.ngrams(tokens, offsets, 2, 1)
    #                        5        7        5 7     7 5     9        5 9
    assert grams.tolist() == [[5, -1], [7, -1], [5, 7], [7, 5], [9, -1], [5, 9]]
    assert bounds.tolist() == [0, 2, 4, 4, 4, 5, 5, 8, 10]
    assert ids.tolist() == [0, 1, 2, 3, 1, 0, 1, 4, 3, 5]
    assert counts.tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1, 1]


@both_engines
def test_document_frequency_counts_a_set_once(engine: Any) -> None:
    problem = Problem([[0, 1], [1, 1], [2]], [[0, 1], [1, 1], [], [2]], [])
    ids, _, bounds, grams = engine.ngrams(problem.tokens, problem.offsets, 2, 1)
    frequency = engine.document_frequency(ids, bounds, 2, *problem.sets_arguments, len(grams) + 1, 2)
    # grams: 0, 1, "0 1", "1 1", 2, and one that occurs nowhere
    assert frequency.tolist() == [1, 2, 1, 2, 1, 0]


@both_engines
def test_bleu_by_hand(engine: Any) -> None:
    # "the" (0) seven times against "the cat is on the mat" and "there is a cat on the mat" (Papineni et al. 2002).
    problem = Problem([[0] * 7, [0, 1, 2, 3, 0, 4], [5, 2, 6, 1, 3, 0, 4], [], [9]], [[1, 2], [1, 4], []], [])
    problem = Problem(problem.captions, problem.sets, [(0, 0), (2, 1), (3, 1), (0, 2)])
    ids, counts, bounds, _ = engine.ngrams(problem.tokens, problem.offsets, 2, 1)
    stats = engine.bleu_stats(ids, counts, bounds, 2, problem.offsets, problem.judged, 1)
    assert stats[0].tolist() == [2, 0, 7, 6, 7, 7]
    # Matches: is, cat, on, the, mat; "the mat" and "on the".
    assert stats[1].tolist() == [5, 2, 7, 6, 7, 6]
    assert stats[2].tolist() == [0, 0, 0, 0, 0, 1]
    assert stats[3].tolist() == [0, 0, 7, 6, 7, 0]


@both_engines
def test_of_two_closest_lengths_the_shorter_counts(engine: Any) -> None:
    problem = Problem([[1] * 4, [1] * 5, [1] * 3], [[1, 2], [2, 1]], [(0, 0), (0, 1)])
    ids, counts, bounds, _ = engine.ngrams(problem.tokens, problem.offsets, 1, 1)
    stats = engine.bleu_stats(ids, counts, bounds, 1, problem.offsets, problem.judged, 1)
    assert stats[:, -1].tolist() == [3, 3]


@both_engines
def test_rouge_takes_each_maximum_separately(engine: Any) -> None:
    candidate = [1, 2, 3, 4]
    long = [1, 9, 2, 9, 3, 9, 9, 9, 9, 9]  # common 3: precision 3/4, recall 3/10
    short = [4, 1]  # common 1: precision 1/4, recall 1/2
    problem = Problem([candidate, long, short, []], [[1, 2, 3], [3], []], [(0, 0), (0, 1), (3, 0), (0, 2)])
    stats = engine.rouge_stats(problem.tokens, problem.offsets, problem.judged, 1)
    assert stats.tolist() == [[0.75, 0.5], [0, 0], [0, 0], [0, 0]]


@both_engines
@pytest.mark.parametrize("length", [63, 64, 65, 128, 200])
def test_rouge_of_long_captions(engine: Any, length: int) -> None:
    caption = list(range(length))
    problem = Problem([caption, caption[::-1], caption[1::2]], [[0], [1], [2]], [(0, 0), (0, 1), (0, 2)])
    stats = engine.rouge_stats(problem.tokens, problem.offsets, problem.judged, 1)
    assert stats.tolist() == [[1, 1], [1 / length, 1 / length], [(length // 2) / length, 1]]


@both_engines
def test_cider_by_hand(engine: Any) -> None:
    # Candidate "a a b", references "a b" and "c".
    problem = Problem([[0, 0, 1], [0, 1], [2]], [[1, 2]], [(0, 0)])
    ids, counts, bounds, grams = engine.ngrams(problem.tokens, problem.offsets, 2, 1)
    assert grams.tolist() == [[0, -1], [1, -1], [0, 0], [0, 1], [2, -1]]
    idf = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    arguments = (ids, counts, bounds, 2, idf, problem.judged)
    # Unigram weights: candidate (2, 2), reference (1, 2); bigram weights: (3, 4) and (0, 4).
    plain = engine.cider_stats(*arguments, False, math.inf, 1)[0]
    clipped = engine.cider_stats(*arguments, True, math.inf, 1)[0]
    assert plain == pytest.approx([6 / math.sqrt(8 * 5) / 2, 16 / (5 * 4) / 2], rel=1e-15)
    assert clipped == pytest.approx([5 / math.sqrt(8 * 5) / 2, 16 / (5 * 4) / 2], rel=1e-15)
    # Two bigrams against one.
    penalised = engine.cider_stats(*arguments, True, 6.0, 1)[0]
    assert penalised == pytest.approx(clipped * math.exp(-1 / 72), rel=1e-15)


@both_engines
def test_cider_of_unigrams_alone_has_no_length_penalty(engine: Any) -> None:
    problem = Problem([[0, 0, 0], [0]], [[1]], [(0, 0)])
    ids, counts, bounds, _ = engine.ngrams(problem.tokens, problem.offsets, 1, 1)
    stats = engine.cider_stats(ids, counts, bounds, 1, np.ones(1), problem.judged, False, 1.0, 1)
    assert stats.tolist() == [[1.0]]


@both_engines
def test_cider_without_weights_is_zero(engine: Any) -> None:
    problem = Problem([[0, 1], [0, 1]], [[1]], [(0, 0)])
    ids, counts, bounds, grams = engine.ngrams(problem.tokens, problem.offsets, 2, 1)
    stats = engine.cider_stats(ids, counts, bounds, 2, np.zeros(len(grams)), problem.judged, True, 6.0, 1)
    assert stats.tolist() == [[0.0, 0.0]]


def good_arguments() -> dict[str, dict[str, Any]]:
    """Valid arguments of every function, by name, for the tests below to spoil."""
    problem = Problem([[0, 1, 2], [0, 1], [2]], [[1, 2], [0]], [(0, 0), (1, 1)])
    ids, counts, gram_offsets, grams = python.ngrams(problem.tokens, problem.offsets, 2, 1)
    text = {"tokens": problem.tokens, "offsets": problem.offsets}
    counted = {"ids": ids, "counts": counts, "gram_offsets": gram_offsets, "n": 2}
    sets = {"group_offsets": problem.group_offsets, "group_captions": problem.group_captions}
    rows = {"candidate": problem.candidate, "group": problem.group, **sets}
    without_counts = {name: value for name, value in counted.items() if name != "counts"}
    return {
        "ngrams": {**text, "n": 2, "threads": 1},
        "document_frequency": {**without_counts, **sets, "size": len(grams), "threads": 1},
        "bleu_stats": {**counted, "offsets": problem.offsets, **rows, "threads": 1},
        "rouge_stats": {**text, **rows, "threads": 1},
        "cider_stats": {**counted, "idf": np.ones(len(grams)), **rows, "clip": True, "sigma": 6.0, "threads": 1},
    }


def call(engine: Any, function: str, arguments: dict[str, Any]) -> Any:
    """The arrays of the rows stand alone above, so that each can be spoilt; the engine takes them together."""
    if function.endswith("_stats"):
        own = {name: arguments[name] for name in Rows._fields}
        arguments = {name: value for name, value in arguments.items() if name not in own} | {"rows": Rows(**own)}
    return getattr(engine, function)(**arguments)


def with_value(position: int, value: int) -> Callable[[Any], Any]:
    def spoil(array: Any) -> Any:
        spoilt = array.copy()
        spoilt[position] = value
        return spoilt

    return spoil


def wrong_type(array: Any) -> Any:
    return array.astype(np.int16)


def strided(array: Any) -> Any:
    return np.repeat(array, 2, axis=0)[::2]


def misshapen(array: Any) -> Any:
    return array[None]


def shortened(array: Any) -> Any:
    return array[:-1]


ARRAYS = ["tokens", "offsets", "ids", "counts", "gram_offsets", "idf", "candidate", "group"]
ARRAYS += ["group_offsets", "group_captions", "grams", "table"]
FAULTS: list[tuple[str, Any]] = [(name, fault) for name in ARRAYS for fault in (wrong_type, strided, misshapen)]
FAULTS += [(name, shortened) for name in ARRAYS if name not in ("grams", "table")]
FAULTS += [
    *[(name, with_value(0, -1)) for name in ("tokens", "candidate", "group", "group_captions")],
    *[(name, with_value(-1, 99)) for name in ("offsets", "gram_offsets", "candidate", "group", "group_captions")],
    *[(name, with_value(1, 10**12)) for name in ("offsets", "gram_offsets", "group_offsets")],
    ("group_offsets", with_value(0, 1)),
    ("offsets", lambda array: array[:0]),
    ("gram_offsets", lambda array: array[:0]),
    ("group_offsets", lambda array: array[:0]),
    ("table", lambda array: array[:, :1].copy()),
    ("n", lambda _: 0),
    ("n", lambda _: 10),
    ("n", lambda _: -1),
    ("threads", lambda _: 0),
    ("threads", lambda _: -3),
    ("size", lambda _: 2),
    ("size", lambda _: -1),
    ("sigma", lambda _: 0.0),
    ("sigma", lambda _: math.nan),
]
# BLEU only compares lengths, so its offsets may begin and end anywhere; they have a test of their own.
SPOILT = [
    (function, name, fault)
    for function, arguments in good_arguments().items()
    for name, fault in FAULTS
    if name in arguments and (function, name) != ("bleu_stats", "offsets")
]


@both_engines
@pytest.mark.parametrize(("function", "name", "fault"), SPOILT)
def test_bad_input_is_refused(engine: Any, function: str, name: str, fault: Callable[[Any], Any]) -> None:
    arguments = good_arguments()[function]
    arguments[name] = fault(arguments[name])
    with pytest.raises(ValueError):
        call(engine, function, arguments)


@both_engines
@pytest.mark.parametrize("fault", [wrong_type, strided, misshapen, shortened, with_value(1, 10**12)])
def test_bleu_refuses_bad_offsets(engine: Any, fault: Callable[[Any], Any]) -> None:
    arguments = good_arguments()["bleu_stats"]
    arguments["offsets"] = fault(arguments["offsets"])
    with pytest.raises(ValueError, match="offsets"):
        call(engine, "bleu_stats", arguments)


@both_engines
@pytest.mark.parametrize("function", ["document_frequency", "cider_stats"])
@pytest.mark.parametrize("value", [-1, 99])
def test_gram_ids_out_of_range_are_refused(engine: Any, function: str, value: int) -> None:
    arguments = good_arguments()[function]
    arguments["ids"] = with_value(0, value)(arguments["ids"])
    with pytest.raises(ValueError, match="ids"):
        call(engine, function, arguments)


@both_engines
def test_good_arguments_are_accepted(engine: Any) -> None:
    for function, arguments in good_arguments().items():
        call(engine, function, arguments)


@needs_compiled
@pytest.mark.parametrize("rows", [(), (1, 2, 3, 4), tuple("rows")])
def test_rows_that_are_no_arrays_are_refused(rows: Any) -> None:
    problem = large_problem(50)
    with pytest.raises(ValueError, match="rows must be four arrays"):
        compiled.rouge_stats(problem.tokens, problem.offsets, rows, 1)  # type: ignore[union-attr]
