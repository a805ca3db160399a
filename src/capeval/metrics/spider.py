"""SPIDEr (Liu et al. 2017): the mean of SPICE and CIDEr-D."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from capeval.expressions import write_expression
from capeval.metrics.cider import ONE_IMAGE
from capeval.metrics.composite import Composite
from capeval.types import Array, Info, Metric, Selection


@dataclass(frozen=True)
class Spider(Composite):
    """`parses` as in `spice`, `df` as in `cider_d`."""

    parses: str = ""
    df: str = "corpus"

    spice: ClassVar[str] = "spice"
    info: ClassVar[Info] = Info(
        name="spider",
        names=("spider",),
        summary="mean of SPICE and CIDEr-D",
        citation="Liu et al. 2017, Improved Image Captioning via Policy Gradient optimization of SPIDEr (ICCV)",
        bounds=(0.0, 6.0),
    )

    def made_of(self) -> tuple[str, ...]:
        parses = {"parses": self.parses} if self.parses else {}
        return write_expression(self.spice, parses), write_expression("cider_d", {"df": self.df})

    def combine(self, scores: Array) -> Array:
        return np.asarray(scores.mean(axis=1, keepdims=True))

    def for_one_image(self) -> Metric:
        parts = tuple(Selection(metric.for_one_image(), names) for metric, names in self.parts)
        return replace(self, df=ONE_IMAGE).with_parts(parts) if self.df == "corpus" else self
