"""Captions of pictures as padded numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.text.vocabulary import Ids, Vocabulary
from capeval.types import Ints, Longs

Texts = Mapping[str, Sequence[str]]
"""Captions by picture."""


@dataclass(frozen=True)
class CaptionTable:
    """Captions as numbers: those of picture i are the rows `offsets[i]` to `offsets[i + 1]`."""

    tokens: Ints
    lengths: Longs
    offsets: Longs

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        captions: Texts,
        images: Sequence[str],
        words: int,
        *,
        bos: bool = False,
        eos: bool = True,
    ) -> CaptionTable:
        """The captions of the images, in their order, cut after so many words; an image may have none.

        Each row has its end, unless `eos` is False; with `bos` its begin too.
        """
        each = [captions.get(image, ()) for image in images]
        tokens, lengths = vocabulary.encode_texts([text for texts in each for text in texts], words, bos=bos, eos=eos)
        return cls(tokens.astype(np.int32), lengths, np.cumsum([0, *map(len, each)]).astype(np.int64))

    def counts(self) -> Longs:
        """How many captions each picture has."""
        return np.diff(self.offsets)

    def owners(self) -> Longs:
        """The picture of each row."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts())

    def take(self, rows: Longs) -> tuple[Ids, Ids]:
        """Rows of numbers, as wide as the table, and how many of each count."""
        return self.tokens[rows].astype(np.int64), self.lengths[rows]

    def padded(self, rows: Longs) -> Ids:
        """Rows of numbers, no wider than the longest of them."""
        return self.tokens[rows, : self.lengths[rows].max()].astype(np.int64)

    def draw(self, images: Longs, random: np.random.Generator) -> Longs:
        """A random caption's row for each image; each must have one."""
        counts = self.offsets[images + 1] - self.offsets[images]
        return self.offsets[images] + (random.random(len(images)) * counts).astype(np.int64)

    def draw_other(self, images: Longs, rows: Longs, random: np.random.Generator) -> Longs:
        """Like `draw`, but another row than the given one; each image must have two captions."""
        first, counts = self.offsets[images], self.offsets[images + 1] - self.offsets[images]
        picks = first + (random.random(len(images)) * (counts - 1)).astype(np.int64)
        return np.asarray(picks + (picks >= rows))

    def draw_some(self, count: int, random: np.random.Generator) -> Longs:
        """So many random rows of each picture, or all that it has; 0: all. Those of a picture are together."""
        owners = self.owners()
        # The captions of each picture in random order, of which the first are taken.
        order = np.lexsort((random.random(len(owners)), owners))
        rank = np.arange(len(owners)) - self.offsets[owners]
        return np.asarray(order[rank < count] if count else order)
