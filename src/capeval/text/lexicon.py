"""English words and what they mean: WordNet's synsets and irregular forms, as METEOR 1.5 carries them.

`data/meteor/LICENSE-wordnet.txt` has the licence of the data; `tools/build_meteor_data.py` makes the files.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from capeval.types import Ints

# The suffix rules of WordNet's morphology, tried in this order.
SUFFIX_RULES = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)


SUFFIXES = tuple({suffix for suffix, _ in SUFFIX_RULES})


class Lexicon:
    """Synsets by word. Words of several parts are joined by underscores; synsets are numbers without a word class."""

    def __init__(self, words: list[str], synset_counts: Ints, synsets: Ints, irregular: dict[str, list[str]]) -> None:
        self._number = dict(zip(words, range(len(words))))
        self._offsets: list[int] = np.concatenate([[0], np.cumsum(synset_counts, dtype=np.int64)]).tolist()
        self._synsets: list[int] = synsets.tolist()
        self._irregular = irregular
        if len(self._number) != len(synset_counts) or self._offsets[-1] != len(synsets):
            raise ValueError("the lexicon's tables do not fit together")

    def __contains__(self, word: str) -> bool:
        return word in self._number

    def __len__(self) -> int:
        return len(self._number)

    def synsets(self, word: str) -> list[int]:
        """The synsets that list the word itself, ascending."""
        number = self._number.get(word)
        return [] if number is None else self._synsets[self._offsets[number] : self._offsets[number + 1]]

    def base_forms(self, word: str) -> list[str]:
        """What an inflected word comes from: all it is an irregular form of, else by the first rule that fits."""
        if word in self._irregular:
            return self._irregular[word]
        if word.endswith("ss") or len(word) <= 2:
            return [word]
        if word.endswith(SUFFIXES):
            for suffix, ending in SUFFIX_RULES:
                if word.endswith(suffix) and (base := word.removesuffix(suffix) + ending) in self._number:
                    return [base]
        return []

    def meanings(self, word: str) -> list[int]:
        """The synsets of the word and of its base forms, ascending."""
        own = self.synsets(word)
        others = [base for base in self.base_forms(word) if base != word]
        return sorted({*own, *(synset for base in others for synset in self.synsets(base))}) if others else own


@cache
def load_lexicon() -> Lexicon:
    with (files("capeval") / "data" / "meteor" / "wordnet.npz").open("rb") as stream, np.load(stream) as tables:
        words = _text(tables["words"]).split("\n")
        entries = [line.split(" ") for line in _text(tables["irregular"]).split("\n")]
        irregular = {form: bases for form, *bases in entries}
        return Lexicon(words, tables["synset_counts"], tables["synsets"], irregular)


@cache
def function_words() -> frozenset[str]:
    """The most frequent English words and punctuation marks, which count less in METEOR."""
    return frozenset(_lines("function-words.txt"))


@cache
def nonbreaking_prefixes() -> tuple[frozenset[str], frozenset[str]]:
    """Abbreviations that keep their dot: always, and only before a number."""
    lines = [line.split() for line in _lines("nonbreaking-prefixes.txt")]
    return frozenset(line[0] for line in lines if len(line) == 1), frozenset(line[0] for line in lines if len(line) > 1)


def _lines(name: str) -> list[str]:
    return (files("capeval") / "data" / "meteor" / name).read_text(encoding="utf-8").splitlines()


def _text(units: Any) -> str:
    return bytes(units).decode("utf-8")
