"""SPIDEr (Liu et al. 2017): the mean of SPICE and CIDEr-D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from capeval.metrics.cider import CiderD
from capeval.metrics.spice import Spice
from capeval.text.corpus import Corpus
from capeval.types import Array, Info, Metric


@dataclass(frozen=True)
class Spider(Metric):
    """`parses` as in `spice`, `df` as in `cider_d`."""

    parses: str = ""
    df: str = "corpus"

    info: ClassVar[Info] = Info(
        name="spider",
        names=("spider",),
        summary="mean of SPICE and CIDEr-D",
        citation="Liu et al. 2017, Improved Image Captioning via Policy Gradient optimization of SPIDEr (ICCV)",
        bounds=(0.0, 6.0),
    )

    def stats(self, corpus: Corpus) -> Array:
        """The SPICE and the CIDEr-D score."""
        spice, cider = self._parts()
        return np.column_stack([each.per_sample(each.stats(corpus))[:, 0] for each in (spice, cider)])

    def per_sample(self, stats: Array) -> Array:
        return np.asarray(stats.mean(axis=1, keepdims=True))

    def joinable(self) -> bool:
        return all(each.joinable() for each in self._parts())

    def signature_extras(self) -> dict[str, Any]:
        spice, cider = self._parts()
        return {**spice.signature_extras(), **cider.signature_extras()}

    def _parts(self) -> tuple[Spice, CiderD]:
        return Spice(parses=self.parses), CiderD(df=self.df)
