"""ROUGE-L by hand, and equal to the official numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.errors import ExpressionError


def f_score(precision: float, recall: float, beta: float = 1.2) -> float:
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


@pytest.mark.parametrize(
    ("candidate", "references", "number"),
    [
        ("a b c d", ["a b c d"], 1),
        # Common "a c": 2 of 4 and 2 of 2, so (1 + 1.44) * 0.5 * 1 / (1 + 1.44 * 0.5).
        ("a b c d", ["a c"], 1.22 / 1.72),
        # The order matters: only one of two words.
        ("b a", ["a b"], 1 / 2),
        # Best precision 3/4 from the first reference, best recall 1/2 from the second.
        ("a b c d", ["a x b x c x x x x x", "d a"], 2.44 * 0.75 * 0.5 / (0.5 + 1.44 * 0.75)),
        # A repeated word counts as often as both have it.
        ("a a a", ["a a b"], 2 / 3),
        ("a b", ["c d"], 0),
        ("", ["a"], 0),
        ("a", ["", "a"], 1),
        ("a", [""], 0),
    ],
)
def test_by_hand(each_engine: str, candidate: str, references: list[str], number: float) -> None:
    result = capeval.score([candidate], [references], ["rouge_l"], tokenizer="none")
    assert result.scores["rouge_l"] == pytest.approx(number, abs=1e-15)


def test_the_corpus_score_is_the_mean() -> None:
    assert capeval.score(["a b", "c"], [["a b"], ["d"]], ["rouge_l"]).scores["rouge_l"] == 0.5


@pytest.mark.parametrize("beta", [0.5, 1, 3])
def test_beta_weighs_recall(beta: float) -> None:
    (score,) = capeval.score(["a b c d"], [["a c"]], [f"rouge_l(beta={beta})"]).scores.values()
    assert score == pytest.approx(f_score(1 / 2, 1, beta), abs=1e-15)


@pytest.mark.parametrize("beta", ["0", "-1"])
def test_beta_must_be_positive(beta: str) -> None:
    with pytest.raises(ExpressionError, match="above 0"):
        capeval.score(["a"], [["a"]], [f"rouge(beta={beta})"])


def test_a_token_with_a_no_break_space_is_one_token_for_rouge_and_two_for_bleu() -> None:
    # The tokenizer makes one token of "23 3/4", as the official one does; official BLEU splits it again.
    result = capeval.score(["23 3/4 inch"], [["23 inch"]], ["rouge_l", "bleu_1"])
    assert result.scores["rouge_l"] == pytest.approx(1 / 2, abs=1e-15)
    assert result.scores["bleu_1"] == pytest.approx(2 / 3, abs=1e-8)


def assert_official(golden: dict[str, Any]) -> None:
    result = capeval.score(golden["candidates"], golden["references"], ["rouge"])
    assert result.scores["rouge_l"] == pytest.approx(golden["corpus"]["rouge_l"], abs=1e-9)
    np.testing.assert_allclose(result.per_caption["rouge_l"], golden["per_caption"]["rouge_l"], rtol=0, atol=1e-9)


def test_official_numbers(each_engine: str, official_300: dict[str, Any]) -> None:
    assert_official(official_300)


def test_official_numbers_of_1k(each_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("1k"))


def test_official_numbers_of_5k(compiled_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("5k"))
