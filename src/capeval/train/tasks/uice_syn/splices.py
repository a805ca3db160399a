"""Sentences that begin in the corpus's style and end in another one: `two men sit on a bench | to win her heart`.

Whole sentences of another style are told by their first words. What makes a plain sentence one of another style, most
of all how it ends, is learned from these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain

import numpy as np

from capeval.train.tasks.uice_syn.corpus import Sentence

# Where a sentence can be taken apart.
_JOINTS = frozenset({"and", "as", "at", "before", "by", "for", "from", "in", "into", "like", "near", "of", "on", "over",
                     "through", "to", "towards", "while", "with"})  # fmt: skip
# What an ending begins with: an aim, a manner, a likeness, a reason; or a participle.
_BEGIN = frozenset(
    {"and", "as", "because", "for", "if", "in", "like", "so", "to", "towards", "while", "with", "without"}
)
# Stories are told in the past. An ending comes into the present where that is easily done, and else is not taken: the
# tense alone would give it away, and nothing else would be learned.
_PRESENT = {"was": "is", "were": "are", "had": "has", "did": "does", "could": "can", "would": "will", "i": "he",
            "me": "him", "my": "his"}  # fmt: skip
_TOLD = frozenset({"went", "came", "said", "thought", "knew", "felt", "stood", "took", "saw", "made", "left", "gave",
                   "heard", "found", "began", "sat", "might", "should", "must", "been", "there", "you",
                   "we"})  # fmt: skip
_FEWEST, _MOST = 3, 9  # words of an ending
_BEGINNING = 3  # words that are left of a sentence, at least


class Splices:
    """Ends sentences with endings of others."""

    def __init__(self, sentences: Sequence[Sentence], others: Sequence[Sentence], known: Set[str]) -> None:
        """Of the endings the half is taken that has most of the other style's words: the rest is as plain as the
        corpus's own (`in the broad daylight`). All of their words are `known`: what is not known is no sign of a
        style."""
        own, theirs = (Counter(chain.from_iterable(texts)) for texts in (sentences, others))
        every, all_theirs = max(1, sum(own.values())), max(1, sum(theirs.values()))

        def strange(word: str) -> float:
            return float(np.log((theirs[word] + 1) / all_theirs) - np.log((own[word] + 1) / every))

        endings = [ending for text in others for ending in _endings(text, known)]
        how = np.array([np.mean([strange(word) for word in ending]) for ending in endings])
        self.endings = [endings[place] for place in np.flatnonzero(how >= np.median(how))] if endings else []

    def splice(self, text: Sentence, most: int, random: np.random.Generator) -> Sentence:
        """The sentence up to a joint, or the whole of it, then an ending of the other style; `most` words at most."""
        ending = self.endings[int(random.integers(len(self.endings)))]
        places = [place for place in range(_BEGINNING, len(text)) if text[place] in _JOINTS]
        cut = [*places, len(text)][int(random.integers(len(places) + 1))]
        return [*text[: min(cut, max(1, most - len(ending)))], *ending]


def _endings(text: Sentence, known: Set[str]) -> Iterator[Sentence]:
    for place in range(max(1, len(text) - _MOST), len(text) - _FEWEST + 1):
        if text[place] in _BEGIN or text[place].endswith("ing"):
            ending = [_in_present(word, known) for word in text[place:]]
            if all(word in known and word not in _TOLD for word in ending):
                yield ending


def _in_present(word: str, known: Set[str]) -> str:
    """`loved` -> `loves`, `looked` -> `looks`: what is known; the rest stays."""
    if word.endswith("ed"):
        return next((each for each in (f"{word[:-1]}s", f"{word[:-2]}s") if each in known), word)
    return _PRESENT.get(word, word)
