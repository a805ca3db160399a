"""The sentence encoder's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig

Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class Config(TrainConfig):
    """The encoder begins as MiniLM: `--input minilm=FOLDER` names the folder with its model.safetensors."""

    epochs: Count = 6
    """How many at most."""
    steps: Count = 200
    """In an epoch."""
    batch: Count = 20
    """Captions in a step that stand beside another of their picture, and beside the same made worse."""
    pairs: Count = 48
    """Pairs of captions in a step whose likeness people have judged."""
    groups: Count = 16
    """Captions in a step whose fit to a picture people have judged; each stands beside two captions of the picture."""
    learning_rate: Annotated[float, Meta(gt=0)] = 5e-5
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.7
    """The learning rate is multiplied by it after each epoch."""
    average: Share = 0.98
    """Validated and kept is a running mean of the weights."""
    heads_factor: Annotated[float, Meta(gt=0)] = 10.0
    """How much faster the heads learn, which begin from nothing."""
    frozen: Annotated[int, Meta(ge=0, le=6)] = 2
    """Layers, from below, that stay as they are; the pieces' own vectors always do."""
    sources: tuple[str, ...] = ("coco", "flickr8k")
    """Captions beside each other; a picture of each source is drawn as often."""
    captions: Annotated[int, Meta(ge=0)] = 40_000
    """Pictures of these sources whose captions are used; 0: all."""
    broken: Share = 0.45
    """Share of the worse captions that no person would write; the others say something wrong."""
    swapped: Share = 0.2
    """Share of the worse captions that come from NegCLIP: words that have changed places."""
    pieces: Count = 40
    """Word pieces of a caption that are read in training."""
    word_width: Count = 128
    """Of the vectors of words."""
    temperature: Annotated[float, Meta(gt=0)] = 0.05
    """Of the contrast."""
    contrast: Weight = 0.5
    """How much finding the right caption counts, beside what people have judged."""
    sound: Weight = 0.5
    """How much telling human captions from broken ones counts."""
    kept: Share = 0.25
    """Share of MiniLM's own weights in what is validated and exported, the rest being what was trained: between the two
    lies what holds for other captions too (Wortsman et al. 2022)."""
    dropout: Share = 0.0
    """Of the layers."""
    validation: Count = 1000
    """Judgements of each kind by which the epoch is chosen."""
    bfloat16: bool = True
    """Training computes the layers with 16 bits: half the time where the processor knows how."""
