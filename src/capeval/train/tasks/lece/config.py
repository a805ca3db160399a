"""LECE's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig

Kind = Literal["machine", "mc", "rc", "wp", "rw"]


@dataclass(frozen=True)
class Config(TrainConfig):
    """The paper's sizes."""

    context: Literal["image", "reference", "both"] = "image"
    """What a caption is judged by: its picture, a reference, or both."""
    fusion: Literal["linear", "mlp", "bilinear"] = "mlp"
    """How context and caption meet: side by side with a linear layer or a hidden one, or compact bilinear pooling."""
    negatives: tuple[Kind, ...] = ("machine", "mc", "rc", "wp", "rw")
    """Kinds of captions that are not human: of machines, Monte Carlo samples (mc), of other pictures (rc), with
    permuted words (wp) and with random words (rw)."""
    shared: Annotated[int, Meta(ge=0)] = 0
    """0: as in the paper. n: each human caption is also a negative (rc) of n other pictures of its batch, which needs
    no further reading, and reading takes most of the time. With rc alone, no other negatives are drawn."""
    sources: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets of human captions; one that is named twice is shown twice in an epoch. Each batch, and each caption of
    another picture, is of one of them: else where a caption comes from would tell."""
    machines: tuple[str, ...] = ("coco_val2014",)
    """Data sets of machine captions; files of them are added as the inputs `machine` and `mc`."""
    images: Annotated[int, Meta(ge=0)] = 0
    """How many pictures of each source; 0: all that have features and what the negatives need."""
    validation: Count = 1000
    """How many pictures decide which epoch is best: of the validation splits, else left out of training."""
    vocabulary: Count = 10_000
    """Words; the most frequent in the human captions."""
    words: Count = 15
    """A caption is cut after so many."""
    vectors: str = "glove-100d"
    """Word vectors to start from."""
    hidden: Count = 512
    """Width of the LSTM, of the picture's projection and of the hidden layer."""
    sketch: Count = 8192
    """Width of compact bilinear pooling."""
    dropout: Share = 0.5
    """Of the encodings and of the hidden layer."""
