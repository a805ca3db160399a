"""Sound captions in other manners: sentences in a row, and inventories."""

from __future__ import annotations

import re

import numpy as np

from capeval.perturb.manners import in_a_row, inventory
from capeval.perturb.words import SIMILAR_COLOURS
from capeval.perturb.worse import Tagged

CAPTION = Tagged(
    ["a", "man", "rides", "a", "red", "bike", "on", "the", "beach", "with", "two", "dogs"],
    ["DT", "NN", "VBZ", "DT", "JJ", "NN", "IN", "DT", "NN", "IN", "CD", "NNS"],
)


def test_sentences_in_a_row_keep_their_words_and_tags() -> None:
    other = Tagged(["dogs", "run"], ["NNS", "VBP"])
    found = in_a_row([CAPTION, other])
    assert found.words == [*CAPTION.words, "dogs", "run"]
    assert found.tags == [*CAPTION.tags, "NNS", "VBP"]


def test_an_inventory_counts_the_captions_things_or_strings_them_together() -> None:
    made = [inventory(CAPTION, np.random.default_rng(seed)) for seed in range(60)]
    assert made == [inventory(CAPTION, np.random.default_rng(seed)) for seed in range(60)]
    counted = 0
    for each in made:
        assert each is not None
        assert len(each.words) == len(each.tags)
        things = {word for word, tag in zip(*each) if tag == "NN"} - {"photograph", "picture"}
        assert things <= {"man", "bike", "beach"}
        assert len(things) >= 2
        assert {word for word, tag in zip(*each) if tag == "JJ"} - {"next"} <= set(SIMILAR_COLOURS)
        text = " ".join(each.words)
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", text), text
        counted += " one " in text
    assert 20 < counted < 60


def test_one_thing_makes_no_inventory() -> None:
    assert inventory(Tagged(["a", "dog", "runs"], ["DT", "NN", "VBZ"]), np.random.default_rng(0)) is None
