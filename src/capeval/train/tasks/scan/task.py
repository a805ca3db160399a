"""Training SCAN: what a batch is, what is minimised, and how often the right picture is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import DataError
from capeval.models.scan import Scan, ScanShape, unit
from capeval.runtime.scan import REGIONS, VOCABULARY, WORDS, probe_outputs
from capeval.text.vocabulary import UNK, Vocabulary, initial_vectors
from capeval.train.batching import by_group, by_near_groups
from capeval.train.captions import CaptionTable
from capeval.train.config import config_to_dict
from capeval.train.data import some_of
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.pictures import Pool, pictured
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.scan.config import Config
from capeval.types import Floats, Longs

_BLOCK = 100  # pictures that validation reads together
_AT = (1, 5, 10)
_SHARPEST = 100.0


class ScanTask(Task[Scan]):
    """See `Task`."""

    name: ClassVar[str] = "scan"
    monitor = "recall"

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        self.pool = Pool(inputs.features)
        self.encoder = self.pool.encoder
        self.sources = config.sources
        texts, kept, self._sources = pictured(config.sources, config.validation, self.pool, inputs.data)
        self.images, self.validation = list(texts), some_of(sorted(kept), config.validation_pictures)
        self.vocabulary = Vocabulary.of(
            (text for several in texts.values() for text in several), config.vocabulary, config.minimum
        )
        self.captions = CaptionTable.of(self.vocabulary, texts, self.images, config.words, eos=False)
        first = {image: kept[image][:1] for image in self.validation}
        self.held_out = CaptionTable.of(self.vocabulary, first, self.validation, config.words, eos=False)
        if not (self.captions.lengths.all() and self.held_out.lengths.all()):
            raise DataError("there are captions without a word among those to train on")

    def build(self) -> Scan:
        config = self.config
        start = initial_vectors(self.vocabulary, config.vectors, config.seed)
        shape = ScanShape(
            len(self.vocabulary),
            start.shape[1],
            self.pool.region_dim,
            config.width,
            config.hidden,
            config.direction,
            config.temperature,
            self.pool.dim if config.context else 0,
        )
        model = Scan(shape, config.dropout, config.alone)
        model.words.weight.data = torch.from_numpy(start)
        return model

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        is_warming = epoch <= self.config.warmup
        for images in self._warming(random) if is_warming else self._drawn(random):
            rows = self.captions.draw(images, random)
            # What makes the first epochs cheap is that a picture is one vector.
            names = [self.images[each] for each in images]
            regions = torch.from_numpy(self._means[images]) if is_warming else self._regions(names)
            yield self._around(names) | {
                "regions": regions,
                "tokens": torch.from_numpy(self.captions.padded(rows)),
                "lengths": torch.from_numpy(self.captions.lengths[rows]),
            }

    def _warming(self, random: np.random.Generator) -> Iterator[Longs]:
        # One caption alone has no negative.
        return (each for each in by_group(self._sources, self.config.warmup_batch, random) if len(each) > 1)

    def _drawn(self, random: np.random.Generator) -> Iterator[Longs]:
        if self.config.loss == "hinge":
            yield from (each for each in by_group(self._sources, self.config.batch, random) if len(each) > 1)
            return
        yield from by_near_groups(self._means, self._sources, self.config.near, self.config.batch, random)

    @cached_property
    def _means(self) -> Floats:
        """The mean region of each picture."""
        parts = [self.images[start : start + _BLOCK] for start in range(0, len(self.images), _BLOCK)]
        return np.concatenate([self.pool.regions(part).mean(axis=1, dtype=np.float32) for part in parts])

    def _regions(self, images: Sequence[str]) -> Tensor:
        return torch.from_numpy(self.pool.regions(images))

    def _around(self, images: Sequence[str]) -> Batch:
        """What regions are seen with."""
        return {"pictures": torch.from_numpy(self.pool.vectors(images))} if self.config.context else {}

    def look(self, model: Scan, images: Sequence[str], device: torch.device) -> Tensor:
        """Pictures as the model sees them."""
        around = {name: each.to(device) for name, each in self._around(images).items()}
        return model.look(self._regions(images).to(device), **around)

    def loss(self, model: Scan, batch: Batch) -> Tensor:
        lengths = batch["lengths"]
        words = model.read(batch["tokens"], lengths)
        regions = model.look(batch["regions"], batch.get("pictures"))
        if regions.dim() == 2:  # the mean region of each picture
            return contrast(model, (regions @ unit(words.sum(1)).T)[None])
        if self.config.loss == "hinge":
            return self.hinge(model, regions, words, lengths)
        groups = len(regions) // min(self.config.near, len(regions))
        fits = model.match_groups(*(each.unflatten(0, (groups, -1)) for each in (regions, words, lengths)))
        return contrast(model, fits)

    def hinge(self, model: Scan, regions: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Against the hardest caption of another picture, and the hardest picture of another caption."""
        fits = model.match_all(regions.detach(), words.detach(), lengths).fill_diagonal_(-torch.inf)
        own = torch.arange(len(fits), device=fits.device)
        # Gradients are needed of these pairs alone: three for each picture instead of all.
        picture, caption = torch.cat([own, own, fits.argmax(0)]), torch.cat([own, fits.argmax(1), own])
        right, *wrong = model.match(regions[picture], words[caption], lengths[caption]).split(len(own))
        return torch.stack([(self.config.margin + each - right).clamp(min=0).mean() for each in wrong]).sum()

    def validate(self, model: Scan) -> dict[str, float]:
        device = next(model.parameters()).device
        fits = all_fits(self, model, self.validation, self.held_out, device)
        return recalls(fits, np.arange(len(self.validation)))

    def export(self, model: Scan, folder: Path) -> tuple[str, ...]:
        tokens, given = torch.full((2, 5), UNK), {"regions": torch.zeros(2, 3, model.shape.region_width)}
        if model.shape.context:
            given["pictures"] = torch.zeros(2, model.shape.context)
        free = {"tokens": {1: "length"}, "words": {1: "length"}}
        to_onnx(_Words(model), {"tokens": tokens}, ["words"], folder / WORDS, dynamic=free, weights="float16")
        free = {"regions": {1: "places"}, "mapped": {1: "places"}}
        to_onnx(_Regions(model), given, ["mapped"], folder / REGIONS, dynamic=free, weights="float16")
        return WORDS, REGIONS

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        # Made-up pictures and captions: nothing of the data sets goes into a checkpoint.
        random = np.random.default_rng(0)
        inputs: Arrays = {
            "tokens": random.integers(UNK + 1, len(self.vocabulary), (4, 5)),
            "regions": random.normal(size=(4, 6, self.pool.region_dim)).astype(np.float32),
        }
        if self.config.context:
            inputs["pictures"] = random.normal(size=(4, self.pool.dim)).astype(np.float32)
        return inputs, probe_outputs(folder, config_to_dict(self.config), inputs)

    def assets(self) -> dict[str, bytes]:
        return {VOCABULARY: self.vocabulary.to_bytes()}

    def facts(self) -> dict[str, Any]:
        tokens = self.captions.tokens
        sizes = {"region_width": self.pool.region_dim, "pictures": len(self.images), "captions": len(tokens)}
        return {**sizes, "data": digest_of(tokens, self.captions.offsets)}


