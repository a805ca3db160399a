"""WordNet's tables: known words, irregular and regular forms, and that the files are whole."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.text.lexicon import Lexicon, function_words, load_lexicon, nonbreaking_prefixes


@pytest.mark.parametrize(
    ("word", "bases"),
    [
        ("geese", ["goose"]),
        ("men", ["man"]),
        ("dogs", ["dog"]),
        ("boxes", ["box"]),
        ("ponies", ["pony"]),
        ("riding", ["ride"]),
        ("walked", ["walk"]),
        ("firemen", ["fireman"]),
        ("bigger", ["big"]),
        ("grass", ["grass"]),
        ("is", ["be", "is"]),
        ("by", ["by"]),
        ("zzzs", []),
        ("", [""]),
    ],
)
def test_base_forms(word: str, bases: list[str]) -> None:
    assert load_lexicon().base_forms(word) == bases


def test_synonyms_share_a_synset() -> None:
    lexicon = load_lexicon()
    assert {*lexicon.meanings("bicycles")} & {*lexicon.meanings("bike")}
    assert not {*lexicon.meanings("bicycle")} & {*lexicon.meanings("dog")}
    assert "hot_dog" in lexicon
    assert lexicon.meanings("qqqq") == []


def test_meanings_are_of_the_word_and_its_base_forms() -> None:
    lexicon = Lexicon(
        b"axe\naxes\naxis", np.array([1, 2, 1], np.int32), np.array([10, 20, 21, 30], np.int32),
        {"axes": ["axe", "axis"]},
    )  # fmt: skip
    assert lexicon.synsets("axes") == [20, 21]
    assert lexicon.meanings("axes") == [10, 20, 21, 30]


def test_words_are_found_whatever_their_beginning() -> None:
    words = ["'hood", "a", "ab", "abc", "b", "é", "éa"]
    lexicon = Lexicon("\n".join(words).encode(), np.ones(7, np.int32), np.arange(7, dtype=np.int32), {})
    assert [lexicon.synsets(word) for word in words] == [[i] for i in range(7)]
    assert not any(
        word in lexicon for word in ["", "'", "'h", "ac", "c", "É", "a\n", "\n", "\nab", "ab\nabc", "\ud83d"]
    )


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Lexicon(b"a", np.array([2], np.int32), np.array([1], np.int32), {})


def test_the_shipped_lists_are_whole() -> None:
    assert len(function_words()) == 93
    assert {"the", ",", "'s", "’"} <= function_words()
    always, before_number = nonbreaking_prefixes()
    assert len(always) == 90
    assert before_number == {"No", "Art", "pp"}
    assert len(load_lexicon()) == 147_306
