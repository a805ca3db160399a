"""The captioner's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig


@dataclass(frozen=True)
class Config(TrainConfig):
    """The captioner's config."""

    epochs: Count = 12
    """How many at most."""
    patience: Annotated[int, Meta(ge=0)] = 2
    """Stop after so many epochs without improvement; 0: never."""
    batch: Count = 128
    """Captions in a step."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 5.0
    """Largest norm of the gradient; 0: any."""
    train: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets, or files of references, whose pictures have features."""
    validation: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets, whose validation split is taken, or files of references."""
    validation_pictures: Count = 1000
    """How many pictures are captioned after each epoch."""
    captions_per_picture: Annotated[int, Meta(ge=0)] = 2
    """How many captions of each picture an epoch draws; 0: all."""
    vocabulary: Count = 8000
    """Words at most."""
    minimum: Count = 5
    """How often a word must occur in the captions to be in the vocabulary."""
    length: Count = 20
    """Words of a caption at most; longer ones are cut."""
    words: Count = 256
    """Width of the word vectors."""
    hidden: Count = 512
    """Width of the LSTM."""
    dropout: Share = 0.3
    """Share of inputs and outputs of the LSTM that is left out in training."""
    encoder: str = ""
    """Name of the pictures' encoder, where the files of features do not tell it."""
    weights: Literal["float32", "float16", "int8"] = "float16"
    """How the exported model stores its weights."""
