"""Transformed captions: what must hold for any words, share and seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import CapevalError
from capeval.perturb.transforms import other_captions, other_images, permuted, replaced, text_features

WORDS = st.lists(st.sampled_from(["a", "dog", "runs", "on", "the", "beach", "red"]), max_size=15)
GAMMA = st.floats(0.001, 1)
SEED = st.integers(0, 2**32 - 1)
VOCABULARY = ["a", "dog", "cat", "hat"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def differences(a: list[str], b: list[str]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


@given(WORDS, GAMMA, SEED)
def test_permuted_words_are_the_same_words_in_other_places(words: list[str], gamma: float, seed: int) -> None:
    given_words = list(words)
    result = permuted(words, gamma, rng(seed))
    assert words == given_words  # untouched
    assert Counter(result) == Counter(words)
    if len(set(words)) > 1:
        assert 2 <= differences(words, result) <= max(2, round(gamma * len(words)))


@given(st.lists(st.text("abcdefgh", min_size=1), min_size=2, max_size=20, unique=True), GAMMA, SEED)
def test_every_chosen_word_moves_where_words_differ(words: list[str], gamma: float, seed: int) -> None:
    assert differences(words, permuted(words, gamma, rng(seed))) == max(2, round(gamma * len(words)))


@given(WORDS, SEED)
def test_all_places_change_unless_a_word_fills_more_than_half(words: list[str], seed: int) -> None:
    most = max(Counter(words).values(), default=0)
    if len(words) > 1 and 2 * most <= len(words):
        assert differences(words, permuted(words, 1.0, rng(seed))) == len(words)


@given(WORDS, GAMMA, SEED)
def test_replaced_words_are_other_words_of_the_vocabulary(words: list[str], gamma: float, seed: int) -> None:
    result = replaced(words, gamma, VOCABULARY, rng(seed))
    assert differences(words, result) == min(len(words), max(2, round(gamma * len(words))))
    assert all(new in VOCABULARY for old, new in zip(words, result) if old != new)


@given(WORDS, SEED)
def test_gamma_0_changes_nothing(words: list[str], seed: int) -> None:
    assert permuted(words, 0.0, rng(seed)) == words
    assert replaced(words, 0.0, VOCABULARY, rng(seed)) == words
    assert other_captions(words, range(len(words)), np.zeros((len(words), 2)), 0.0, rng(seed)) == words


@given(WORDS, GAMMA, SEED)
def test_the_same_seed_gives_the_same_caption(words: list[str], gamma: float, seed: int) -> None:
    assert permuted(words, gamma, rng(seed)) == permuted(words, gamma, rng(seed))
    assert replaced(words, gamma, VOCABULARY, rng(seed)) == replaced(words, gamma, VOCABULARY, rng(seed))


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_gamma_must_be_a_share(gamma: float) -> None:
    with pytest.raises(CapevalError, match="from 0 to 1"):
        permuted(["a", "b"], gamma, rng())
    with pytest.raises(CapevalError, match="from 0 to 1"):
        other_images(np.eye(3), gamma, rng())


def test_a_vocabulary_without_another_word_is_refused() -> None:
    with pytest.raises(CapevalError, match="no other word"):
        replaced(["dog", "dog"], 1.0, ["dog"], rng())
    with pytest.raises(CapevalError, match="empty"):
        replaced(["dog", "dog"], 1.0, [], rng())


@given(st.integers(2, 40), st.integers(1, 5), GAMMA, SEED)
def test_other_images_are_among_the_nearest(count: int, dimensions: int, gamma: float, seed: int) -> None:
    features = rng(seed).normal(size=(count, dimensions))
    chosen = other_images(features, gamma, rng(seed))
    assert (chosen != np.arange(count)).all()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    near = max(1, round(gamma * (count - 1)))
    threshold = np.sort(cosine, axis=1)[:, -near]
    assert (cosine[np.arange(count), chosen] >= threshold - 1e-5).all()


def test_blocks_do_not_change_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    features = rng(1).normal(size=(50, 8))
    whole = other_images(features, 0.3, rng(2))
    monkeypatch.setattr("capeval.perturb.transforms._BLOCK", 150)
    assert (other_images(features, 0.3, rng(2)) == whole).all()


def test_all_near_images_are_chosen_some_time() -> None:
    features = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1], [0.0, 1.0], [0.0, -1.0]])
    chosen = {int(other_images(features, 0.5, rng(seed))[0]) for seed in range(50)}
    assert chosen == {1, 2}


def test_other_captions_come_from_other_images() -> None:
    captions, image = ["a0", "a1", "b0", "c0", "c1"], [0, 0, 1, 2, 2]
    for seed in range(20):
        result = other_captions(captions, image, np.eye(3), 1.0, rng(seed))
        assert all(text[0] != own[0] for text, own in zip(result, captions))


def test_other_captions_need_features_for_every_image() -> None:
    with pytest.raises(CapevalError, match="2 images have captions"):
        other_captions(["a", "b"], [0, 1], np.eye(3), 0.5, rng())
    with pytest.raises(CapevalError, match="one image alone"):
        other_images(np.eye(1), 0.5, rng())


def test_images_with_the_same_words_are_near() -> None:
    references = [[["a", "dog", "runs"]], [["a", "dog", "sits"]], [["a", "red", "bus"]]]
    features = text_features(references)
    assert features.shape == (3, 6)
    cosine = features @ features.T
    assert cosine[0, 1] > cosine[0, 2] == 0
    assert np.allclose(np.diag(cosine), 1)


def test_many_words_take_bounded_memory() -> None:
    features = text_features([[[f"word{i}", f"word{i + 1}"]] for i in range(3000)])
    assert features.shape == (3000, 1024)
    assert (np.linalg.norm(features, axis=1) <= 1 + 1e-6).all()
