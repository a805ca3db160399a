"""Main words, and captions in which one of them is exchanged, by our own parser.

What class a word has is learned once, from some parsed captions; a word that is now this, now that is of no class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from capeval.perturb.words import SIMILAR_COUNTS
from capeval.scene import dependencies_of
from capeval.text.tokenize import tokenize
from capeval.text.vocabulary import PAD, UNK, Ids, Vocabulary
from capeval.train.captions import CaptionTable
from capeval.types import Floats, Longs

MAIN = ("NN", "VB", "JJ", "CD")
"""Tags of main words begin so."""
_EXCHANGED = ("NN", "NNS", "VBG", "VBZ", "VBP", "VBD", "VBN", "CD")
# What says nothing of a picture, whatever its tag is.
_SAYS_NOTHING = "is are be being been was were has have having had do does"
_NO_ACTIONS = frozenset(_SAYS_NOTHING.split())
_SURE = 0.8
_SELDOM = 5
_TRIES = 4


class WordClasses:
    """For each number of a vocabulary: how surely it is a main word, and its class (0: none)."""

    def __init__(self, vocabulary: Vocabulary, captions: Sequence[str]) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        for words in dependencies_of([" ".join(words) for words in tokenize(captions)], "fast"):
            counts.update((token.word, token.tag) for token in words[0])
        size = len(vocabulary)
        every, main = np.zeros(size), np.zeros(size)
        by_class = np.zeros((len(_EXCHANGED), size))
        for (word, tag), count in counts.items():
            number = vocabulary[word]
            every[number] += count
            main[number] += count * (tag[:2] in MAIN and word not in _NO_ACTIONS)
            if tag in _EXCHANGED and word not in _NO_ACTIONS:
                by_class[_EXCHANGED.index(tag), number] += count
        # A number is one wherever it stands; other words are of a class if they nearly always are.
        numbers = [vocabulary[word] for word in SIMILAR_COUNTS]
        by_class[:, numbers] = 0
        by_class[_EXCHANGED.index("CD"), numbers] = every[numbers]
        sure = by_class.max(0) >= np.maximum(_SURE * every, _SELDOM)
        self.kind = np.where(sure, by_class.argmax(0) + 1, 0)
        self.kind[: UNK + 1] = 0
        self.main = np.where(every > 0, main / np.maximum(every, 1), 1.0).astype(np.float32)
        self._often = by_class.sum(0)
        self._members = [np.flatnonzero(self.kind == kind) for kind in range(len(_EXCHANGED) + 1)]

    def weights(self, function_words: float) -> Floats:
        """What each word counts in the mean of a caption's words; nothing after the end."""
        found = function_words + (1 - function_words) * self.main
        found[PAD] = 0
        return found.astype(np.float32)

    def exchanged(self, rows: Ids, known: Mentioned, images: Longs, random: np.random.Generator) -> Ids:
        """Captions with one word exchanged for another of its class that no caption of the picture has.

        A caption in which nothing can be exchanged stays as it is.
        """
        chance = np.where(self.kind[rows] > 0, random.random(rows.shape), -1.0)
        place = chance.argmax(1)
        here = np.arange(len(rows))
        kinds = np.where(chance[here, place] >= 0, self.kind[rows[here, place]], 0)
        found = rows.copy()
        for kind in range(1, len(self._members)):
            members = self._members[kind]
            if len(members) < 2:
                continue
            shares = np.cumsum(self._often[members] ** 0.75)
            for _ in range(_TRIES):
                some = np.flatnonzero((kinds == kind) & (found[here, place] == rows[here, place]))
                drawn = np.searchsorted(shares, random.random(len(some)) * shares[-1])
                other = members[np.minimum(drawn, len(members) - 1)]
                new = ~known.has(images[some], other)
                found[some[new], place[some[new]]] = other[new]
        return found


class Mentioned:
    """Which words the captions of a picture have."""

    def __init__(self, table: CaptionTable, words: int) -> None:
        self._words = words
        self._pairs = np.unique(table.owners()[:, None] * words + table.tokens)

    def has(self, images: Longs, word: Longs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        wanted = images * self._words + word
        place = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
        return np.asarray(self._pairs[place] == wanted)
