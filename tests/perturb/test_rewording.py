"""The same in other words."""

from __future__ import annotations

from capeval.perturb.rewording import REWORDINGS, reordered, reworded, with_synonyms


def test_words_are_replaced_and_moved() -> None:
    assert with_synonyms(["a", "couch"]) == "a sofa"
    assert with_synonyms(["of", "the"]) is None
    assert reordered(["a", "man", "sits", "in", "a", "boat"]) == "in a boat a man sits"
    assert reordered(["in", "a", "boat"]) is None


def test_every_way_has_a_text_or_none_for_each_caption() -> None:
    captions = ["a man sits in a boat", "of the", ""]
    found = reworded(captions, seed=3)
    assert list(found) == list(REWORDINGS)
    assert all(len(texts) == 3 for texts in found.values())
    assert [found["synonyms"][1], found["word order"][1], found["redundancy"][2]] == [None, None, None]
    assert str(found["redundancy"][0]).startswith("a man sits in a boat ")
    assert reworded(captions, seed=3) == found
