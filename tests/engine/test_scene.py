"""Both engines count the same, and refuse the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import engine
from capeval.engine import python
from capeval.types import Rows

WORDS = 6


@st.composite
def scenes(draw: st.DrawFn) -> dict[str, Any]:
    """Captions of a few words with a few synsets, so that much is merged."""
    word = st.integers(0, WORDS - 1)
    one = st.one_of(
        st.tuples(word, st.just(-1), st.just(-1)), st.tuples(word, word, st.just(-1)), st.tuples(word, word, word)
    )
    captions = draw(st.lists(st.lists(one, max_size=6), min_size=1, max_size=5))
    synsets = [sorted(draw(st.sets(st.integers(0, 7), max_size=3))) for _ in range(WORDS)]
    sets = draw(st.lists(st.lists(st.integers(0, len(captions) - 1), max_size=3), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(st.integers(0, len(captions) - 1), st.integers(0, len(sets) - 1)), max_size=6))
    return {
        "tuples": np.array([row for caption in captions for row in caption], np.int32).reshape(-1, 3),
        "tuple_offsets": np.cumsum([0, *map(len, captions)], dtype=np.int64),
        "synsets": np.array([synset for each in synsets for synset in each], np.int32),
        "synset_offsets": np.cumsum([0, *map(len, synsets)], dtype=np.int64),
        "attribute_kinds": np.array(draw(st.lists(st.integers(0, 3), min_size=WORDS, max_size=WORDS)), np.uint8),
        "rows": Rows(
            np.array([caption for caption, _ in rows], np.int32),
            np.array([group for _, group in rows], np.int32),
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
            np.array([caption for each in sets for caption in each], np.int32),
        ),
    }


@given(scenes())
def test_engines_agree(compiled_engine: str, scene: dict[str, Any]) -> None:
    expected = python.scene_stats(**scene, threads=1)
    for threads in (1, 3):
        np.testing.assert_array_equal(engine.load().scene_stats(**scene, threads=threads), expected)


ROW = Rows(np.array([0], np.int32), np.array([0], np.int32), np.array([0, 1], np.int64), np.array([0], np.int32))
SMALL: dict[str, Any] = {
    "tuples": np.array([[0, 1, -1], [1, -1, -1]], np.int32),
    "tuple_offsets": np.array([0, 2], np.int64),
    "synsets": np.array([5], np.int32),
    "synset_offsets": np.array([0, 1, 1], np.int64),
    "attribute_kinds": np.array([0, 2], np.uint8),
    "rows": ROW,
    "threads": 1,
}


def test_a_small_one(each_engine: str) -> None:
    stats = engine.load().scene_stats(**SMALL)
    assert stats.tolist() == [[2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tuples": np.zeros((2, 2), np.int32)}, "three columns"),
        ({"tuples": np.zeros((2, 3), np.int64)}, "tuples must be a 2-dimensional"),
        ({"tuples": np.array([[-1, 0, 0], [0, 0, 0]], np.int32)}, "begin with a word"),
        ({"tuples": np.array([[0, 0, 2], [0, 0, 0]], np.int32)}, "numbers of words"),
        ({"tuples": np.array([[0, 0, -2], [0, 0, 0]], np.int32)}, "numbers of words"),
        ({"tuples": np.array([[0, -1, 0], [0, 0, 0]], np.int32)}, "at the end"),
        ({"tuple_offsets": np.array([0, 3], np.int64)}, "tuple_offsets must rise"),
        ({"synset_offsets": np.array([0, 2, 1], np.int64)}, "synset_offsets must rise"),
        ({"attribute_kinds": np.zeros(1, np.uint8)}, "attribute_kinds must hold"),
        ({"attribute_kinds": np.array([0, 4], np.uint8)}, "attribute_kinds must hold"),
        ({"rows": ROW._replace(candidate=np.array([1], np.int32))}, "candidate must hold"),
        ({"threads": 0}, "threads"),
    ],
)
def test_wrong_arrays_are_refused(each_engine: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine.load().scene_stats(**SMALL | change)
