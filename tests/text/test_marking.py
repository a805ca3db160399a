"""Which words of a caption its references have too."""

from __future__ import annotations

from capeval.text.marking import mark


def test_words_are_marked_as_they_were_written() -> None:
    ((*words,),) = mark(["A Dog runs, fast on grass."], [["the hound is running", "a dog"]])
    assert [(word.text, word.fate) for word in words] == [
        ("A", ""), ("Dog", "match"), ("runs,", "near"), ("fast", "miss"), ("on", ""), ("grass.", "miss"),
    ]  # fmt: skip
    assert words[2].note == "references: running"


def test_synonyms() -> None:
    ((word,),) = mark(["bicycle"], [["bike"]])
    assert (word.fate, word.note) == ("near", "references: bike")


def test_without_references_nothing_is_marked() -> None:
    assert [word.fate for word in mark(["a dog <b>"], [[]])[0]] == ["", "", ""]
    assert mark([""], [["a dog"]]) == [()]
