"""The settings of words found in pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count
from capeval.train.tasks.sight.config import Config as SightConfig


@dataclass(frozen=True)
class Config(SightConfig):
    """As for `sight`, whose captions, pictures and judgements these are."""

    epochs: Count = 9
    """How many at most."""
    batch: Count = 256
    """Pictures in a step, each with one of its captions and one that is wrong."""
    apart: Annotated[int, Meta(ge=0)] = 4
    """Epochs, of the first, in which a step has any pictures instead."""
    judged: Annotated[int, Meta(ge=0)] = 128
    """Captions in a step whose fit to a picture people have judged."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.73
    """The learning rate is multiplied by it after each epoch."""
    captions: Count = 3
    """Of a picture, at most."""
    width: Count = 128
    """Of the space that regions and words share."""
