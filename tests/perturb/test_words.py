"""Lists of words."""

from __future__ import annotations

from capeval.perturb.words import PERSONS, with_articles


def test_articles_follow_the_next_word() -> None:
    assert with_articles(["a", "old", "man", "with", "an", "cat"]) == ["an", "old", "man", "with", "a", "cat"]


def test_persons_contradict_each_other() -> None:
    def wrong(a: str, b: str) -> bool:
        return PERSONS[a].contradicts(PERSONS[b])

    assert wrong("man", "woman")
    assert wrong("man", "boy")
    assert wrong("surfer", "soldier")
    assert not wrong("man", "player")
    assert not wrong("person", "girl")
    assert not wrong("man", "guy")