def contrast(model: Scan, fits: Tensor) -> Tensor:
    """The right caption of a group for each picture, and the right picture for each caption, of fits [groups, n, n]."""
    sharp = fits * model.sharpness.exp().clamp(max=_SHARPEST)
    own = torch.arange(fits.shape[1], device=fits.device).repeat(len(fits))
    return (F.cross_entropy(sharp.flatten(0, 1), own) + F.cross_entropy(sharp.mT.flatten(0, 1), own)) / 2


def all_fits(
    task: ScanTask, model: Scan, images: Sequence[str], table: CaptionTable, device: torch.device
) -> npt.NDArray[np.float32]:
    """How well every picture and every caption of a table fit."""
    parts = [images[start : start + _BLOCK] for start in range(0, len(images), _BLOCK)]
    regions = torch.cat([task.look(model, part, device) for part in parts])
    lengths = torch.from_numpy(table.lengths).to(device)
    words = model.read(torch.from_numpy(table.tokens).long().to(device), lengths)
    return model.match_all(regions, words, lengths).cpu().numpy()


def recalls(fits: npt.NDArray[np.float32], owner: Longs) -> dict[str, float]:
    """How often the right picture is among the first k for a caption, and one of the right captions for a picture."""
    right = fits[owner, np.arange(len(owner))]
    of_captions = (fits > right).sum(0)
    best = np.full(len(fits), -np.inf, np.float32)
    np.maximum.at(best, owner, right)
    of_pictures = (fits > best[:, None]).sum(1)
    found = {f"picture_at_{k}": float((of_captions < k).mean()) for k in _AT}
    found |= {f"caption_at_{k}": float((of_pictures < k).mean()) for k in _AT}
    return {"recall": sum(found.values()) / len(found), **found}


class _Words(nn.Module):
    """Captions of one length -> vectors of their words."""

    def __init__(self, model: Scan) -> None:
        super().__init__()
        self.words, self.forth, self.back = model.words, model.forth, model.back

    def forward(self, tokens: Tensor) -> Tensor:
        given = self.words(tokens)
        return unit(self.forth(given)[0] + self.back(given.flip(1))[0].flip(1))


class _Regions(nn.Module):
    def __init__(self, model: Scan) -> None:
        super().__init__()
        self.model = model

    def forward(self, regions: Tensor, pictures: Tensor | None = None) -> Tensor:
        return self.model.look(regions, pictures)
