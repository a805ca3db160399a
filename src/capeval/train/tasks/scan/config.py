"""SCAN's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig


@dataclass(frozen=True)
class Config(TrainConfig):
    """Sizes that train on a CPU within an hour. The paper's, for a GPU: width 1024 (TIGEr: 300), hidden 0, context
    false, warmup 0, loss hinge, learning_rate 0.0002, vectors of 300 numbers."""

    epochs: Count = 12
    """How many at most; one shows every picture with one of its captions."""
    batch: Count = 128
    """Pictures in a step, each with one caption."""
    learning_rate: Annotated[float, Meta(gt=0)] = 2e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.9
    """The learning rate is multiplied by it after each epoch."""
    average: Share = 0.99
    """Validated and kept is a running mean of the weights: this share of the former mean, the rest of what a step made.
    0: no mean."""
    clip: Annotated[float, Meta(ge=0)] = 2.0
    """Largest norm of the gradient; 0: any."""
    warmup: Annotated[int, Meta(ge=0)] = 12
    """The first so many epochs match the mean region with the mean word, by a softmax over a batch, which costs little;
    the others match by attention with the `loss` below. With as many as there are epochs, attention is not trained at
    all, which finds as many pictures, and TIGEr on it agrees better with people."""
    warmup_batch: Count = 512
    """Pictures in a step of these epochs."""
    loss: Literal["hinge", "contrast"] = "hinge"
    """`hinge`: as in the paper, against the hardest negatives of the batch. `contrast`: the right one among all of a
    group of pictures that look alike, of which a batch has several; it finds more pictures, and TIGEr on it agrees
    less with people."""
    near: Annotated[int, Meta(ge=2)] = 16
    """Pictures in such a group."""
    direction: Literal["i2t", "t2i"] = "i2t"
    """Who looks: regions at words (i2t), which is what TIGEr needs, or words at regions (t2i)."""
    temperature: Annotated[float, Meta(gt=0)] = 4.0
    """How sharply they look; the paper has 4 for i2t and 9 for t2i."""
    margin: Annotated[float, Meta(ge=0)] = 0.2
    """Of the hinge: by how much a picture and its caption must fit better than the hardest negative."""
    width: Count = 256
    """Width of the space that regions and words share."""
    hidden: Annotated[int, Meta(ge=0)] = 512
    """Width of a hidden layer beside the linear map of regions; 0: none, as in the paper."""
    context: bool = True
    """Whether each region is seen with the vector of its picture; the paper has regions alone."""
    alone: Share = 0.5
    """Share of pictures whose regions are seen without it in training, so that they learn to speak for themselves."""
    dropout: Share = 0.2
    """Share of words' and regions' numbers that is left out in training."""
    vectors: str = "glove-100d"
    """Word vectors to start from."""
    sources: tuple[str, ...] = ("flickr8k", "flickr8k", "coco")
    """Data sets, or files of references, whose pictures have features with regions; one that is named twice is shown
    twice in an epoch. Each batch is of one of them."""
    validation: tuple[str, ...] = ("flickr8k",)
    """Data sets, whose validation split is taken, or files of references."""
    validation_pictures: Count = 500
    """How many pictures are looked for after each epoch, each by its first caption."""
    vocabulary: Count = 10_000
    """Words at most."""
    minimum: Count = 2
    """How often a word must occur in the captions to be in the vocabulary."""
    words: Count = 30
    """A caption is cut after so many."""
