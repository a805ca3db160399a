"""Persons and places, with the real parser."""

from __future__ import annotations

import pytest

from capeval.errors import UnknownName
from capeval.perturb.chunks import persons, scenes
from capeval.scene import parse_captions
from capeval.scene.official.grammar import grammar_path


@pytest.fixture(autouse=True)
def _grammar() -> None:
    if not grammar_path().is_file():
        pytest.skip("SPICE's grammar is not there: capeval data import spice-grammar")


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A young man in a blue shirt is throwing a ball .", ["a young man"]),
        ("A group of young women dance on a stage", ["a group of young women"]),
        ("Two small children and an old lady sit on a bench", ["two small children", "an old lady"]),
        ("a brown dog runs through a field", []),
        ("a baseball player slides into the base", ["a baseball player"]),
        ("the man 's dog sits", []),
    ],
)
def test_persons(caption: str, expected: list[str]) -> None:
    (graph,) = parse_captions([caption])
    words = [token.word for token in graph.tokens]
    assert [chunk.text(words) for chunk in persons(graph)] == expected


@pytest.mark.parametrize(
    ("caption", "whole", "phrase"),
    [
        ("a man walks on a sandy beach with his dog", "on a sandy beach", "a sandy beach"),
        ("two dogs run through a grassy field", "through a grassy field", "a grassy field"),
        ("a woman in a red dress", None, None),
        ("a beach", None, None),
    ],
)
def test_scenes(caption: str, whole: str | None, phrase: str | None) -> None:
    (graph,) = parse_captions([caption])
    words = [token.word for token in graph.tokens]
    found = scenes(graph)
    assert [chunk.text(words) for chunk in found] == ([whole] if whole else [])
    assert [chunk.noun_phrase(words) for chunk in found] == ([phrase] if phrase else [])


def test_graphs_are_kept_and_read_back() -> None:
    captions = ["a man and a woman sit and talk", "", "a dog"]
    first = parse_captions(captions)
    assert parse_captions(captions) == first
    assert first[1].tokens == ()
    with pytest.raises(UnknownName, match="parser"):
        parse_captions(captions, "none")
