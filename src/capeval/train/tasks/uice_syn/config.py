"""The syntactic module's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from capeval.train.config import Count, Share, TrainConfig

Kind = Literal["wp", "rw", "mc", "machine", "other", "spliced"]


@dataclass(frozen=True)
class Config(TrainConfig):
    """Sizes that train on a CPU within half an hour. The paper's: hidden 512, batch 100, 30 epochs, vectors of 300
    numbers."""

    epochs: Count = 4
    """How many at most; one shows every sentence once, and as many that no person wrote."""
    batch: Count = 256
    """Sentences in a step, half of them human."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.6
    """The learning rate is multiplied by it after each epoch."""
    learning_rate: Annotated[float, Meta(gt=0)] = 2e-3
    """Of the first epoch."""
    average: Share = 0.99
    """Validated and kept is a running mean of the weights: this share of the former mean, the rest of what a step made.
    0: no mean."""
    form: Literal["auto", "lines", "text"] = "auto"
    """What a file of the corpus is: a sentence a line, or running text in paragraphs; `auto` looks."""
    captions: tuple[str, ...] = ()
    """Data sets whose human captions (of pictures to train on) join the corpus: `coco`, `flickr8k`, `flickr30k`."""
    lines: Annotated[int, Meta(ge=0)] = 200_000
    """Sentences at most, of each file and of each data set its even share, drawn at random; 0: all."""
    shortest: Count = 4
    """A sentence of fewer words is left out."""
    longest: Count = 40
    """A sentence of more words is left out."""
    rare: Annotated[float, Meta(ge=0, le=1)] = 0.2
    """A sentence is left out if more than this share of its words is not in the vocabulary."""
    negatives: tuple[Kind, ...] = ("wp", "rw", "mc", "machine", "other", "spliced")
    """Kinds of sentences that no person of this style wrote: permuted words (wp), random words (rw), Monte Carlo
    samples of the corpus (mc), captions of systems (machine), sentences of another style (other), sentences of the
    corpus that end like those of the other style (spliced). The last three are used where there are some. Drawn equally
    often; one that is named twice, twice as often."""
    machines: tuple[str, ...] = ()
    """Data sets of machine captions, such as `coco_val2014`; the input `machine` adds a file, a caption a line."""
    tau: Annotated[float, Meta(gt=0, le=1)] = 0.3
    """Share of the words that wp and rw change, at least two words."""
    price: Annotated[float, Meta(ge=0)] = 2.0
    """What each word that is not known takes from the logit of a sentence when it is scored, lest such words pass for a
    person's. Training does not see it."""
    rarest: Annotated[float, Meta(ge=0, le=1)] = 1 / 3
    """The vector of a word that is not known is, at each step, the mean of those of this share of the words, the
    rarest: learned against another style with many unknown words, it would be a sign of that. 0: as it was learned."""
    validation: Count = 2000
    """Sentences that are kept apart, to choose the epoch."""
    vocabulary: Count = 15_000
    """Words; the most frequent of the corpus."""
    words: Count = 20
    """A sentence is cut after so many."""
    vectors: str = "glove-100d"
    """Word vectors to start from."""
    hidden: Count = 256
    """Width of the LSTM."""
    dropout: Share = 0.2
    """Of the words' vectors and of the LSTM's outputs."""
