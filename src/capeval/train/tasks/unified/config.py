"""The settings of the parts put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.metrics.unified import PARTS
from capeval.train.config import Count, TrainConfig

Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Config(TrainConfig):
    """Three networks on one scale: with references and pictures, with references, with pictures."""

    epochs: Count = 30
    """How many at most; one shows every judgement once."""
    batch: Count = 512
    """Captions in a step."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-2
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.93
    """The learning rate is multiplied by it after each epoch."""
    hidden: Count = 8
    """Width of the hidden layer."""
    scores: Weight = 0.3
    """How much people's scores themselves count, beside the order in which people put captions."""
    spoiled: Weight = 0.5
    """How many worse captions there are beside each judged one that people found good."""
    both: tuple[str, ...] = PARTS["both"]
    """Metrics that count where there are references and pictures."""
    references: tuple[str, ...] = PARTS["references"]
    """Where there are references only."""
    pictures: tuple[str, ...] = PARTS["pictures"]
    """Where there are pictures only."""
