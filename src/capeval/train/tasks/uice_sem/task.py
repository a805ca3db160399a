"""Training the semantic module: what a batch is, what is minimised, and how often the right picture is found."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import DataError
from capeval.models.uice import Semantics, SemanticShape
from capeval.runtime.uice import CAPTIONS, HEAD, PICTURES, VOCABULARY, semantic_outputs
from capeval.text.vocabulary import UNK, Vocabulary, initial_vectors
from capeval.train.batching import by_group, by_near_groups
from capeval.train.captions import CaptionTable
from capeval.train.checkpoint import write_bytes
from capeval.train.data import some_of
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.pictures import Pool, pictured
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.scan.task import recalls
from capeval.train.tasks.uice_sem.config import Config
from capeval.train.tasks.uice_sem.wordclasses import Mentioned, WordClasses
from capeval.train.tasks.uice_syn.task import area
from capeval.types import Longs

_SHARPEST = 100.0
_BLOCK = 100


class UiceSemTask(Task[Semantics]):
    name: ClassVar[str] = "uice-sem"
    monitor = "recall"

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        self.pool = Pool(inputs.features)
        self.encoder, self.sources = self.pool.encoder, config.sources
        texts, kept, self._sources = pictured(config.sources, config.validation, self.pool, inputs.data)
        self.images, held_out = list(texts), some_of(sorted(kept), config.validation_pictures)
        every = [text for several in texts.values() for text in several]
        self.vocabulary = Vocabulary.of(every, config.vocabulary, config.minimum)
        self.captions = CaptionTable.of(self.vocabulary, texts, self.images, config.words, eos=False)
        first = {image: kept[image][:1] for image in held_out}
        self.held_out = CaptionTable.of(self.vocabulary, first, held_out, config.words, eos=False)
        if not (self.captions.lengths.all() and self.held_out.lengths.all()):
            raise DataError("there are captions without a word among those to train on")
        self.classes = WordClasses(self.vocabulary, some_of(every, config.parsed))
        self._mentioned = Mentioned(self.captions, len(self.vocabulary))
        self._mentioned_there = Mentioned(self.held_out, len(self.vocabulary))
        self._vectors, self._vectors_there = self.pool.vectors(self.images), self.pool.vectors(held_out)
        self._has_kernels = config.warmup == 0

    def build(self) -> Semantics:
        config = self.config
        start = initial_vectors(self.vocabulary, config.vectors, config.seed)
        shape = SemanticShape(
            len(self.vocabulary), start.shape[1], self.pool.dim, config.hidden, config.beside, config.width,
            config.kernels, config.kernel_width,
        )  # fmt: skip
        model = Semantics(shape, torch.from_numpy(self.classes.weights(config.function_words)), config.dropout)
        model.words.weight.data = torch.from_numpy(start)
        return model

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        self._has_kernels = epoch > self.config.warmup
        if epoch <= self.config.warmup:
            drawn = by_group(self._sources, self.config.warmup_batch, random)
        else:
            drawn = by_near_groups(self._vectors, self._sources, self.config.near, self.config.batch, random)
        for images in drawn:
            if len(images) < 2:
                continue  # one caption alone has no negative
            rows = self.captions.draw(images, random)
            tokens, lengths = self.captions.padded(rows), self.captions.lengths[rows]
            batch = {
                "vectors": torch.from_numpy(self._vectors[images]),
                "tokens": torch.from_numpy(tokens),
                "lengths": torch.from_numpy(lengths),
                "kernels": torch.tensor(epoch > self.config.warmup),
                "in_order": torch.tensor(epoch > self.config.bag),
            }
            if epoch > self.config.warmup and self.config.exchanged:
                other = self.classes.exchanged(tokens, self._mentioned, images, random)
                batch["exchanged"] = torch.from_numpy(other)
            yield batch

    def loss(self, model: Semantics, batch: Batch) -> Tensor:
        tokens, lengths = batch["tokens"], batch["lengths"]
        seen = model.look(batch["vectors"])
        if not batch["kernels"]:
            read = model.read(tokens, lengths, in_order=bool(batch["in_order"]))
            return contrast(seen @ read.T * model.sharpness.exp().clamp(max=_SHARPEST))
        is_exchanged = torch.zeros(0, dtype=torch.long, device=tokens.device)
        if "exchanged" in batch:
            is_exchanged = torch.nonzero((batch["exchanged"] != tokens).any(1))[:, 0]
            tokens = torch.cat([tokens, batch["exchanged"][is_exchanged]])
            lengths = torch.cat([lengths, lengths[is_exchanged]])
        captions, pictures = model.project(model.read(tokens, lengths)), model.project(seen)
        own, other = captions[: len(pictures)], captions[len(pictures) :]
        fits = model.fits(own, pictures)
        # Neighbours of a batch look alike: their captions are the hard negatives. Others are there for all to see.
        near, far = fits.diagonal(1), fits.diagonal(len(fits) // 2)
        right = fits.diagonal()
        total = told(right, True) + (told(near, False) + told(far, False)) / 2
        if len(other):
            wrong = model.fit(other, pictures[is_exchanged])
            # The caption as it was against the same with a word exchanged, by the same picture.
            total = total + self.config.exchanged * (
                told(wrong, False) + F.softplus(wrong - right[is_exchanged]).mean()
            )
        return total + self.config.contrast * contrast(fits)

    def validate(self, model: Semantics) -> dict[str, float]:
        """Recall by the cosine while it is trained, then by the kernels, and exchanged words by the kernels."""
        device = next(model.parameters()).device
        tokens = torch.from_numpy(self.held_out.tokens).long().to(device)
        lengths = torch.from_numpy(self.held_out.lengths).to(device)
        other = self.classes.exchanged(
            self.held_out.tokens.astype(np.int64), self._mentioned_there, np.arange(len(tokens)),
            np.random.default_rng(0),
        )  # fmt: skip
        seen = model.look(torch.from_numpy(self._vectors_there).to(device))
        read = model.read(tokens, lengths)
        changed = model.read(torch.from_numpy(other).to(device), lengths)
        captions, pictures, wrong = (model.project(each) for each in (read, seen, changed))
        fits = torch.cat([model.fits(captions, part) for part in pictures.split(_BLOCK)]).cpu().numpy()
        cosines = (seen @ read.T).cpu().numpy()
        owner = np.arange(len(tokens))
        is_changed = (other != self.held_out.tokens).any(1)
        right = fits.diagonal()[is_changed]
        found = recalls(fits, owner)
        exchanged = model.fit(wrong, pictures).cpu().numpy()[is_changed]
        by_cosine = recalls(cosines, owner)["recall"]
        return {
            # No epoch is kept that has not trained the kernels.
            "recall": found["recall"] if self._has_kernels else 0.0,
            "recall_by_cosine": by_cosine,
            "picture_at_1": found["picture_at_1"],
            "auc_random": area(fits.diagonal(), np.roll(fits, 1, axis=1).diagonal()),
            "exchanged": float((right > exchanged).mean()) if len(right) else 0.0,
        }

    def export(self, model: Semantics, folder: Path) -> tuple[str, ...]:
        tokens, vectors = torch.full((2, 5), UNK), torch.zeros(2, model.shape.picture_width)
        free = {"tokens": {1: "words"}}
        to_onnx(_Captions(model), {"tokens": tokens}, ["captions"], folder / CAPTIONS, dynamic=free, weights="float16")
        to_onnx(_Pictures(model), {"vectors": vectors}, ["pictures"], folder / PICTURES, weights="float16")
        weight, bias = model.out.weight.double().numpy(), model.out.bias.double().numpy()
        stream = io.BytesIO()
        sizes = np.array([model.shape.kernels, model.shape.kernel_width])
        np.savez(stream, weight=weight[1] - weight[0], bias=bias[1] - bias[0], sizes=sizes)
        write_bytes(folder / HEAD, stream.getvalue())
        return CAPTIONS, PICTURES, HEAD

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        # Made-up pictures and captions: nothing of the data sets goes into a checkpoint.
        random = np.random.default_rng(0)
        inputs: Arrays = {
            "tokens": random.integers(UNK + 1, len(self.vocabulary), (4, 5)),
            "vectors": random.normal(size=(4, self.pool.dim)).astype(np.float32),
        }
        return inputs, semantic_outputs(folder, inputs)

    def assets(self) -> dict[str, bytes]:
        return {VOCABULARY: self.vocabulary.to_bytes()}

    def facts(self) -> dict[str, Any]:
        tokens: Longs = self.captions.tokens.astype(np.int64)
        return {"pictures": len(self.images), "captions": len(tokens), "data": digest_of(tokens, self._vectors)}


def contrast(fits: Tensor) -> Tensor:
    """The right caption among all for each picture, and the right picture for each caption."""
    own = torch.arange(len(fits), device=fits.device)
    return (F.cross_entropy(fits, own) + F.cross_entropy(fits.T, own)) / 2


def told(logits: Tensor, match: bool) -> Tensor:
    """The cross entropy of equation 5."""
    return F.softplus(-logits if match else logits).mean()


class _Captions(nn.Module):
    """Captions of one length -> K, which all pictures share."""

    def __init__(self, model: Semantics) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model.project(self.model.read_alike(tokens))


class _Pictures(nn.Module):
    """Picture vectors -> K, which all captions share."""

    def __init__(self, model: Semantics) -> None:
        super().__init__()
        self.model = model

    def forward(self, vectors: Tensor) -> Tensor:
        return self.model.project(self.model.look(vectors))
