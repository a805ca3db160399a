"""The settings of fluency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig


@dataclass(frozen=True)
class Config(TrainConfig):
    """The network begins as the lower layers of MiniLM: `--input minilm=FOLDER` names the folder with its
    model.safetensors. `--corpus FILE` adds sentences of other kinds, a source of its own each.
    """

    epochs: Count = 9
    """How many at most."""
    steps: Count = 320
    """In an epoch."""
    batch: Count = 48
    """Sentences in a step, each beside itself broken."""
    learning_rate: Annotated[float, Meta(gt=0)] = 2e-4
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """The learning rate is multiplied by it after each epoch."""
    weight_decay: Annotated[float, Meta(ge=0)] = 0.01
    """Of AdamW."""
    average: Share = 0.99
    """Validated and kept is a running mean of the weights."""
    layers: Count = 4
    """Of MiniLM, from below."""
    sources: tuple[str, ...] = ("coco", "flickr8k", "flickr30k")
    """Captions of people; a caption of each source is drawn as often."""
    sentences: Annotated[int, Meta(ge=0)] = 80_000
    """Of a source, at most; 0: all."""
    short: Share = 0.1
    """Share of sentences that are drawn among those of at most five words; there are few, and they too are sound."""
    several: Share = 0.12
    """Share that is two or three captions of a picture, or sentences of a text, in a row."""
    inventories: Share = 0.05
    """Share that a system could have said that fills in a form: things counted, then where they are."""
    gentleness: Annotated[float, Meta(gt=0)] = 2.0
    """1: as many words move as not; more: captions with few words out of place are more."""
    validation: tuple[str, ...] = ("coco", "flickr8k")
    """Sources whose validation captions choose the epoch."""
    pieces: Count = 64
    """Word pieces of a sentence that are read in training."""
    bfloat16: bool = True
    """Training computes the layers with 16 bits: half the time where the processor knows how."""
