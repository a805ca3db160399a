"""Calls written for pycocoevalcap give its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capeval.compat import Bleu, Cider, Meteor, PTBTokenizer, Rouge, compute_score
from capeval.errors import CapevalError, DataError

GTS = {7: ["a dog runs", "the dog"], "x": ["a cat"], 3: ["two birds fly"]}
RES = {3: ["two birds"], "x": ["a cat"], 7: ["a cat runs"]}


@pytest.fixture
def tokenised(official_300: dict[str, Any]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Both sides as the official example prepares them."""
    references = {int(key): [{"caption": text} for text in texts] for key, texts in official_300["references"].items()}
    candidates = {int(key): [{"caption": text}] for key, text in official_300["candidates"].items()}
    tokenizer = PTBTokenizer()
    return tokenizer.tokenize(references), tokenizer.tokenize(candidates)


def test_official_numbers(tokenised: tuple[Any, Any], official_300: dict[str, Any]) -> None:
    gts, res = tokenised
    res = dict(reversed(res.items()))  # scores come in the order of gts
    corpus, per_caption = official_300["corpus"], official_300["per_caption"]
    scores, per_image = Bleu(4).compute_score(gts, res)
    for n in range(4):
        assert scores[n] == pytest.approx(corpus[f"bleu_{n + 1}"], abs=1e-9)
        np.testing.assert_allclose(per_image[n], per_caption[f"bleu_{n + 1}"], rtol=0, atol=1e-9)
    for scorer, name in ((Rouge(), "rouge_l"), (Cider(), "cider_d")):
        score, each = scorer.compute_score(gts, res)
        assert score == pytest.approx(corpus[name], abs=1e-9)
        np.testing.assert_allclose(each, per_caption[name], rtol=0, atol=1e-9)


def test_shapes_are_those_of_the_official_scorers() -> None:
    scores, per_image = Bleu(2).compute_score(GTS, RES, verbose=0)
    assert [type(score) for score in scores] == [float, float]
    assert [len(each) for each in per_image] == [3, 3]
    score, per_image = Rouge().compute_score(GTS, RES)
    assert isinstance(score, float)
    assert isinstance(per_image, np.ndarray)
    assert [s.method() for s in (Bleu(), Meteor(), Rouge(), Cider())] == ["Bleu", "METEOR", "Rouge", "CIDEr"]


def test_ids_come_in_the_order_of_gts() -> None:
    _, per_image = compute_score(GTS, RES, "rouge")
    assert per_image.tolist() == pytest.approx([2 / 3, 1, 2.44 * 2 / 3 / (2 / 3 + 1.44)])


def test_captions_are_taken_as_tokenised() -> None:
    score, _ = compute_score({1: ["A dog ."]}, {1: ["a dog"]}, "rouge(beta=1)")
    assert score == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))


def test_cider_parameters() -> None:
    assert Cider(n=2, sigma=1.5).compute_score(GTS, RES)[0] == compute_score(GTS, RES, "cider_d(n=2, sigma=1.5)")[0]


def test_tokenizer_takes_dicts_and_texts() -> None:
    tokens = PTBTokenizer().tokenize(
        {1: [{"caption": "A dog."}, {"caption": "Don't!", "id": 5}], 2: ["A\u2028cat"], 3: []}
    )
    assert tokens == {1: ["a dog", "do n't"], 2: ["a cat"], 3: []}


@pytest.mark.parametrize(
    ("gts", "res", "message"),
    [
        ({1: ["a"], 2: ["b"]}, {1: ["a"]}, "same ids; 1 are in one only. Ids: '2'"),
        ({1: ["a"]}, {1: ["a"], 9: ["b"]}, "same ids; 1 are in one only. Ids: '9'"),
        ({1: ["a"]}, {1: ["a", "b"]}, "one caption for each id. Ids: '1'"),
        ({1: ["a"]}, {1: []}, "one caption for each id"),
        ({1: []}, {1: ["a"]}, "at least one caption"),
        ({1: "a dog"}, {1: ["a"]}, "a list of captions for each id"),
        ({1: ["a"]}, {1: "a"}, "a list of captions for each id"),
        ({}, {}, "no captions"),
    ],
)
def test_bad_input(gts: Any, res: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compute_score(gts, res, "bleu")


def test_bad_parameters_are_reported_at_once() -> None:
    with pytest.raises(CapevalError, match="1 to 4"):
        Bleu(5)
    with pytest.raises(CapevalError, match="n is 0"):
        Cider(n=0)
