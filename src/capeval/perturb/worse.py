"""Captions made wrong in what they say or in how they say it, by our own parser, to train metrics with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from capeval.perturb.transforms import permuted, replaced
from capeval.perturb.words import SIMILAR_COLOURS, SIMILAR_COUNTS, with_articles
from capeval.run import Run
from capeval.scene import dependencies_of
from capeval.text.lexicon import function_words

Words = list[str]

WRONG = ("exchanged", "swapped", "added")
"""Another noun, verb, number or colour; two words that have changed places; a thing or a property too many."""
JOINED = "joined"
"""A caption of another picture added: each is a sound sentence, and one of them is wrong."""
HALVED = "halved"
"""Its first half, which may be a sound sentence that says less."""
BROKEN = ("permuted", "replaced", "repeated", "padded", "listed", "cut")
"""No person writes so: words in disorder, random words, words or the caption twice, frequent words added, a list of
things, a sentence that stops short of what it was about to say."""

_EXCHANGED = ("NN", "NNS", "VBG", "VBZ", "VBP", "VBD", "VBN", "CD", "JJ")
_FAMILIES = ("NN", "JJ", "CD", "VB")
_LINKS = ("with", "next to", "and", "near", "beside", "behind", "holding")
_NO_ACTIONS = frozenset(
    ["is", "are", "be", "being", "been", "was", "were", "has", "have", "having", "had", "do", "does"]
)
_UNDONE = ("DT", "IN", "CC", "TO", "PRP$", "POS", "JJ", "WDT")
"""Tags of words after which a sentence asks for another one. Not after a verb: a man running is somebody."""
_GENTLEST = 0.15
_TRIES = 8
_SELDOM = 3
_LISTED = 12


class Tagged(NamedTuple):
    """A caption with the tags of its words."""

    words: Sequence[str]
    tags: Sequence[str]


def tagged(captions: Sequence[Sequence[str]], run: Run | None = None) -> list[Tagged]:
    """Tokenised captions with tags by our own parser."""
    found = []
    for tokens, *_ in dependencies_of([" ".join(words) for words in captions], "fast", run):
        found.append(Tagged([token.word for token in tokens], [token.tag for token in tokens]))
    return found


class Worsener:
    """Makes captions worse with the words of a set of captions.

    `gentleness`: 1 draws the share of words that move or give way evenly, more draws small shares more often.
    """

    def __init__(self, captions: Iterable[Tagged], gentleness: float = 1.0) -> None:
        self._gentleness = gentleness
        counts: Counter[tuple[str, str]] = Counter()
        for caption in captions:
            counts.update(zip(caption.tags, caption.words))
        self._pools: dict[str, tuple[Words, np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
        for tag in _EXCHANGED:
            often = {word: count for (its, word), count in counts.items() if its == tag and _says(word)}
            kept = sorted(word for word, count in often.items() if count >= _SELDOM) or sorted(often)
            # By the root of how often: rare words are seen too.
            self._pools[tag] = (kept, np.cumsum(np.sqrt([often[word] for word in kept])))
        self._colours, self._counts = sorted(SIMILAR_COLOURS), sorted(SIMILAR_COUNTS)
        self._every = sorted({word for _, word in counts})
        frequent = Counter[str]()
        for (_, word), count in counts.items():
            frequent[word] += count
        self._frequent = [word for word, _ in frequent.most_common(10)]
        self._ways: dict[str, Callable[[Tagged, Collection[str], np.random.Generator], Words | None]] = {
            "exchanged": self.exchanged, "swapped": self.swapped, "added": self.added, "permuted": self._permuted,
            "replaced": self._replaced, "repeated": self._repeated, "padded": self._padded, "listed": self._listed,
            "cut": self._cut, HALVED: self._halved,
        }  # fmt: skip

    def worse(
        self, kind: str, caption: Tagged, known: Collection[str], other: Sequence[str], random: np.random.Generator
    ) -> Words | None:
        """The caption made worse in one way; None where that cannot be.

        `known`: words that are right for the picture, `other`: a caption of another one.
        """
        if kind == JOINED:
            return [*caption.words, *other]
        return self._ways[kind](caption, known, random)

    def exchanged(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        for place in random.permutation(len(caption.words)).tolist():
            word, tag = caption.words[place], caption.tags[place]
            if word in SIMILAR_COLOURS:
                other = self._of(self._colours, known, random)
            elif word in SIMILAR_COUNTS:
                other = self._of(self._counts, known, random)
            elif tag in self._pools and _says(word):
                other = self._drawn(tag, known, random)
            else:
                continue
            if other and other != word:
                return with_articles([*caption.words[:place], other, *caption.words[place + 1 :]])
        return None

    def swapped(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        """Two words of one kind, such as two nouns, change places."""
        families = [
            [place for place, (word, tag) in enumerate(zip(*caption)) if tag.startswith(family) and _says(word)]
            for family in _FAMILIES
        ]
        able = [places for places in families if len({caption.words[place] for place in places}) > 1]
        for _ in range(_TRIES if able else 0):
            places = able[int(random.integers(len(able)))]
            one, other = random.choice(places, 2, replace=False).tolist()
            between = caption.words[min(one, other) + 1 : max(one, other)]
            # A man and a woman are a woman and a man.
            if caption.words[one] != caption.words[other] and "and" not in between:
                words = list(caption.words)
                words[one], words[other] = words[other], words[one]
                return with_articles(words)
        return None

    def added(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        nouns = [place for place, tag in enumerate(caption.tags) if tag.startswith("NN")]
        words = list(caption.words)
        if nouns and random.random() < 0.5:
            place = nouns[int(random.integers(len(nouns)))]
            is_colour = random.random() < 0.3
            other = self._of(self._colours, known, random) if is_colour else self._drawn("JJ", known, random)
            return with_articles([*words[:place], other, *words[place:]]) if other else None
        if noun := self._drawn("NN", known, random):
            link = _LINKS[int(random.integers(len(_LINKS)))].split()
            # After a noun, so that what follows it is still said of something.
            place = nouns[int(random.integers(len(nouns)))] + 1 if nouns and random.random() < 0.5 else len(words)
            return with_articles([*words[:place], *link, "a", noun, *words[place:]])
        return None

    def _permuted(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        words = permuted(caption.words, self._share(random), random)
        return words if words != list(caption.words) else None

    def _replaced(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        return replaced(caption.words, self._share(random), self._every, random)

    def _share(self, random: np.random.Generator) -> float:
        return float(_GENTLEST + (1 - _GENTLEST) * random.random() ** self._gentleness)

    def _repeated(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        words = list(caption.words)
        way = random.integers(3)
        if way == 0:
            return [word for word in words for _ in (1, 2)]
        if way == 1:
            return words * int(random.integers(2, 4))
        begin = int(random.integers(len(words))) if words else 0
        end = begin + 1 + int(random.integers(4))
        return [*words[:end], *words[begin:end], *words[end:]] if words else None

    def _padded(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        count = int(random.integers(2, len(caption.words) + 3))
        return [*caption.words, *(self._frequent[place % len(self._frequent)] for place in range(count))]

    def _cut(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        """Only the beginning, up to a word that asks for another one."""
        ends = [place for place, tag in enumerate(caption.tags) if tag in _UNDONE and 1 < place < len(caption.tags) - 1]
        return list(caption.words[: ends[int(random.integers(len(ends)))] + 1]) if ends else None

    def _halved(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        return list(caption.words[: len(caption.words) // 2]) or None

    def _listed(self, caption: Tagged, known: Collection[str], random: np.random.Generator) -> Words | None:
        """The caption's nouns among many others, joined by `and` or by nothing."""
        own = [word for word, tag in zip(*caption) if tag.startswith("NN")]
        others = [self._drawn("NN", (), random) for _ in range(_LISTED)]
        words = [*own, *filter(None, others)]
        shuffled = [words[place] for place in random.permutation(len(words)).tolist()]
        if random.random() < 0.5:
            return shuffled
        return with_articles(["a", *(part for word in shuffled for part in (word, "and", "a"))][:-2])

    def _drawn(self, tag: str, known: Collection[str], random: np.random.Generator) -> str:
        words, ends = self._pools[tag]
        for _ in range(_TRIES if words else 0):
            word = words[int(np.searchsorted(ends, random.random() * ends[-1], side="right"))]
            if word not in known:
                return word
        return ""

    def _of(self, words: Sequence[str], known: Collection[str], random: np.random.Generator) -> str:
        able = [word for word in words if word not in known]
        return able[int(random.integers(len(able)))] if able else ""


def _says(word: str) -> bool:
    """Whether a word tells something of a picture."""
    return word.isalpha() and len(word) > 2 and word not in _NO_ACTIONS and word not in function_words()
