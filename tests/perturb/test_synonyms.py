"""Synonyms in the form of the word."""

from __future__ import annotations

import pytest

from capeval.perturb.synonyms import thesaurus


@pytest.mark.parametrize(
    ("word", "synonym"),
    [
        ("kids", "youngsters"),
        ("running", "sprinting"),
        ("walks", "strolls"),
        ("couch", "sofa"),
        ("car", "auto"),
        ("children", "kids"),
    ],
)
def test_synonyms_are_used_like_the_word(word: str, synonym: str | None) -> None:
    found = thesaurus().synonyms(word)
    assert word not in found
    if synonym:
        assert synonym in found
    if word.endswith("ing"):
        assert all(each.endswith("ing") for each in found)


def test_rare_senses_are_no_synonyms() -> None:
    assert not {"frank", "cad", "heel", "hound"} & set(thesaurus().synonyms("dog")) - {"hound"}
