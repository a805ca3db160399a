"""NNEval's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from capeval.metrics.nneval import features
from capeval.train.config import Count, TrainConfig

Kind = Literal["machine", "rc", "near", "wp", "rw"]


@dataclass(frozen=True)
class Config(TrainConfig):
    """The paper's network and its way of drawing captions; the negatives are other ones, docs/metrics/nneval.md says
    why."""

    epochs: Count = 500
    """How many at most."""
    patience: Annotated[int, Meta(ge=0)] = 30
    """Stop after so many epochs without improvement; 0: never."""
    batch: Count = 75
    """Captions in a step."""
    learning_rate: Annotated[float, Meta(gt=0)] = 1e-3
    """Of the first epoch."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.98
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 0.0
    """Largest norm of the gradient; 0: any."""
    weight_decay: Annotated[float, Meta(ge=0)] = 1e-4
    """L2 penalty."""
    features: tuple[str, ...] = features()
    """The metrics whose scores it learns from, as expressions; any that are registered."""
    hidden: Count = 72
    """Width of the two hidden layers."""
    sources: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets of human captions, or files of them."""
    images: Annotated[int, Meta(ge=0)] = 22_000
    """How many pictures of each source; 0: all that have captions enough."""
    captions: Count = 3
    """Human captions of a picture that are judged, each against others of the picture; as many negatives."""
    references: Count = 4
    """What a caption is judged by: so many human captions of its picture."""
    negatives: tuple[Kind, ...] = ("rc", "near")
    """Kinds of captions that are not human, in turn: of machines, of other pictures (rc), of other pictures with like
    captions (near), with permuted words (wp) and with random words (rw). A kind named twice has twice the share."""
    rising: Annotated[float, Meta(ge=0)] = 0.0
    """Weight of a penalty where more of a feature would lower the score; 0: it may."""
    near: Annotated[float, Meta(gt=0, le=1)] = 0.005
    """The share of a source's pictures that have like captions."""
    machines: tuple[str, ...] = ("coco_val2014",)
    """Data sets of machine captions; a file of them is added as the input `machine`."""
    draw: Annotated[int, Meta(ge=0)] = 0
    """Seed of the captions that are drawn. `seed` decides all else, so that several trainings share their captions."""
    validation: str = "flickr8k-expert"
    """The benchmark whose judges decide which epoch is best; its figures are no test any more."""
