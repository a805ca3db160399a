"""Training pictures and captions into one space: by contrast, by wrong words, and by what people have judged."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.errors import DataError
from capeval.models.sight import Sight, SightShape
from capeval.perturb.worse import WRONG, Worsener, tagged
from capeval.runtime.meaning import Meaning, open_meaning
from capeval.runtime.sight import CAPTIONS, PICTURES, SCALE, sight_outputs
from capeval.text.tokenize import tokenize
from capeval.train.batching import by_group, by_near_groups
from capeval.train.checkpoint import write_bytes
from capeval.train.data import some_of
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.parts import PartName, judged
from capeval.train.pictures import Pool, pictured
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.meaning.task import ordered
from capeval.train.tasks.scan.task import recalls
from capeval.train.tasks.sight.config import Config
from capeval.train.tasks.uice_sem.task import contrast
from capeval.types import Floats, Longs

MEANING = "meaning"
_SHARPEST = 100.0
_BLOCK = 256
_PIECES = 32
"""Of a caption that are kept for training; few have more."""


class States(NamedTuple):
    """What the sentence encoder knows of captions: those of caption i are `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[np.float16]
    offsets: Longs

    @classmethod
    def of(cls, meaning: Meaning, texts: Sequence[Sequence[str]], inputs: Inputs) -> States:
        parts: list[npt.NDArray[np.float16]] = []
        lengths: list[int] = []
        run = inputs.run
        with run.progress.bar("reading captions", len(texts), "captions") as show:
            for start in range(0, len(texts), 4096):
                found = [each[:_PIECES] for each in meaning.states(texts[start : start + 4096], run.threads)]
                parts.append(np.concatenate(found).astype(np.float16))
                lengths += [len(each) for each in found]
                show(min(start + 4096, len(texts)))
        return cls(np.concatenate(parts), np.cumsum([0, *lengths]).astype(np.int64))

    def sentences(self, count: int) -> Floats:
        """[count, width] of the first captions, each of length 1."""
        sums = np.empty((count, self.values.shape[1]), np.float32)
        for row in range(count):
            sums[row] = self.values[self.offsets[row] : self.offsets[row + 1]].sum(0, dtype=np.float32)
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        return sums

    def padded(self, rows: Longs) -> tuple[Tensor, Tensor]:
        """[n, longest, width] and lengths."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        found = np.zeros((len(rows), int(lengths.max()), self.values.shape[1]), np.float32)
        for place, row in enumerate(rows.tolist()):
            found[place, : lengths[place]] = self.values[self.offsets[row] : self.offsets[row + 1]]
        return torch.from_numpy(found), torch.from_numpy(lengths)


class SightTask(Task[Sight]):
    name: ClassVar[str] = "sight"
    monitor = "chosen"
    extras = (MEANING,)

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        self.pool = Pool(inputs.features)
        self.encoder, self.sources = self.pool.encoder, config.sources
        if not self.pool.region_dim:
            raise DataError("the features have no regions", remedy="training_features")
        texts, kept, self._sources = pictured(config.sources, config.validation, self.pool, inputs.data)
        self.images = list(texts)
        self.meaning = open_meaning(inputs.extra.get(MEANING, "meaning"), inputs.run)
        self._read(texts, kept, inputs)
        self._look()

    def _read(self, texts: dict[str, tuple[str, ...]], kept: dict[str, tuple[str, ...]], inputs: Inputs) -> None:
        """All captions: of pictures, wrong ones, judged ones, and those that are kept apart."""
        config, run = self.config, inputs.run
        own = [list(texts[image][: config.captions]) for image in self.images]
        self._first = np.cumsum([0, *map(len, own)])
        words = tokenize([text for several in own for text in several], run)
        parsed = tagged([words[row] for row in self._first[:-1]], run)
        known = [set().union(*words[begin:end]) for begin, end in zip(self._first, self._first[1:])]
        worsener, random = Worsener(parsed), np.random.default_rng(0)
        self._wrong_of = np.full(len(self.images), -1)
        wrong: list[Sequence[str]] = []
        for number, caption in enumerate(parsed):
            kind = WRONG[int(random.integers(len(WRONG)))]
            if made := worsener.worse(kind, caption, known[number], (), random):
                self._wrong_of[number] = len(words) + len(wrong)
                wrong.append(made)
        self.held_out = some_of(sorted(kept), config.validation_pictures)
        first = tokenize([kept[image][0] for image in self.held_out], run)
        changed = [worsener.exchanged(each, each.words, random) or list(each.words) for each in tagged(first, run)]
        parts: tuple[PartName, ...] = ("A", "C")
        rows = {part: [row for row in judged("sits", part, inputs.data) if row.image in self.pool] for part in parts}
        said = {part: tokenize([row.candidate for row in rows[part]], run) for part in parts}
        every = [*words, *wrong, *first, *changed, *said["A"], *said["C"]]
        ends = np.cumsum([0, len(words), len(wrong), len(first), len(changed), len(said["A"]), len(said["C"])])
        self._there, self._changed, self._said, self._said_there = (
            np.arange(*ends[place : place + 2]) for place in (2, 3, 4, 5)
        )
        self.states = States.of(self.meaning, every, inputs)
        self._sentences = self.states.sentences(len(words))
        # What a picture's captions say together.
        self._together = np.add.reduceat(self._sentences, self._first[:-1]) / np.diff(self._first)[:, None]
        self._judged_images = list(dict.fromkeys(row.image for part in parts for row in rows[part]))
        number_of = {image: number for number, image in enumerate(self._judged_images)}
        self._judged, self._judged_there = (
            np.array([number_of[row.image] for row in rows[part]], np.int64) for part in parts
        )
        self._scores, self._scores_there = (np.array([row.score for row in rows[part]], np.float32) for part in parts)

    def _look(self) -> None:
        """All pictures, the regions with 16 bits: they fit into memory, and reading them again would take long."""
        every = [*self.images, *self.held_out, *self._judged_images]
        self._vectors = self.pool.vectors(every)
        first = self.pool.regions(every[:1])
        self._regions = np.empty((len(every), *first.shape[1:]), np.float16)
        for start in range(0, len(every), _BLOCK):
            self._regions[start : start + _BLOCK] = self.pool.regions(every[start : start + _BLOCK])
        self._begin_there = len(self.images)
        self._begin_judged = len(self.images) + len(self.held_out)

    def _pictures(self, rows: Longs) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(self._vectors[rows]), torch.from_numpy(self._regions[rows].astype(np.float32))

    def build(self) -> Sight:
        width = self.states.values.shape[1]
        shape = SightShape(self.pool.dim, self.pool.region_dim, width, width=self.config.width)
        return Sight(shape, self.config.dropout)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            model.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        config = self.config
        if epoch <= config.apart:
            drawn = by_group(self._sources, config.batch, random)
        else:
            drawn = by_near_groups(self._vectors, self._sources, config.near, config.batch, random)
        for images in drawn:
            if len(images) < 2:
                continue  # one caption alone has no negative
            counts = np.diff(self._first)[images]
            rows = self._first[images] + (random.random(len(images)) * counts).astype(np.int64)
            has_wrong = np.flatnonzero(self._wrong_of[images] >= 0)
            judged_rows = random.integers(len(self._said), size=config.judged if len(self._said) else 0)
            every = np.concatenate([rows, self._wrong_of[images][has_wrong], self._said[judged_rows]])
            seen = np.concatenate([images, self._begin_judged + self._judged[judged_rows]])
            states, lengths = self.states.padded(every)
            vectors, regions = self._pictures(seen)
            yield {
                "states": states,
                "lengths": lengths,
                "vectors": vectors,
                "regions": regions,
                "alike": torch.from_numpy(self._together[images] @ self._sentences[rows].T),
                "has_wrong": torch.from_numpy(has_wrong),
                "scores": torch.from_numpy(self._scores[judged_rows]),
            }

    def loss(self, model: Sight, batch: Batch) -> Tensor:
        config = self.config
        has_wrong, scores = batch["has_wrong"], batch["scores"]
        with torch.autocast(scores.device.type, torch.bfloat16, enabled=config.bfloat16):
            seen = model.look(batch["vectors"], batch["regions"]).float()
            read = model.read(batch["states"], batch["lengths"]).float()
        count = len(seen) - len(scores)
        own, wrong, said = read.split([count, len(has_wrong), len(scores)])
        pictures, judged_pictures = seen.split([count, len(scores)])
        sharp = model.sharpness.exp().clamp(max=_SHARPEST)
        fits = pictures @ own.T
        alike = batch["alike"]
        total = contrast(fits * sharp)
        total = total + config.alike * (nearest(fits * sharp, alike / config.softness) + in_proportion(fits, alike))
        if len(wrong):
            right = fits.diagonal()[has_wrong]
            false = (pictures[has_wrong] * wrong).sum(-1)
            total = total + config.wrong * F.softplus((false - right) * sharp).mean()
        if len(said):
            cosines = (judged_pictures * said).sum(-1)
            human = F.binary_cross_entropy_with_logits(model.logits(cosines), scores)
            total = total + config.human * (human + ordered(cosines, scores) / 4)
        return total

    def validate(self, model: Sight) -> dict[str, float]:
        """The right picture found, exchanged words heard, and rank correlation with people."""
        read = self._read_all(model, np.concatenate([self._there, self._changed, self._said_there]))
        own, changed, said = read.split([len(self._there), len(self._changed), len(self._said_there)])
        seen = self._see_all(model, self._begin_there + np.arange(len(self.held_out)))
        fits = (seen @ own.T).numpy()
        found = recalls(fits, np.arange(len(own)))
        wrong = (seen * changed).sum(-1).numpy()
        right = fits.diagonal()
        images, numbers = np.unique(self._judged_there, return_inverse=True)
        judged_pictures = self._see_all(model, self._begin_judged + images)
        cosines = (judged_pictures[numbers] * said).sum(-1).double().numpy()
        tau = correlations(self._scores_there.astype(np.float64), cosines)["kendall_b"].value
        return {
            "chosen": found["recall"] / 3 + tau,
            **found,
            "exchanged": float((right > wrong).mean()),
            "sits": tau,
        }

    def _read_all(self, model: Sight, rows: Longs) -> Tensor:
        order = np.argsort(np.diff(self.states.offsets)[rows], kind="stable")
        found = [model.read(*self.states.padded(rows[part])) for part in _split(order)]
        return torch.cat(found)[torch.from_numpy(np.argsort(order))]

    def _see_all(self, model: Sight, rows: Longs) -> Tensor:
        return torch.cat([model.look(*self._pictures(part)) for part in _split(rows)])

    def export(self, model: Sight, folder: Path) -> tuple[str, ...]:
        shape = model.shape
        states = torch.zeros(2, 5, shape.state_width)
        to_onnx(
            _Captions(model), {"states": states}, ["captions"], folder / CAPTIONS, dynamic={"states": {1: "pieces"}},
            weights="float16",
        )  # fmt: skip
        given = {"vectors": torch.zeros(2, shape.picture_width), "regions": torch.zeros(2, 4, shape.region_width)}
        to_onnx(
            _Pictures(model), given, ["pictures"], folder / PICTURES, dynamic={"regions": {1: "regions"}},
            weights="float16",
        )  # fmt: skip
        stream = io.BytesIO()
        np.savez(stream, slope=float(model.slope), offset=float(model.offset))
        write_bytes(folder / SCALE, stream.getvalue())
        return CAPTIONS, PICTURES, SCALE

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)

        def drawn(*size: int) -> Floats:
            return random.normal(size=size).astype(np.float32)

        width = self.states.values.shape[1]
        inputs: Arrays = {
            "states": drawn(4, 6, width),
            "vectors": drawn(4, self.pool.dim),
            "regions": drawn(4, 9, self.pool.region_dim),
        }
        return inputs, sight_outputs(folder, inputs)

    def facts(self) -> dict[str, Any]:
        return {
            "pictures": len(self.images),
            "captions": int(self._first[-1]),
            "judgements": len(self._said),
            MEANING: self.meaning.checkpoint.digest,
            "data": digest_of(self.states.offsets, self._vectors),
        }


def nearest(odds: Tensor, alike: Tensor) -> Tensor:
    """Small if a picture prefers captions that say what its own ones say, and a caption such pictures."""
    forth = F.cross_entropy(odds, alike.softmax(1))
    return (forth + F.cross_entropy(odds.T, alike.T.softmax(1))) / 2


def in_proportion(fits: Tensor, alike: Tensor) -> Tensor:
    """Small if captions fit pictures in proportion to how much they say what the pictures' own ones say."""
    one, other = ((each - each.mean()) / each.std() for each in (fits, alike))
    return F.mse_loss(one, other)


def _split(rows: Longs) -> list[Longs]:
    return [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]


class _Captions(nn.Module):
    def __init__(self, model: Sight) -> None:
        super().__init__()
        self.model = model

    def forward(self, states: Tensor) -> Tensor:
        return self.model.read(states)


class _Pictures(nn.Module):
    def __init__(self, model: Sight) -> None:
        super().__init__()
        self.model = model

    def forward(self, vectors: Tensor, regions: Tensor) -> Tensor:
        return self.model.look(vectors, regions)
