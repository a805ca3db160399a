"""The integration's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig


@dataclass(frozen=True)
class Config(TrainConfig):
    """The paper's way, which uses up the Flickr8k benchmarks: judgements flickr8k-expert, spoiled 0."""

    epochs: Count = 30
    """How many at most; one shows every judgement once."""
    batch: Count = 256
    """Judgements in a step."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-2
    """Of the first epoch."""
    judgements: str = "cxc"
    """The benchmark whose human scores of captions are fitted; it is marked as seen wherever the fusion meets it."""
    spoiled: Annotated[float, Meta(ge=0)] = 0.05
    """How many captions with permuted or random words there are beside each judged one, with the human score 0. The
    captions of `cxc` are all by people: without these, nothing would tell what bad language costs."""
    tau: Annotated[float, Meta(gt=0, le=1)] = 0.3
    """Share of their words that is changed, at least two."""
    hidden: Count = 8
    """Width of the hidden layer."""
    validation: Share = 0.2
    """Share of the pictures that are kept apart, to choose the epoch."""
