"""The network in both engines: the same numbers, whatever is parsed together, and always a tree."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from capeval import engine
from capeval.engine import python
from capeval.engine.heads import best_tree

Network = dict[str, Any]
captions_strategy = st.lists(st.lists(st.integers(0, 49), max_size=14), max_size=12)


def random_network(
    seed: int, hidden: int = 8, arcs: int = 5, parts: int = 6, tags: int = 4, labels: int = 3
) -> Network:
    """Weights of a small network: what `parse_network` takes beside captions."""
    random = np.random.default_rng(seed)

    def whole(rows: int, columns: int) -> Any:
        return random.integers(-2047, 2048, (rows, columns)).astype(np.int16)

    def real(*shape: int) -> Any:
        return random.normal(0, 1, shape).astype(np.float32)

    outputs = tags + 2 * arcs + 2 * parts
    return {
        "inputs": 2 * real(50, 8 * hidden),
        "hidden1": whole(8 * hidden, hidden),
        "hidden1_scale": np.abs(real(8 * hidden)) * np.float32(3e-7),
        "input2": whole(8 * hidden, 2 * hidden),
        "input2_scale": np.abs(real(8 * hidden)) * np.float32(3e-7),
        "bias2": real(8 * hidden),
        "hidden2": whole(8 * hidden, hidden),
        "hidden2_scale": np.abs(real(8 * hidden)) * np.float32(3e-7),
        "output": whole(outputs, 2 * hidden),
        "output_scale": np.abs(real(outputs)) * np.float32(1e-6),
        "output_bias": real(outputs),
        "arc": real(arcs + 1, arcs),
        "root": real(arcs + parts),
        "label": real(parts, labels),
        "label_bias": real(labels),
        "tags": tags,
    }


def run(module: Any, captions: list[list[int]], network: Network, threads: int = 1) -> Any:
    tokens = np.array([token for caption in captions for token in caption], np.int32)
    offsets = np.cumsum([0, *map(len, captions)], dtype=np.int64)
    return module.parse_network(tokens, offsets, **network, threads=threads)


def compiled() -> Any:
    if engine.active() != "compiled":
        pytest.skip("the compiled engine was not built")
    return engine.load()


@settings(max_examples=60, deadline=None)
@given(captions_strategy, st.integers(0, 5))
def test_both_engines_give_the_same(captions: list[list[int]], seed: int) -> None:
    network = random_network(seed, hidden=(4, 8, 12)[seed % 3])
    expected = run(python, captions, network)
    for threads in (1, 3):
        np.testing.assert_array_equal(run(compiled(), captions, network, threads), expected)


@settings(max_examples=30, deadline=None)
@given(captions_strategy)
def test_a_caption_does_not_depend_on_its_company(captions: list[list[int]]) -> None:
    network = random_network(1)
    together = run(engine.load(), captions, network)
    alone = [run(engine.load(), [caption], network) for caption in captions]
    np.testing.assert_array_equal(together, np.concatenate([np.zeros((0, 3), np.int32), *alone]))


@settings(max_examples=60, deadline=None)
@given(captions_strategy, st.integers(0, 20))
def test_heads_always_make_a_tree_with_one_root(captions: list[list[int]], seed: int) -> None:
    rows = run(engine.load(), captions, random_network(seed))
    for begin, end in pairwise(np.cumsum([0, *map(len, captions)]).tolist()):
        if begin < end:
            assert is_tree(rows[begin:end, 1].tolist())


@settings(max_examples=200)
@given(st.integers(1, 5).flatmap(lambda n: arrays(np.float32, (n, n + 1), elements=st.floats(-9, 9, width=16))))
def test_the_tree_is_the_best_one(scores: Any) -> None:
    """Against all trees without crossing arcs."""

    def total(heads: tuple[int, ...]) -> float:
        return sum(float(scores[word, head]) for word, head in enumerate(heads))

    words = len(scores)
    trees = [heads for heads in product(range(words + 1), repeat=words) if is_tree(list(heads))]
    found = tuple(best_tree(scores))
    assert found in trees
    assert not crosses(found)
    planar = [heads for heads in trees if not crosses(heads)]
    assert total(found) == pytest.approx(max(map(total, planar)), abs=1e-4)


def is_tree(heads: list[int]) -> bool:
    def reaches_root(word: int) -> bool:
        for _ in range(len(heads) + 1):
            if word == 0:
                return True
            word = heads[word - 1]
        return False

    return heads.count(0) == 1 and all(reaches_root(word) for word in range(1, len(heads) + 1))


def crosses(heads: tuple[int, ...]) -> bool:
    arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@pytest.mark.parametrize("name", ["compiled", "python"])
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hidden1", np.zeros((3, 8), np.int16), "hidden1 has the wrong size"),
        ("output_bias", np.zeros(3, np.float32), "a bias has the wrong size"),
        ("arc", np.zeros((3, 3), np.float32), "arc has the wrong size"),
        ("hidden2", np.full((64, 8), 3000, np.int16), "weights must lie within 2047"),
        ("inputs", np.zeros((2, 64), np.float32), "tokens must be rows of inputs"),
    ],
)
def test_wrong_arrays_are_refused(name: str, key: str, value: Any, message: str) -> None:
    module = compiled() if name == "compiled" else python
    with pytest.raises(ValueError, match=message):
        run(module, [[1, 2, 3]], {**random_network(0), key: value})
