"""A metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.types import Array, Info, Metric


@dataclass(frozen=True)
class FirstWord(Metric):
    """`partly`: the score of a caption whose first word some references have, but not all."""

    partly: float = 0.5

    info: ClassVar[Info] = Info(
        name="first_word",
        names=("first_word",),
        summary="whether the references begin with the same word",
        citation="nobody yet",
        needs=("references",),
    )

    def stats(self, corpus: Corpus) -> Array:
        """The share of references that begin with the caption's first word."""
        data = corpus.dataset
        pairs = [(text, data.reference_sets[group]) for text, group in zip(data.candidates, data.group)]
        shares = [np.mean([_first(text) == _first(each) for each in references]) for text, references in pairs]
        return np.array(shares, float)[:, None]

    def per_sample(self, stats: Array) -> Array:
        return np.where(stats == 1, 1.0, np.where(stats > 0, self.partly, 0.0))


def _first(text: str) -> str:
    return next(iter(text.lower().split()), "")
