"""Lemmas of words with tags."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.scene.lemma import lemma


@pytest.mark.parametrize(
    ("word", "tag", "expected"),
    [
        ("spoons", "NNS", "spoon"),
        ("men", "NNS", "man"),
        ("children", "NNS", "child"),
        ("boxes", "NNS", "box"),
        ("ladies", "NNS", "lady"),
        ("running", "VBG", "run"),
        ("riding", "VBG", "ride"),
        ("standing", "VBG", "stand"),
        ("covered", "VBN", "cover"),
        ("is", "VBZ", "be"),
        ("carries", "VBZ", "carry"),
        ("thought", "VBD", "think"),
        ("an", "DT", "a"),
        ("their", "PRP$", "they"),
        ("me", "PRP", "I"),
        ("n't", "RB", "not"),
        # Only verbs and plurals change, whatever a word looks like.
        ("glasses", "NN", "glasses"),
        ("riding", "NN", "riding"),
        ("left", "JJ", "left"),
        ("-lrb-", "NNS", "-lrb-_NNS"),
    ],
)
def test_words(word: str, tag: str, expected: str) -> None:
    assert lemma(word, tag) == expected


@given(st.text(max_size=12), st.sampled_from(["NNS", "VBG", "VBZ", "VBN", "VB", "NN", "PRP", "DT"]))
def test_any_word_has_a_lemma(word: str, tag: str) -> None:
    found = lemma(word, tag)
    assert bool(found) == bool(word)
    assert lemma(word, tag) == found


def test_official_lemmas(official_parses: list[dict[str, Any]]) -> None:
    same = 0
    for caption in official_parses:
        tokens = [token for sentence in caption["sentences"] for token in sentence["tokens"]]
        same += all(lemma(word, tag) == official for word, tag, official in tokens)
    assert same >= 0.996 * len(official_parses)
