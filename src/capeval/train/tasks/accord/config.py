"""The settings of captions beside all of their references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig

Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Config(TrainConfig):
    """Captions are read by the sentence encoder: the shipped one, or `--input meaning=FOLDER`. No picture is needed."""

    epochs: Count = 4
    """How many at most."""
    batch: Count = 48
    """Pictures in a step, each with one of its captions beside the others."""
    near: Count = 8
    """Pictures in a step of which the same is said, at a time: their captions are the hard negatives."""
    others: Count = 3
    """Captions of such pictures beside each one's own."""
    worse: Count = 2
    """How often a picture's own caption stands there made worse."""
    judged: Annotated[int, Meta(ge=0)] = 48
    """Captions in a step that people have judged beside a picture, and as many beside another caption."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.5
    """The learning rate is multiplied by it after each epoch."""
    weight_decay: Weight = 0.01
    """Of AdamW."""
    average: Share = 0.999
    """Validated and kept is a running mean of the weights."""
    sources: tuple[str, ...] = ("coco", "flickr30k", "flickr8k")
    """Captions; a file of references may be named too."""
    pictures: Annotated[int, Meta(ge=0)] = 25_000
    """Of a source, at most; 0: all."""
    fewer: Share = 0.4
    """How often a caption stands beside only one to three references, not four."""
    alike: Weight = 0.5
    """How much the order of captions of other pictures counts, by how much they say what the picture's own ones say."""
    wrong: Weight = 0.7
    """How much captions that were made worse count."""
    human: Weight = 1.0
    """How much people's order of captions beside a picture counts."""
    likeness: Weight = 0.5
    """How much people's order of captions beside another caption counts."""
    validation: tuple[str, ...] = ("flickr8k", "coco")
    """Sources whose validation captions choose the epoch, beside judgements."""
    validation_pictures: Count = 1000
    """Of a source, at most."""
    gentleness: Annotated[float, Meta(gt=0)] = 2.0
    """1: as many words move as not; more: captions with few words out of place are more."""
    width: Count = 112
    """Of what is known of a word."""
    dropout: Share = 0.1
    """Of the last layers."""
    bfloat16: bool = True
    """Training computes with 16 bits: half the time where the processor knows how."""
