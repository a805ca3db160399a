"""SPIDEr by our own parser: the mean of `spice_fast` and CIDEr-D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from capeval.metrics.spider import Spider
from capeval.types import Info


@dataclass(frozen=True)
class SpiderFast(Spider):
    """`parses` as in `spice_fast`, `df` as in `cider_d`."""

    spice: ClassVar[str] = "spice_fast"
    info: ClassVar[Info] = Info(
        name="spider_fast",
        names=("spider_fast",),
        summary="mean of spice_fast and CIDEr-D",
        citation="Liu et al. 2017, Improved Image Captioning via Policy Gradient optimization of SPIDEr (ICCV)",
        bounds=(0.0, 6.0),
    )
