"""The settings of the parts put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.metrics.unified import SAYS, SOUNDS
from capeval.train.config import Count, TrainConfig

Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Config(TrainConfig):
    """Three sets of weights on one scale: with references and pictures, with references, with pictures."""

    epochs: Count = 30
    """How many at most; one shows every judgement once."""
    batch: Count = 512
    """Captions in a step."""
    learning_rate: Annotated[float, Meta(gt=0)] = 5e-2
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.85
    """The learning rate is multiplied by it after each epoch."""
    spoiled: Weight = 1.0
    """How many worse captions there are beside each judged one that people found good."""
    worse: Weight = 0.3
    """How much it counts that those among them which are sound sentences score lower, beside people's order."""
    good: Annotated[float, Meta(gt=0, lt=1)] = 0.85
    """Above this score of people a caption is good: how likely that is decides the scale."""
    likeness: Weight = 2.0
    """How much the order of captions by their likeness to another caption counts, where there are references."""
    spared: Annotated[float, Meta(gt=0, lt=1)] = 0.9925
    """Share of people's captions from which soundness takes nothing, at the least."""
    strictness: Annotated[float, Meta(gt=0)] = 2.0
    """How steeply soundness falls for what it does not spare."""
    people: tuple[str, ...] = ("flickr8k", "flickr30k")
    """Sources, beside the judged captions, of what people write; so that other manners of writing are spared too."""
    both: tuple[str, ...] = SAYS["both"]
    """Metrics that count where there are references and pictures."""
    references: tuple[str, ...] = SAYS["references"]
    """Where there are references only."""
    pictures: tuple[str, ...] = SAYS["pictures"]
    """Where there are pictures only."""
    sound: tuple[str, ...] = SOUNDS
    """Metrics that say whether the sentence is sound, whatever there is; the caption's form counts with them."""
