"""Words found in pictures, on ONNX Runtime: how well the regions of a picture bear out a caption's telling words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from capeval.run import Run
from capeval.runtime.batches import Rows
from capeval.runtime.meaning import open_meaning
from capeval.runtime.sight import PictureNetwork, open_trained
from capeval.types import Array, Floats, Longs

CHECKPOINT = "sight-words"
"""The network that comes with capeval."""
# As in models/sight_words.py, which needs torch.
_MOST = 8
_STRICTNESS = 4.0


class Words(NamedTuple):
    """The telling words of captions, at most eight of each. What counts as a word is a piece of one."""

    vectors: Floats
    """[n, 8, width], each of length 1; zeros where there is no word."""
    shares: Array
    """[n, 8]: how much each counts, 1 in all; 0 where there is no word."""
    piece: Longs
    """[n, 8]: which piece of its caption each is, begin not counted."""


class SightWords(PictureNetwork):
    """A vector for each region of a picture, and for each telling word of a caption."""

    def read(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Words:
        """Of tokenised captions."""
        vectors = np.zeros((len(texts), _MOST, self.width), np.float32)
        shares, piece = np.zeros((len(texts), _MOST)), np.zeros((len(texts), _MOST), np.int64)

        def take(rows: Rows, states: Floats) -> None:
            # Begin and end are no words.
            found, telling = (each[:, 1:-1] for each in self._heard(states))
            best = np.argsort(-telling, axis=1, kind="stable")[:, :_MOST]
            count = best.shape[1]
            odds = np.take_along_axis(telling, best, axis=1).astype(np.float64)
            odds = np.exp(odds - odds[:, :1])
            vectors[rows, :count] = np.take_along_axis(found, best[..., None], axis=1)
            shares[rows, :count] = odds / odds.sum(axis=1, keepdims=True)
            piece[rows, :count] = best

        self._hear(texts, threads, take)
        return Words(vectors, shares, piece)

    def cosines(self, words: Floats, seen: Floats) -> Floats:
        """[n, words, 1 + regions], each caption alone beside its picture."""
        found: Floats = np.matmul(words, seen.transpose(0, 2, 1))
        return found

    def scores(self, borne_out: Array, shares: Array) -> Array:
        """From how well words are borne out [n, words] to how well captions fit, from 0 to 1; 0 without words."""
        worse = (shares * np.exp(-_STRICTNESS * borne_out)).sum(axis=1)
        has_words = worse > 0
        fits = -np.log(np.where(has_words, worse, 1.0)) / _STRICTNESS
        return np.where(has_words, self.fit(fits), 0.0)


def open_sight_words(source: str = CHECKPOINT, meaning: str = "", run: Run | None = None) -> SightWords:
    """Opened once in a process."""
    return _open(source, meaning or "meaning", (run or Run()).cache)


@lru_cache(maxsize=2)
def _open(source: str, meaning: str, cache: Path) -> SightWords:
    run = Run(cache=cache)
    return SightWords(open_trained(source, run, CHECKPOINT), open_meaning(meaning, run))
