"""What a model must supply to be trained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from capeval.run import Run
from capeval.train.config import TrainConfig

Batch = dict[str, Tensor]
Arrays = dict[str, npt.NDArray[Any]]
Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Inputs:
    """Where the data is; kept apart from the config, since it differs from machine to machine."""

    data: Path | None = None
    """Folder of the data sets; None: as `capeval bench` finds it."""
    features: tuple[Path, ...] = ()
    """Files of picture features."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Other files by name, as the model wants them."""
    run: Run = field(default_factory=Run)
    """Threads, progress and cache, where something is computed to train on."""
    corpus: tuple[Path, ...] = ()
    """Files of sentences in the style that is learned."""


class Task(ABC, Generic[Model]):
    """A model's training. The constructor of each takes its config and `Inputs`, and draws nothing at random."""

    name: ClassVar[str]
    monitor: str
    """The number of `validate` that decides which epoch is best; empty: nothing is validated, the last one is kept."""
    better: ClassVar[Literal["max", "min"]] = "max"
    extras: ClassVar[tuple[str, ...]] = ()
    """Names of other files that it takes: `Inputs.extra`."""
    takes_corpus: ClassVar[bool] = False
    """Whether it learns from `Inputs.corpus`."""
    opening: str = ""
    """What is told before it is trained, such as how much there is to train on."""
    config: TrainConfig
    sources: Sequence[str] = ()
    """Data sets whose training pictures it learns from, such as `coco`; the checkpoint says so in `trained_on`."""
    encoder: str | None = None
    """What made the features of its pictures, empty if that is not known; None: it looks at no pictures."""

    @abstractmethod
    def build(self) -> Model:
        """The model with its first weights; torch is seeded."""

    @abstractmethod
    def batches(self, epoch: int, random: np.random.Generator) -> Iterable[Batch]:
        """The batches of an epoch, counted from 1. All randomness is that of `random` and of torch."""

    @abstractmethod
    def loss(self, model: Model, batch: Batch) -> Tensor:
        """What is minimised, a single number."""

    @abstractmethod
    def validate(self, model: Model) -> dict[str, float]:
        """How good the model is on data it was not trained on."""

    @abstractmethod
    def export(self, model: Model, folder: Path) -> tuple[str, ...]:
        """Writes the ONNX files of the model with its best weights; their names."""

    @abstractmethod
    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        """A few inputs and the outputs of the exported model for them."""

    def steps(self) -> int | None:
        """How many batches an epoch has, where it is known."""
        return None

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay)

    def assets(self) -> dict[str, bytes]:
        """Other files that scoring needs."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What else a reader of the checkpoint should know; JSON."""
        return {}
