"""LECE's examples: human captions of pictures, and captions that are not (Cui et al. 2018, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.perturb.transforms import permuted, replaced
from capeval.text.vocabulary import SPECIALS, Ids, Vocabulary
from capeval.train.captions import CaptionTable
from capeval.types import Longs

MACHINE, MC, RC, WP, RW = KINDS = ("machine", "mc", "rc", "wp", "rw")
PATHOLOGICAL = (RC, WP, RW)
"""Captions of other pictures, permuted words, random words: what `capeval.perturb.transforms` makes."""


class Drawn(NamedTuple):
    """Examples as numbers: for each image a reference and a human caption; after all of these, a negative for each."""

    images: Longs
    tokens: Ids
    lengths: Ids
    reference_tokens: Ids
    reference_lengths: Ids
    kinds: npt.NDArray[np.str_]
    """Of the negatives."""


class Examples:
    """Draws examples for pictures, which are called by their place in the tables.

    Machine captions, Monte Carlo samples and pathological captions are drawn equally often, as far as they are asked
    for and a picture has them; so are the kinds of pathological ones.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        humans: CaptionTable,
        machines: CaptionTable,
        samples: CaptionTable,
        negatives: Sequence[str],
        group: Longs | None = None,
    ) -> None:
        """`group` tells which images belong together: captions of other images are those of the same group."""
        self.vocabulary, self.humans = vocabulary, humans
        self._sources = {MACHINE: machines, MC: samples}
        self._words = vocabulary.spellings[len(SPECIALS) :]
        self.pathological = [kind for kind in PATHOLOGICAL if kind in negatives]
        has = [table.counts() > 0 if kind in negatives else None for kind, table in self._sources.items()]
        every = np.full(len(humans.counts()), bool(self.pathological))
        self._has = np.column_stack([np.zeros_like(every) if h is None else h for h in has] + [every])
        lacking = np.flatnonzero(~self._has.any(axis=1))
        if len(lacking):
            raise DataError(f"{len(lacking)} pictures have no caption of the kinds {', '.join(negatives)}")
        few = np.flatnonzero(humans.counts() < 2)
        if len(few):
            raise DataError(f"{len(few)} pictures have fewer than two human captions; a pair of them is needed")
        self._group = np.zeros(len(every), np.int64) if group is None else group
        self._members = np.argsort(self._group, kind="stable")
        self._sizes = np.bincount(self._group)
        if RC in self.pathological and self._sizes[self._sizes > 0].min(initial=2) < 2:
            raise DataError("captions of other pictures need at least two pictures of each source")

    def numbers(self) -> list[npt.NDArray[Any]]:
        """All captions that are drawn from."""
        return [values for each in (self.humans, *self._sources.values()) for values in (each.tokens, each.offsets)]

    def draw(self, images: Longs, random: np.random.Generator, *, human_only: bool = False) -> Drawn:
        """For each image a reference with another human caption, and the same reference with a negative."""
        reference = self.humans.draw(images, random)
        human = self.humans.draw_other(images, reference, random)
        tokens, lengths = ([each] for each in self.humans.take(human))
        kinds = np.empty(0, "<U8")
        if not human_only:
            kinds = self._kinds(images, random)
            others, ends = np.empty_like(tokens[0]), np.empty_like(lengths[0])
            for kind in KINDS:
                chosen = np.flatnonzero(kinds == kind)
                if len(chosen):
                    made = self.negatives(kind, images[chosen], human[chosen], random)
                    others[chosen], ends[chosen] = made
            tokens.append(others)
            lengths.append(ends)
        return Drawn(images, np.concatenate(tokens), np.concatenate(lengths), *self.humans.take(reference), kinds)

    def _kinds(self, images: Longs, random: np.random.Generator) -> npt.NDArray[np.str_]:
        """A kind for each image: first among machine, sample and pathological, then among the pathological ones."""
        has = self._has[images]
        rank = (random.random(len(images)) * has.sum(axis=1)).astype(np.int64)
        chosen = np.argmax(np.cumsum(has, axis=1) > rank[:, None], axis=1)
        kinds: npt.NDArray[np.str_] = np.array([MACHINE, MC, ""], dtype="<U8")[chosen]
        is_open = kinds == ""
        if is_open.any():
            kinds[is_open] = np.array(self.pathological)[random.integers(len(self.pathological), size=is_open.sum())]
        return kinds

    def _others(self, images: Longs, random: np.random.Generator) -> Longs:
        """Another image of the same group for each."""
        first = (np.cumsum(self._sizes) - self._sizes)[self._group[images]]
        rank = np.argsort(self._members)[images] - first
        other = (random.random(len(images)) * (self._sizes[self._group[images]] - 1)).astype(np.int64)
        return np.asarray(self._members[first + other + (other >= rank)])

    def negatives(
        self, kind: str, images: Longs, human: Longs, random: np.random.Generator, gamma: float | None = None
    ) -> tuple[Ids, Ids]:
        """Captions of one kind. `human` are rows of human captions that words are moved or replaced in.

        `gamma` tells how many of their words; without it the share is random. Captions of other pictures come from
        any other picture of the group.
        """
        if kind in self._sources:
            table = self._sources[kind]
            return table.take(table.draw(images, random))
        if kind == RC:
            return self.humans.take(self.humans.draw(self._others(images, random), random))
        shares = random.random(len(images)) if gamma is None else np.full(len(images), gamma)
        made = []
        for row, share in zip(human.tolist(), shares.tolist()):
            words = [self.vocabulary.spellings[i] for i in self.humans.tokens[row, : self.humans.lengths[row] - 1]]
            # 1 - share: above 0, where a caption would stay as it is.
            amount = 1.0 - share if gamma is None else share
            made.append(permuted(words, amount, random) if kind == WP else replaced(words, amount, self._words, random))
        return self.vocabulary.encode(made, self.humans.tokens.shape[1] - 1)
