"""English words and what they mean: WordNet's synsets and irregular forms, as METEOR 1.5 carries them.

`data/meteor/LICENSE-wordnet.txt` has the licence of the data; `tools/build_meteor_data.py` makes the files.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from capeval.io.shipped import shipped
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

    def __init__(self, words: bytes, synset_counts: Ints, synsets: Ints, irregular: dict[str, list[str]]) -> None:
        """`words` are sorted, UTF-8, a line each."""
        self._text = words + b"\n"
        units = np.frombuffer(self._text, np.uint8)
        self._starts = np.concatenate([[0], np.flatnonzero(units == ord("\n")) + 1])
        self._offsets: list[int] = np.concatenate([[0], np.cumsum(synset_counts, dtype=np.int64)]).tolist()
        self._synsets = synsets
        self._irregular = irregular
        if len(self) != len(synset_counts) or self._offsets[-1] != len(synsets):
            raise ValueError("the lexicon's tables do not fit together")
        # Words with the same two first bytes are a bucket. It is read when one of them is asked for: few captions
        # need few buckets.
        first = self._starts[:-1]
        prefixes = units[first].astype(np.int64) << 8 | units[first + 1]
        edges = np.concatenate([[0], np.flatnonzero(np.diff(prefixes)) + 1, [len(self)]]).tolist()
        self._unread = {self._text[self._starts[a] : self._starts[a] + 2]: (a, b) for a, b in pairwise(edges)}
        self._read: dict[bytes, dict[bytes, int]] = {}

    def __contains__(self, word: str) -> bool:
        return self._number(word) is not None

    def __len__(self) -> int:
        return len(self._starts) - 1

    def _number(self, word: str) -> int | None:
        spelling = word.encode(errors="surrogatepass")
        prefix = (spelling + b"\n")[:2]
        bucket = self._read.get(prefix)
        if bucket is None:
            first, last = self._unread.get(prefix, (0, 0))
            words = self._text[self._starts[first] : self._starts[last]].split(b"\n")
            bucket = self._read[prefix] = dict(zip(words, range(first, last)))
        return bucket.get(spelling)

    def synsets(self, word: str) -> list[int]:
        """The synsets that list the word itself, ascending."""
        number = self._number(word)
        if number is None:
            return []
        found: list[int] = self._synsets[self._offsets[number] : self._offsets[number + 1]].tolist()
        return found

    def base_forms(self, word: str) -> list[str]:
        """What an inflected word comes from: all it is an irregular form of, else by the first rule that fits."""
        if word in self._irregular:
            return self._irregular[word]
        if word.endswith("ss") or len(word) <= 2:
            return [word]
        if word.endswith(SUFFIXES):
            for suffix, ending in SUFFIX_RULES:
                if word.endswith(suffix) and (base := word.removesuffix(suffix) + ending) in self:
                    return [base]
        return []

    def meanings(self, word: str) -> list[int]:
        """The synsets of the word and of its base forms, ascending."""
        own = self.synsets(word)
        others = [base for base in self.base_forms(word) if base != word]
        return sorted({*own, *(synset for base in others for synset in self.synsets(base))}) if others else own


@cache
def load_lexicon() -> Lexicon:
    with np.load(shipped("meteor", "wordnet.npz")) as tables:
        lines = tables["irregular"].tobytes().decode().split("\n")
        irregular = {form: bases for form, *bases in (line.split(" ") for line in lines)}
        return Lexicon(tables["words"].tobytes(), tables["synset_counts"], tables["synsets"], irregular)


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
    return shipped("meteor", name).read_text(encoding="utf-8").splitlines()
