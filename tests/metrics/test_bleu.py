"""BLEU by hand, and equal to the official numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capeval

SCORES = ["bleu_1", "bleu_2", "bleu_3", "bleu_4"]


def per_caption(candidate: str, references: list[str], expression: str) -> float:
    result = capeval.score([candidate], [references], [expression], tokenizer="none")
    (scores,) = result.per_caption.values()
    return float(scores[0])


@pytest.mark.parametrize(
    ("candidate", "references", "score", "number"),
    [
        # Papineni's example: "the" occurs at most twice in one reference, so 2 of 7 count.
        ("the the the the the the the", ["the cat is on the mat", "there is a cat on the mat"], "bleu_1", 2 / 7),
        # All words and pairs match; 2 words against 6 cost exp(1 - 6/2).
        ("a cat", ["a cat sat on the mat"], "bleu_1", math.exp(-2)),
        ("a cat", ["a cat sat on the mat"], "bleu_2", math.exp(-2)),
        # 3 of 4 words, 1 of 3 pairs: the root of 3/4 * 1/3.
        ("a b c d", ["a b x d"], "bleu_2", 1 / 2),
        # Pairs a-b, b-c and c-d come from two references: 4/4 words, 3/3 pairs, 1/2 triples.
        ("a b c d", ["a b c x", "x x c d"], "bleu_3", (1 / 2) ** (1 / 3)),
        ("a b c d e", ["a b c d e"], "bleu_4", 1),
        # Longer than the reference: no bonus and no penalty, 2 of 4 words.
        ("a b x y", ["a b"], "bleu_1", 1 / 2),
    ],
)
def test_by_hand(each_engine: str, candidate: str, references: list[str], score: str, number: float) -> None:
    assert per_caption(candidate, references, score) == pytest.approx(number, abs=1e-8)


def test_of_two_closest_lengths_the_shorter_counts(each_engine: str) -> None:
    # 3 and 5 are as far from 4. With 5 there would be a penalty of exp(1 - 5/4).
    for references in (["a b c", "a b c d e"], ["a b c d e", "a b c"]):
        assert per_caption("a b c d", references, "bleu_1") == pytest.approx(1, abs=1e-8)


def test_the_guards_against_zero_are_part_of_the_score() -> None:
    # No match: numerator 1e-15, and 1 word against 4 costs exp(-3).
    assert per_caption("x", ["a b c d"], "bleu_1") == pytest.approx(1e-15 * math.exp(-3), rel=1e-6)
    assert per_caption("", ["a b"], "bleu_1") == 0


def test_the_corpus_score_is_not_the_mean(each_engine: str) -> None:
    result = capeval.score(["a b", "a x x x x x"], [["a b c d"], ["a"]], ["bleu_1"])
    # 2 of 2 and 1 of 6 words match; 8 words against 5 cost nothing, though the first caption alone is too short.
    assert result.scores["bleu_1"] == pytest.approx(3 / 8, abs=1e-8)
    assert result.per_caption["bleu_1"] == pytest.approx([math.exp(-1), 1 / 6], abs=1e-8)


@pytest.mark.parametrize(
    ("candidate", "references", "score", "number"),
    [
        # Words 3/4, pairs (1+1)/(3+1), triples (0+1)/(2+1), fours (0+1)/(1+1); 4 words against 5.
        ("a b c d", ["a b x d e"], "bleu_4", (3 / 4 * 1 / 2 * 1 / 3 * 1 / 2) ** (1 / 4) * math.exp(-1 / 4)),
        ("a b c d", ["a b x d e"], "bleu_1", 3 / 4 * math.exp(-1 / 4)),
        # Orders that a short caption has no n-grams of do not lower its score.
        ("a", ["a"], "bleu_4", 1),
        ("x y", ["a b"], "bleu_4", 0),
        ("", ["a b"], "bleu_4", 0),
        ("", [""], "bleu_1", 0),
    ],
)
def test_sentence_bleu_by_hand(
    each_engine: str, candidate: str, references: list[str], score: str, number: float
) -> None:
    assert per_caption(candidate, references, f"{score}(sentence=true)") == pytest.approx(number, abs=1e-15)


def test_the_corpus_score_of_sentence_bleu_is_the_mean() -> None:
    result = capeval.score(["a b c", "x"], [["a b c"], ["y"]], ["bleu(sentence=true)"])
    assert list(result.scores.values()) == [0.5] * 4


def assert_official(golden: dict[str, Any]) -> None:
    result = capeval.score(golden["candidates"], golden["references"], ["bleu"])
    for name in SCORES:
        assert result.scores[name] == pytest.approx(golden["corpus"][name], abs=1e-9)
        np.testing.assert_allclose(result.per_caption[name], golden["per_caption"][name], rtol=0, atol=1e-9)


def test_official_numbers(each_engine: str, official_300: dict[str, Any]) -> None:
    assert_official(official_300)


def test_official_numbers_of_1k(each_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("1k"))


def test_official_numbers_of_5k(compiled_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("5k"))
