"""Training NNEval: rows of features, which of them are human, and the agreement with people that chooses the epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.bench.correlation import kendall_c
from capeval.bench.registry import benchmark
from capeval.errors import DataError
from capeval.io.files import writing
from capeval.models.nneval import Nneval
from capeval.runtime.nneval import NETWORK, Network, outputs, read_network
from capeval.train.batching import count_of, parts_of
from capeval.train.facts import digest_of
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.rows import HUMAN, MACHINE, draw_rows
from capeval.train.tasks.nneval.table import feature_table, judged, looked_at
from capeval.types import Array

_PROBED = 16


class NnevalTask(Task[Nneval]):
    name = "nneval"
    monitor = "kendall_c"
    extras = (MACHINE,)
    config: Config

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config, self.sources = config, config.sources
        rows = looked_at(draw_rows(config, inputs), config.features, inputs)
        self.kinds = Counter(rows.systems)
        if HUMAN not in self.kinds or len(self.kinds) < 2:
            raise DataError(f"nneval: human captions and others are needed; there are {dict(self.kinds)}")
        self.pictures = len(set(rows.images))
        self.features = feature_table(rows, config.features, inputs.run)
        self.is_human = np.array([system == HUMAN for system in rows.systems])
        captions, self.grades = judged(config.validation, inputs)
        known = looked_at(captions, config.features, inputs)
        if len(known) < len(captions):
            raise DataError(f"{len(captions) - len(known)} captions of {config.validation} have no picture there")
        self.judged = feature_table(known, config.features, inputs.run)

    @cached_property
    def ranges(self) -> Arrays:
        values = self.features
        return {"low": values.min(axis=0), "high": values.max(axis=0), "usual": values.mean(axis=0)}

    def build(self) -> Nneval:
        return Nneval(len(self.config.features), self.config.hidden)

    def steps(self) -> int:
        return count_of(len(self.features), self.config.batch)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        given, is_human = self._numbers
        for part in parts_of(random.permutation(len(given)), self.config.batch):
            rows = torch.from_numpy(part)
            yield {"features": given[rows], "is_human": is_human[rows]}

    @cached_property
    def _numbers(self) -> tuple[Tensor, Tensor]:
        return self._scaled(self.features), torch.from_numpy(self.is_human.astype(np.int64))

    @cached_property
    def _judged(self) -> Tensor:
        return self._scaled(self.judged)

    def _scaled(self, features: Array) -> Tensor:
        scaled = Network(self.ranges["low"], self.ranges["high"], self.ranges["usual"], ()).scaled(features)
        return torch.from_numpy(scaled.astype(np.float32))

    def loss(self, model: Nneval, batch: Batch) -> Tensor:
        """Cross entropy; and how steeply the score falls, by its logit, where a feature grows."""
        given = batch["features"].detach().requires_grad_()
        logits = model(given)
        found = F.cross_entropy(logits, batch["is_human"])
        if not self.config.rising:
            return found
        machine, human = logits.unbind(dim=1)
        (slopes,) = torch.autograd.grad((human - machine).sum(), given, create_graph=True)
        return found + self.config.rising * (-slopes).relu().sum(dim=1).mean()

    def validate(self, model: Nneval) -> dict[str, float]:
        """Kendall's tau-c with the judges; and how often the network tells human captions from others, in training."""
        device = next(model.parameters()).device
        given, is_human = self._numbers
        machine, human = model(self._judged.to(device)).double().cpu().numpy().T
        right = (model(given.to(device)).argmax(dim=1).cpu() == is_human).double().mean()
        return {"kendall_c": kendall_c(human - machine, self.grades).value, "accuracy": float(right)}

    def export(self, model: Nneval, folder: Path) -> tuple[str, ...]:
        with writing(folder / NETWORK) as stream:
            np.savez(stream, **self.ranges, **model.arrays())  # type: ignore[arg-type]
        return (NETWORK,)

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        # Made-up features, some beyond the ranges: nothing of the data sets goes into a checkpoint.
        low, high = self.ranges["low"], self.ranges["high"]
        shares = np.random.default_rng(0).uniform(-0.1, 1.1, (_PROBED, len(low)))
        inputs: Arrays = {"features": low + shares * (high - low)}
        return inputs, outputs(read_network(folder / NETWORK), inputs)

    def facts(self) -> dict[str, Any]:
        chosen_by = benchmark(self.config.validation)
        return {
            "pictures": self.pictures,
            "captions": dict(sorted(self.kinds.items())),
            "selected_on": list(dict.fromkeys([*chosen_by.holds, f"judgements:{chosen_by.name}"])),
            "data": digest_of(self.features, self.is_human, self.judged, self.grades),
        }
