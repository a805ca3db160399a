"""Captions made wrong or broken: each way does what it says, and nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from capeval.perturb.worse import BROKEN, HALVED, JOINED, WRONG, Tagged, Worsener

CAPTIONS = [
    Tagged(
        ["a", "man", "rides", "a", "red", "bike", "on", "the", "beach"],
        ["DT", "NN", "VBZ", "DT", "JJ", "NN", "IN", "DT", "NN"],
    ),
    Tagged(
        ["two", "dogs", "play", "with", "a", "blue", "ball", "in", "a", "park"],
        ["CD", "NNS", "VBP", "IN", "DT", "JJ", "NN", "IN", "DT", "NN"],
    ),
    Tagged(
        ["an", "old", "woman", "reads", "a", "long", "book", "near", "three", "cats"],
        ["DT", "JJ", "NN", "VBZ", "DT", "JJ", "NN", "IN", "CD", "NNS"],
    ),
    Tagged(
        ["a", "big", "train", "stops", "at", "a", "small", "station"], ["DT", "JJ", "NN", "VBZ", "IN", "DT", "JJ", "NN"]
    ),
]


@pytest.fixture
def worsener() -> Worsener:
    return Worsener(CAPTIONS)


def drawn(worsener: Worsener, kind: str, number: int = 0, known: tuple[str, ...] = ()) -> list[list[str]]:
    found = []
    for seed in range(30):
        made = worsener.worse(kind, CAPTIONS[number], known, CAPTIONS[1].words, np.random.default_rng(seed))
        if made is not None:
            found.append(list(made))
    return found


@pytest.mark.parametrize("kind", [*WRONG, *BROKEN, JOINED])
def test_every_way_changes_the_caption_and_seeds_decide(worsener: Worsener, kind: str) -> None:
    made = drawn(worsener, kind)
    assert made
    assert all(words != list(CAPTIONS[0].words) for words in made)
    assert made == drawn(worsener, kind)
    assert len({tuple(words) for words in made}) > 1 or kind == JOINED


def test_one_word_is_exchanged_for_one_of_its_kind(worsener: Worsener) -> None:
    kinds = {word: tag for caption in CAPTIONS for word, tag in zip(*caption)}
    for words in drawn(worsener, "exchanged"):
        assert len(words) == len(CAPTIONS[0].words)
        different = [(old, new) for old, new in zip(CAPTIONS[0].words, words) if old != new and old not in ("a", "an")]
        assert len(different) == 1
        ((old, new),) = different
        assert new in kinds or old == "red"  # colours give way to any colour
        assert old == "red" or kinds[new] == kinds[old]


def test_words_that_are_right_are_never_put_in(worsener: Worsener) -> None:
    known = ("woman", "ball", "park", "book", "train", "station")
    for kind in ("exchanged", "added"):
        for words in drawn(worsener, kind, 0, known):
            assert not set(words) & set(known)


def test_swapped_words_are_the_same_words(worsener: Worsener) -> None:
    for words in drawn(worsener, "swapped"):
        without = [word for word in words if word not in ("a", "an")]
        assert Counter(without) == Counter(word for word in CAPTIONS[0].words if word != "a")
        assert sum(a != b for a, b in zip(words, CAPTIONS[0].words) if a not in ("a", "an")) == 2


def test_half_of_a_caption_is_its_beginning(worsener: Worsener) -> None:
    assert drawn(worsener, HALVED)[0] == ["a", "man", "rides", "a"]
    assert worsener.worse(HALVED, Tagged(["man"], ["NN"]), (), (), np.random.default_rng(0)) is None


def test_a_cut_caption_stops_where_more_was_to_come(worsener: Worsener) -> None:
    words, tags = CAPTIONS[0]
    for made in drawn(worsener, "cut"):
        assert made == list(words[: len(made)])
        assert 3 <= len(made) < len(words)
        assert tags[len(made) - 1] in ("VBZ", "DT", "JJ", "IN")
    short = Tagged(["dogs", "run"], ["NNS", "VBP"])
    assert worsener.worse("cut", short, (), (), np.random.default_rng(0)) is None


def test_a_man_and_a_woman_do_not_change_places() -> None:
    caption = Tagged(["a", "man", "and", "a", "woman", "sit"], ["DT", "NN", "CC", "DT", "NN", "VBP"])
    for seed in range(20):
        assert Worsener([caption]).swapped(caption, (), np.random.default_rng(seed)) is None


def test_what_is_added_comes_beside_the_whole_caption(worsener: Worsener) -> None:
    for words in drawn(worsener, "added"):
        rest = iter(words)
        kept = [word for word in CAPTIONS[0].words if word not in ("a", "an")]
        assert all(word in rest for word in kept), words  # all of them, in their order
        assert len(words) > len(CAPTIONS[0].words)


def test_articles_fit(worsener: Worsener) -> None:
    for kind in ("exchanged", "swapped", "added"):
        for words in drawn(worsener, kind, 3):
            for article, following in pairwise(words):
                if article in ("a", "an"):
                    assert (article == "an") == (following[0] in "aeiou")


def test_joined_and_repeated(worsener: Worsener) -> None:
    assert drawn(worsener, JOINED)[0] == [*CAPTIONS[0].words, *CAPTIONS[1].words]
    assert any(words == [word for word in CAPTIONS[0].words for _ in "ab"] for words in drawn(worsener, "repeated"))
    assert all(len(words) > len(CAPTIONS[0].words) for words in drawn(worsener, "repeated"))


def test_a_caption_that_cannot_be_made_wrong() -> None:
    caption = Tagged(["the"], ["DT"])
    assert Worsener([caption]).exchanged(caption, (), np.random.default_rng(0)) is None
    assert Worsener([caption]).swapped(caption, (), np.random.default_rng(0)) is None
