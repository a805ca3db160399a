"""The semantic module's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig


@dataclass(frozen=True)
class Config(TrainConfig):
    """Sizes that train on a CPU within half an hour. The paper's: hidden 512, batch 100, vectors of 300 numbers, no
    warm-up and no contrast (bag 0, warmup 0, contrast 0)."""

    epochs: Count = 17
    """How many at most; one shows every picture with one of its captions."""
    bag: Annotated[int, Meta(ge=0)] = 10
    """The first so many epochs read captions as bags of words, which costs little."""
    warmup: Annotated[int, Meta(ge=0)] = 15
    """The first so many epochs, those with bags among them, bring pictures and captions together by their cosine; then
    the kernels follow."""
    warmup_batch: Count = 512
    """Pictures in a step of these epochs, each with one caption: the right one is to be found among all."""
    batch: Count = 256
    """Pictures in a step of the others."""
    near: Annotated[int, Meta(ge=2)] = 16
    """Pictures in a group that look alike, of which such a batch has several."""
    learning_rate: Annotated[float, Meta(gt=0)] = 2e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.9
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 2.0
    """Largest norm of the gradient; 0: any."""
    average: Share = 0.99
    """Validated and kept is a running mean of the weights: this share of the former mean, the rest of what a step made.
    0: no mean."""
    contrast: Annotated[float, Meta(ge=0)] = 1.0
    """Weight of finding the right one among all of a batch, beside telling matching pairs from others."""
    exchanged: Annotated[float, Meta(ge=0)] = 0.5
    """Weight of captions in which a noun, a verb or a number is exchanged, beside those of pictures that look alike."""
    function_words: Share = 0.2
    """What a word that is no main word (noun, verb, adjective, number) counts in the mean of a caption's words, where a
    main word counts 1."""
    parsed: Count = 10_000
    """Captions that are parsed to learn which words are main words, and which can be exchanged for which."""
    width: Count = 512
    """Width of the space that pictures and captions share."""
    hidden: Count = 128
    """Width of the LSTM."""
    beside: Count = 512
    """Width of the hidden layers beside the linear maps into the shared space."""
    kernels: Count = 32
    """m: how many distance kernels there are."""
    kernel_width: Count = 16
    """n: how many numbers each looks at."""
    dropout: Share = 0.2
    """Share of words', pictures' and hidden numbers that is left out in training."""
    vectors: str = "glove-100d"
    """Word vectors to start from."""
    sources: tuple[str, ...] = ("flickr8k", "flickr8k", "coco")
    """Data sets, or files of references, whose pictures have features; one that is named twice is shown twice in an
    epoch. Each batch is of one of them."""
    validation: tuple[str, ...] = ("flickr8k",)
    """Data sets, whose validation split is taken, or files of references."""
    validation_pictures: Count = 500
    """How many pictures are looked for after each epoch, each by its first caption."""
    vocabulary: Count = 15_000
    """Words at most."""
    minimum: Count = 2
    """How often a word must occur in the captions to be in the vocabulary."""
    words: Count = 20
    """A caption is cut after so many."""
