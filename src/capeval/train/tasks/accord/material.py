"""Captions to learn from beside others of their picture: own ones, those of other pictures, worse ones, judged ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from capeval.errors import DataError
from capeval.perturb.worse import HALVED, JOINED, WRONG, Worsener, tagged
from capeval.runtime.meaning import Meaning
from capeval.text.tokenize import tokenize
from capeval.train.data import Split, captions, some_of
from capeval.train.parts import PartName, judged
from capeval.train.task import Inputs
from capeval.train.tasks.accord.config import Config
from capeval.train.tasks.sight.material import States
from capeval.types import Longs

OWN, NEAR, ANY, WORSE = range(4)
"""What a caption is beside a picture's: one of them, of a picture like it, of any other, or one of them made worse."""
_OFTEN = {"exchanged": 11, "swapped": 6, "added": 9, HALVED: 8, "permuted": 7, JOINED: 4, "replaced": 3, "cut": 2}
KINDS = tuple(_OFTEN)
"""How captions are made worse."""
assert set(WRONG) < set(KINDS)
_CAPTIONS = 5
_MADE = 3
"""Of a picture: captions that are made worse."""
_NEIGHBOURS = (0, 2, 5)
"""To validate: like a picture are the nearest one, the third and the sixth."""
_PIECES = 24
"""Of a caption that are kept; few have more."""


class Beside(NamedTuple):
    """A caption beside others, by their numbers."""

    candidate: int
    references: tuple[int, ...]
    score: float = 0.0
    """What people say, from 0 to 1."""
    is_own: bool = True


class Made(NamedTuple):
    """A caption that was made worse, by its number, and how."""

    caption: int
    kind: str


class Material:
    """All captions with what the sentence encoder knows of them."""

    def __init__(self, config: Config, meaning: Meaning, inputs: Inputs) -> None:
        self._config, self._inputs, self._random = config, inputs, np.random.default_rng(0)
        self._texts: list[list[str]] = []
        self._number: dict[tuple[str, ...], int] = {}
        self.pictures: list[Longs] = []
        """The captions of each."""
        self.sources = [self._pictures(source, "train", config.pictures) for source in config.sources]
        self.validation = {
            source: self._pictures(source, "val", config.validation_pictures) for source in config.validation
        }
        self.turned = np.array([its[self._random.integers(len(its))] for its in self.pictures], np.int64)
        """Of each picture the caption that was made worse."""
        self.made = self._worse()
        self.judged = {(kind, part): self._judged(kind, part) for kind in ("sits", "sts") for part in ("A", "C")}
        self.states = States.of(meaning, self._texts, inputs, _PIECES)
        self.sentences = self.states.sentences(len(self._texts))
        self.together = np.stack([self.sentences[its].mean(0) for its in self.pictures])
        """What the captions of each picture say."""

    def _add(self, words: Sequence[str]) -> int:
        """The number of a caption; the same words are read once."""
        number = self._number.setdefault(tuple(words), len(self._texts))
        if number == len(self._texts):
            self._texts.append(list(words))
        return number

    def _pictures(self, source: str, split: Split, most: int) -> Longs:
        every = {image: texts for image, texts in captions(source, split, self._inputs.data).items() if len(texts) > 1}
        images = some_of(sorted(every), most)
        if len(images) < 2:
            raise DataError(f"{source} ({split}) has fewer than two pictures with two captions each")
        words = iter(tokenize([text for image in images for text in every[image][:_CAPTIONS]], self._inputs.run))
        begin = len(self.pictures)
        for image in images:
            found = [self._add(its) for its in [next(words) for _ in every[image][:_CAPTIONS]] if its]
            if len(set(found)) > 1:
                self.pictures.append(np.array(list(dict.fromkeys(found)), np.int64))
        return np.arange(begin, len(self.pictures))

    def _worse(self) -> list[list[Made]]:
        """Of each picture, its caption made worse in some ways."""
        parsed = tagged([self._texts[caption] for caption in self.turned.tolist()], self._inputs.run)
        worsener, random = Worsener(parsed, self._config.gentleness), self._random
        often = np.array(list(_OFTEN.values()), float)
        found = []
        for caption, its in zip(parsed, self.pictures):
            known = {word for number in its.tolist() for word in self._texts[number]}
            other = parsed[int(random.integers(len(parsed)))].words
            kinds = [KINDS[int(kind)] for kind in random.choice(len(KINDS), _MADE, False, often / often.sum())]
            made = [(worsener.worse(kind, caption, known, other, random), kind) for kind in kinds]
            found.append([Made(self._add(words), kind) for words, kind in made if words])
        return found

    def _judged(self, kind: Literal["sits", "sts"], part: PartName) -> list[Beside]:
        rows = [row for row in judged(kind, part, self._inputs.data) if row.references]
        words = iter(tokenize([text for row in rows for text in (row.candidate, *row.references)], self._inputs.run))
        found = []
        for row in rows:
            candidate, *others = [next(words) for _ in range(1 + len(row.references))]
            references = tuple(self._add(each) for each in others if each)
            if candidate and references:
                found.append(Beside(self._add(candidate), references, row.score, row.is_own))
        return found

    def others_of(self, number: int, caption: int) -> Longs:
        """The captions of a picture but for one."""
        its = self.pictures[number]
        return np.compress(its != caption, its)

    def shown(self, source: str) -> tuple[list[Beside], list[int], list[str]]:
        """Validation captions beside the others of their pictures: own, like, any and worse ones. Which picture each is
        shown beside, and what it is.
        """
        numbers, random = self.validation[source], np.random.default_rng(0)
        vectors = self.together[numbers] - self.together[numbers].mean(0)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
        alike = vectors @ vectors.T
        np.fill_diagonal(alike, -np.inf)
        nearest = np.argsort(-alike, axis=1, kind="stable")[:, [each for each in _NEIGHBOURS if each < len(numbers)]]
        rows, of, kinds = [], [], []
        for place, number in enumerate(numbers.tolist()):
            references = tuple(self.others_of(number, self.turned[number]).tolist())
            other = (place + 1 + int(random.integers(len(numbers) - 1))) % len(numbers)
            drawn = [(self.any_of(numbers[each], random), "near") for each in nearest[place].tolist()]
            drawn += [
                (int(self.turned[number]), "own"),
                (self.any_of(numbers[other], random), "any"),
                *self.made[number],
            ]
            for caption, kind in drawn:
                rows.append(Beside(caption, references))
                of.append(place)
                kinds.append(kind)
        return rows, of, kinds

    def any_of(self, number: int, random: np.random.Generator) -> int:
        its = self.pictures[number]
        return int(its[random.integers(len(its))])
