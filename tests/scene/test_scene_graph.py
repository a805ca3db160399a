"""Merging tuples into scene graphs, and comparing graphs, by hand."""

from __future__ import annotations

import pytest

from capeval.engine.scene import COLUMNS, Concept, compare
from capeval.scene.scene_graph import SceneGraph, explain, kind_of_attribute
from capeval.scene.words import CARDINALITIES, COLORS, SIZES

# A small world: words of one meaning share a number.
MEANINGS = {
    "dog": [1],
    "hound": [1],
    "puppy": [2],
    "pet": [1, 2, 3, 4],
    "cat": [4],
    "run": [10],
    "jog": [10],
    "sprint": [11],
    "on": [20],
    "upon": [20],
    "big": [30],
    "large": [30],
    "red": [40],
    "crimson": [40],
}


def meanings(word: str) -> list[int]:
    return MEANINGS.get(word, [])


def scene(*tuples: tuple[str, ...]) -> SceneGraph:
    return SceneGraph(tuples, meanings)


def shown(graph: SceneGraph) -> list[tuple[str, ...]]:
    return [tuple(map(str, each)) for each in graph.tuples()]


@pytest.mark.parametrize(
    ("tuples", "expected"),
    [
        ([], []),
        ([("dog",), ("dog",)], [("dog",)]),
        # Words without a known meaning are different things.
        ([("zorp",), ("blarg",), ("zorp",)], [("zorp",), ("blarg",)]),
        ([("dog",), ("hound",)], [("dog/hound",)]),
        # A pet is more of a dog (1 of 4) than it shares with nothing; both first ones are equally near: the first wins.
        ([("dog",), ("puppy",), ("pet",)], [("dog/pet",), ("puppy",)]),
        # Once united with pet, dog is similar to cat too.
        ([("dog",), ("pet",), ("cat",)], [("dog/pet/cat",)]),
        # The order matters: here nothing joins them.
        ([("dog",), ("cat",)], [("dog",), ("cat",)]),
        # A word that is part of a merged thing stays with it, though another thing is nearer in meaning.
        ([("dog",), ("pet",), ("dog",)], [("dog/pet",)]),
        ([("dog", "big"), ("dog", "large"), ("dog", "red")], [("dog",), ("dog", "big/large"), ("dog", "red")]),
        ([("dog", "big"), ("zorp", "large")], [("dog",), ("zorp",), ("dog", "big"), ("zorp", "large")]),
        ([("dog", "big"), ("hound", "large")], [("dog/hound",), ("dog/hound", "big/large")]),
        (
            [("dog", "mat", "on"), ("hound", "mat", "upon"), ("mat", "dog", "on")],
            [("dog/hound",), ("mat",), ("dog/hound", "on/upon", "mat"), ("mat", "on", "dog/hound")],
        ),
        ([("dog", "mat", "be on"), ("dog", "mat", "on")], [("dog",), ("mat",), ("dog", "on", "mat")]),
        ([("dog", "dog", "near")], [("dog",), ("dog", "near", "dog")]),
    ],
)
def test_merging(tuples: list[tuple[str, ...]], expected: list[tuple[str, ...]]) -> None:
    assert shown(scene(*tuples)) == expected


def test_of_several_similar_attributes_the_last_takes_the_new_one() -> None:
    colors = {"blue": [1], "black": [2], "dark": [1, 2]}
    graph = SceneGraph([("sea", "blue"), ("sea", "black"), ("sea", "dark")], lambda word: colors.get(word, []))
    assert shown(graph) == [("sea",), ("sea", "blue"), ("sea", "black/dark")]


def test_similarity() -> None:
    dog, pet = Concept("dog", [1]), Concept("pet", [1, 2, 3, 4])
    assert dog.similarity(pet) == pet.similarity(dog) == 1 / 4
    assert dog.similarity(Concept("dog", [])) == 1
    assert dog.similarity(Concept("zorp", [])) == 0


# Candidate, references, and for some kinds (matched, of the candidate, of the references).
COMPARISONS: list[tuple[list[tuple[str, ...]], list[tuple[str, ...]], dict[str, tuple[int, int, int]]]] = [
    ([], [], {"object": (0, 0, 0)}),
    ([("dog",)], [], {"object": (0, 1, 0)}),
    ([("dog",)], [("hound",), ("cat",)], {"object": (1, 1, 2)}),
    # One tuple of the references serves two of the candidate.
    ([("dog",), ("cat",)], [("pet",)], {"object": (2, 2, 1)}),
    ([("dog", "big")], [("hound", "large")], {"object": (1, 1, 1), "attribute": (1, 1, 1), "size": (1, 1, 1)}),
    # Every part must fit.
    ([("dog", "big")], [("dog", "red"), ("zorp", "big")], {"attribute": (0, 1, 2), "size": (0, 1, 1)}),
    ([("dog", "mat", "on")], [("dog", "mat", "upon")], {"relation": (1, 1, 1), "object": (2, 2, 2)}),
    ([("dog", "mat", "on")], [("mat", "dog", "on")], {"relation": (0, 1, 1), "object": (2, 2, 2)}),
    ([("dog", "two"), ("dog", "red")], [("dog", "two")], {"cardinality": (1, 1, 1), "color": (0, 1, 0)}),
    # An attribute united from two words is no color, though one of them is.
    ([("dog", "red")], [("dog", "red"), ("dog", "crimson")], {"attribute": (1, 1, 1), "color": (0, 1, 0)}),
]


@pytest.mark.parametrize(("candidate", "references", "expected"), COMPARISONS)
def test_comparing(
    candidate: list[tuple[str, ...]], references: list[tuple[str, ...]], expected: dict[str, tuple[int, int, int]]
) -> None:
    counts = dict(zip(COLUMNS, compare(scene(*candidate), scene(*references), kind_of_attribute), strict=True))
    assert {kind: tuple(counts[kind]) for kind in expected} == expected


def test_kinds_of_attributes() -> None:
    assert [kind_of_attribute(word) for word in ("two", "beige", "teeny-tiny", "happy")] == [
        "cardinality",
        "color",
        "size",
        "",
    ]
    assert (len(CARDINALITIES), len(COLORS), len(SIZES)) == (10, 18, 105)
    assert len(CARDINALITIES | COLORS | SIZES) == 10 + 18 + 105


def test_real_meanings() -> None:
    graph = SceneGraph([("bicycle",), ("bike",), ("men",), ("man",)])
    assert shown(graph) == [("bicycle/bike",), ("men/man",)]
    assert shown(SceneGraph([("spoonful",), ("spoonsful",)])) == [("spoonful/spoonsful",)]


def test_explaining() -> None:
    found = explain(
        [("boy", "bike", "ride"), ("boy",), ("bike", "red")], [("boy", "bicycle", "ride"), ("boy", "young"), ("road",)]
    )
    assert found.matched == [("boy",), ("bike",), ("boy", "ride", "bike")]
    assert found.wrong == [("bike", "red")]
    assert found.missing == [("road",), ("boy", "young")]
    assert (found.precision, found.recall) == (3 / 4, 3 / 5)
    assert found.f == pytest.approx(2 / 3)


def test_explaining_nothing() -> None:
    for pair in (([], []), ([("dog",)], []), ([], [("dog",)])):
        assert explain(*pair).f == 0
