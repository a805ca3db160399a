"""Training a critique: what a batch is, what is minimised, and how good it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.errors import DataError
from capeval.models.lece import Lece, LeceShape
from capeval.runtime.lece import probe_outputs
from capeval.text.vocabulary import Vocabulary, initial_vectors
from capeval.train.batching import by_group, count_of
from capeval.train.captions import CaptionTable
from capeval.train.facts import digest_of
from capeval.train.pictures import PictureVectors
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.examples import MACHINE, MC, RC, Drawn, Examples
from capeval.train.tasks.lece.export import export
from capeval.train.tasks.lece.material import Material, gather
from capeval.types import Floats, Longs

_BLOCK = 500  # captions scored at once in validation


class LeceTask(Task[Lece]):
    name = "lece"
    monitor = "auc"
    extras = (MACHINE, MC)
    config: Config

    def __init__(self, config: Config, inputs: Inputs, material: Material | None = None) -> None:
        self.config = config
        self.material = material or gather(config, inputs)
        if not self.material.train:
            raise DataError("lece: there are no pictures with the captions that this training needs")
        if not self.material.validation:
            self.monitor = ""
        self.sources = self.material.named
        self.vocabulary = Vocabulary.of(
            (text for image in self.material.train for text in self.material.humans[image]), config.vocabulary
        )
        place = {image: i for i, image in enumerate(self.material.train)}
        sources = self.material.sources or [self.material.train]
        self._sources = [np.array([place[image] for image in source]) for source in sources if source]
        group = np.empty(len(place), np.int64)
        for number, source in enumerate(self._sources):
            group[source] = number
        self.train_on = self._examples(self.material.train, group)
        checked = self.material.validation or self.material.train  # a probe is made in any case
        self.check_on = self._examples(checked)
        pool = self.pictures
        self._train_vectors = None if pool is None else pool.vectors(list(self.material.train))
        self._check_vectors = None if pool is None else pool.vectors(list(checked))
        self.picture_width = 0 if pool is None else int(pool.dim)
        self.encoder = "" if pool is None else pool.encoder

    @property
    def pictures(self) -> PictureVectors | None:
        """None where the context is a reference alone."""
        return None if self.config.context == "reference" else self.material.vectors

    def _examples(self, images: Sequence[str], group: Longs | None = None) -> Examples:
        humans, machines, samples = (
            CaptionTable.of(self.vocabulary, texts, images, self.config.words)
            for texts in (self.material.humans, self.material.machines, self.material.samples)
        )
        return Examples(self.vocabulary, humans, machines, samples, self.config.negatives, group)

    def build(self) -> Lece:
        start = initial_vectors(self.vocabulary, self.config.vectors, self.config.seed)
        shape = LeceShape(
            self.config.context,
            self.config.fusion,
            len(self.vocabulary),
            start.shape[1],
            self.picture_width,
            self.config.hidden,
            self.config.sketch,
        )
        model = Lece(shape, self.config.dropout)
        model.words.weight.data = torch.from_numpy(start)
        return model

    def steps(self) -> int:
        return sum(count_of(len(source), self._pictures_a_step) for source in self._sources)

    @property
    def _human_only(self) -> bool:
        """Whether the captions of a batch are each other's negatives, and no others are needed."""
        return bool(self.config.shared) and self.config.negatives == (RC,)

    @property
    def _pictures_a_step(self) -> int:
        return self.config.batch if self._human_only else max(1, self.config.batch // 2)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        for images in by_group(self._sources, self._pictures_a_step, random):
            if self._human_only and len(images) == 1:
                continue  # one caption alone has no negative
            drawn = self.train_on.draw(images, random, human_only=self._human_only)
            yield self._batch(drawn, self._train_vectors)

    def _batch(self, drawn: Drawn, vectors: Floats | None) -> Batch:
        batch = {"tokens": torch.from_numpy(drawn.tokens), "lengths": torch.from_numpy(drawn.lengths)}
        if vectors is not None:
            batch["images"] = torch.from_numpy(vectors[drawn.images])
        if self.config.context != "image":
            batch["reference_tokens"] = torch.from_numpy(drawn.reference_tokens)
            batch["reference_lengths"] = torch.from_numpy(drawn.reference_lengths)
        return batch

    def loss(self, model: Lece, batch: Batch) -> Tensor:
        contexts, captions = encoded(model, batch)
        human, own = captions[: len(contexts)], captions[len(contexts) :]
        # The human captions of other pictures in the batch: they have been read already.
        shifts = range(1, min(self.config.shared, len(human) - 1) + 1)
        parts = [human, *([own] if len(own) else []), *(human.roll(shift, 0) for shift in shifts)]
        logits = model.judge(contexts.repeat(len(parts), 1), torch.cat(parts))
        is_human = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
        is_human[: len(human)] = 1
        losses: tuple[Tensor, ...] = F.cross_entropy(logits, is_human, reduction="none").split(len(human))
        negatives = [*losses[1:2], torch.cat(losses[2:])] if len(own) and shifts else [torch.cat(losses[1:])]
        # Half of the weight is human, however many negatives there are; shared ones weigh as much as the others.
        return (losses[0].mean() + torch.stack([each.mean() for each in negatives]).mean()) / 2

    def validate(self, model: Lece) -> dict[str, float]:
        random = np.random.default_rng(0)  # the same captions in every epoch
        device = next(model.parameters()).device
        human, other = [], []
        for start in range(0, len(self.material.validation), _BLOCK):
            images = np.arange(start, min(start + _BLOCK, len(self.material.validation)))
            batch = self._batch(self.check_on.draw(images, random), self._check_vectors)
            scores = probabilities(model, {name: value.to(device) for name, value in batch.items()})
            human.append(scores[: len(images)])
            other.append(scores[len(images) :])
        return figures(np.concatenate(human), np.concatenate(other))

    def export(self, model: Lece, folder: Path) -> tuple[str, ...]:
        return export(model, folder)

    def assets(self) -> dict[str, bytes]:
        return {"vocabulary.txt": self.vocabulary.to_bytes()}

    def facts(self) -> dict[str, Any]:
        return {
            "pictures": len(self.material.train),
            "machine_captions": sum(len(self.material.machines.get(image, ())) for image in self.material.train),
            "samples": sum(len(self.material.samples.get(image, ())) for image in self.material.train),
            "data": digest_of(self._train_vectors, *self.train_on.numbers()),
        }

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        images = np.arange(min(4, len(self.check_on.humans.counts())))
        drawn = self.check_on.draw(images, np.random.default_rng(0))
        inputs: Arrays = {"tokens": drawn.tokens, "lengths": drawn.lengths}
        if self._check_vectors is not None:
            inputs["images"] = np.tile(self._check_vectors[drawn.images], (2, 1))
        if self.config.context != "image":
            inputs["reference_tokens"] = np.tile(drawn.reference_tokens, (2, 1))
            inputs["reference_lengths"] = np.tile(drawn.reference_lengths, 2)
        return inputs, probe_outputs(folder, inputs)


def encoded(model: Lece, batch: Batch) -> tuple[Tensor, Tensor]:
    """Contexts, one for each picture of a batch, and the encoded captions, two for each."""
    tokens, lengths, references = batch["tokens"], batch["lengths"], None
    if model.shape.has_reference:
        tokens = torch.cat([tokens, batch["reference_tokens"]])
        lengths = torch.cat([lengths, batch["reference_lengths"]])
    found = model.encode(tokens, lengths)
    count = len(batch["tokens"])
    if model.shape.has_reference:
        references = found[count:]
    return model.context(batch.get("images"), references), found[:count]


def probabilities(model: Lece, batch: Batch) -> Floats:
    contexts, captions = encoded(model, batch)
    return torch.softmax(model.judge(contexts.repeat(2, 1), captions), dim=1)[:, 1].cpu().numpy()


def figures(human: Floats, other: Floats) -> dict[str, float]:
    """The area under the ROC curve, the paper's performance (its equation 10), and the mean scores."""
    ranks = np.searchsorted(np.sort(other), human, "left") + np.searchsorted(np.sort(other), human, "right")
    return {
        "auc": float(ranks.mean() / 2 / len(other)),
        "performance": float((human.mean() + 1 - other.mean()) / 2),
        "human": float(human.mean()),
        "negative": float(other.mean()),
    }
