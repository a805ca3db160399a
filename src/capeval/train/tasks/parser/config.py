"""The parser's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig
from capeval.train.tasks.parser.silver import SILVER


@dataclass(frozen=True)
class Config(TrainConfig):
    """The parser's config."""

    epochs: Count = 120
    """How many at most."""
    batch: Count = 32
    """Captions of usual length in a step; more of shorter ones."""
    learning_rate: Annotated[float, Meta(gt=0)] = 2e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.97
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 2.0
    """Largest norm of the gradient; 0: any."""
    captions: Count = 15_000
    """How many an epoch draws."""
    silver: tuple[str, ...] = (SILVER,)
    """Files of official parses, in the data folder."""
    longer: Annotated[float, Meta(ge=0)] = 0.0
    """Captions are drawn in proportion to their length to the power of it; 0: all alike."""
    start: str = ""
    """Folder of a finished training of the same sizes, whose best weights are the first ones here."""
    validation: Count = 1500
    """Captions that are parsed after each epoch."""
    longest: Count = 40
    """Captions with more words are left out."""
    minimum: Count = 2
    """How often a word must occur to have a vector of its own."""
    width: Count = 128
    """Width of the word vectors."""
    hidden: Count = 192
    """Units of the LSTM in each direction; a multiple of 4, at most 256."""
    arcs: Count = 128
    """Width of what scores heads."""
    parts: Count = 128
    """Width of what scores labels."""
    dropout: Share = 0.15
    """Share of inputs and outputs of the LSTM that is left out in training."""
