"""The settings of pictures and captions in one space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, TrainConfig

Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Config(TrainConfig):
    """Captions are read by the sentence encoder: the shipped one, or `--input meaning=FOLDER`."""

    epochs: Count = 14
    """How many at most."""
    batch: Count = 1024
    """Pictures in a step, each with one of its captions and one that is wrong."""
    near: Count = 16
    """Pictures in a step that look alike, at a time: their captions are the hard negatives."""
    apart: Annotated[int, Meta(ge=0)] = 8
    """Epochs, of the first, in which a step has any pictures instead."""
    judged: Annotated[int, Meta(ge=0)] = 256
    """Captions in a step whose fit to a picture people have judged."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.84
    """The learning rate is multiplied by it after each epoch."""
    weight_decay: Weight = 0.02
    """Of AdamW."""
    sources: tuple[str, ...] = ("coco", "flickr8k", "flickr8k")
    """Captions and pictures; one that is named twice is seen twice as often. A file of references may be named too."""
    validation: tuple[str, ...] = ("flickr8k",)
    """Sources whose validation pictures choose the epoch, beside judgements."""
    validation_pictures: Count = 500
    """Of these, among which the right one must be found."""
    captions: Count = 5
    """Of a picture, at most."""
    alike: Weight = 1.0
    """How much it counts that a caption of another picture fits the more, the more it says what the picture's own ones
    say: to contrast alone all of them are equally wrong."""
    softness: Annotated[float, Meta(gt=0)] = 0.05
    """How far what is alike reaches: small, and only the nearest captions count."""
    wrong: Weight = 1.0
    """How much a caption with a wrong word counts."""
    human: Weight = 1.0
    """How much the judgements count."""
    width: Count = 512
    """Of the space that pictures and captions share."""
    dropout: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    """Of both sides."""
    bfloat16: bool = True
    """Training computes with 16 bits: half the time where the processor knows how."""
