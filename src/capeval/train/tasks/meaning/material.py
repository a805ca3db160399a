"""What the sentence encoder learns from: judged captions, captions beside each other, and worse ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from capeval.perturb.worse import JOINED, WRONG, Tagged, Worsener, tagged
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.train.data import captions, some_of
from capeval.train.parts import Judged, Swapped
from capeval.train.task import Inputs
from capeval.train.tasks.meaning.config import Config

Words = Sequence[str]
_BROKEN = ("permuted", "replaced", "repeated", "padded", JOINED, "listed", "cut")
"""As the encoder that comes with capeval has learned: to it captions that were joined are broken."""
_OFTEN = {"permuted": 4, "replaced": 2, "cut": 2}
"""Permuted words are the hardest to hear."""


class Item(NamedTuple):
    """A caption beside another one of its picture, and the same made worse."""

    beside: Words
    caption: Words
    worse: Words
    is_broken: bool


class Pair(NamedTuple):
    one: Words
    other: Words
    score: float


class Group(NamedTuple):
    caption: Words
    beside: tuple[Words, ...]
    score: float


class Beside:
    """Pictures of one source with their tokenised captions, of which some become worse."""

    def __init__(self, source: str, config: Config, inputs: Inputs) -> None:
        every = {image: texts for image, texts in captions(source, "train", inputs.data).items() if len(texts) > 1}
        images = some_of(sorted(every), config.captions)
        tokens = iter(tokenize([text for image in images for text in every[image]], inputs.run))
        self.captions = [[next(tokens) for _ in every[image]] for image in images]
        self.captions = [kept for several in self.captions if len(kept := [each for each in several if each]) > 1]
        self.tagged = tagged([several[0] for several in self.captions], inputs.run)
        self.known = [{word for each in several for word in each} for several in self.captions]

    def __len__(self) -> int:
        return len(self.captions)

    def draw(self, worsener: Worsener, broken: float, random: np.random.Generator) -> Item:
        kinds = [kind for kind in _BROKEN for _ in range(_OFTEN.get(kind, 1))] if random.random() < broken else WRONG
        while True:
            number, other = random.integers(len(self), size=2).tolist()
            kind = kinds[int(random.integers(len(kinds)))]
            several = self.captions[number]
            # Only first captions are parsed; they make the worse ones, and any other stands beside.
            worse = worsener.worse(kind, self.tagged[number], self.known[number], self.captions[other][-1], random)
            if worse is not None:
                beside = several[1 + int(random.integers(len(several) - 1))]
                return Item(beside, several[0], worse, kind in _BROKEN)


def tokenised_pairs(rows: Sequence[Judged], run: Run) -> list[Pair]:
    texts = iter(tokenize([text for row in rows for text in (row.candidate, row.references[0])], run))
    return [Pair(next(texts), next(texts), row.score) for row in rows]


def tokenised_groups(rows: Sequence[Judged], run: Run) -> list[Group]:
    texts = iter(tokenize([text for row in rows for text in (row.candidate, *row.references)], run))
    return [Group(next(texts), tuple(next(texts) for _ in row.references), row.score) for row in rows]


def tokenised_swaps(rows: Sequence[Swapped], run: Run) -> list[tuple[Words, Words, tuple[Words, ...]]]:
    """Caption, the same with words swapped, and other captions of the picture."""
    texts = iter(tokenize([text for row in rows for text in (row.positive, row.negative, *row.references)], run))
    return [(next(texts), next(texts), tuple(next(texts) for _ in row.references)) for row in rows]


def broken_captions(
    given: Sequence[Tagged], worsener: Worsener, kinds: Sequence[str], random: np.random.Generator
) -> list[Words]:
    """Captions made worse, each in the next of the ways."""
    found: list[Words] = []
    for place, caption in enumerate(given):
        worse = worsener.worse(kinds[place % len(kinds)], caption, (), given[place - 1].words, random)
        found.append(worse if worse is not None else [])
    return found
