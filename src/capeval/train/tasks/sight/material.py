"""Pictures and captions to learn from: their own, wrong ones, and those that people have judged beside a picture."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from capeval.errors import DataError
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
from capeval.train.task import Arrays, Batch, Inputs, Model, Task
from capeval.train.tasks.sight.config import Config
from capeval.types import Floats, Longs

MEANING = "meaning"
Axes = Mapping[str, Mapping[int, str]]
"""Axes that may have any length, by the name of an input or output."""
SHARPEST = 100.0
"""By how much what fits may be multiplied before it is compared."""
_BLOCK = 256
_PIECES = 32
"""Of a caption that are kept for training; few have more."""


class States(NamedTuple):
    """What the sentence encoder knows of captions: those of caption i are `values[offsets[i]:offsets[i + 1]]`."""

    values: npt.NDArray[np.float16]
    offsets: Longs

    @classmethod
    def of(cls, meaning: Meaning, texts: Sequence[Sequence[str]], inputs: Inputs, most: int = _PIECES) -> States:
        """`most`: pieces of a caption that are kept."""
        parts: list[npt.NDArray[np.float16]] = []
        lengths: list[int] = []
        run = inputs.run
        with run.progress.bar("reading captions", len(texts), "captions") as show:
            for start in range(0, len(texts), 4096):
                # Of a long caption the end stays the end.
                found = [
                    np.concatenate([each[: most - 1], each[-1:]]) if len(each) > most else each
                    for each in meaning.states(texts[start : start + 4096], run.threads)
                ]
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


class PicturesAndCaptions(Task[Model], Generic[Model]):
    """A network that learns from pictures beside captions, which the sentence encoder has read."""

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

    def _see_all(self, model: Any, rows: Longs) -> Tensor:
        return torch.cat([model.look(*self._pictures(part)) for part in blocks(rows)])

    def _export(self, model: Any, folder: Path, read: Axes, seen: Axes) -> tuple[str, ...]:
        """Both sides as ONNX files, whose outputs have these names and free axes, and the scale."""
        shape = model.shape
        sides: dict[str, tuple[str, dict[str, Tensor], Axes]] = {
            CAPTIONS: ("read", {"states": torch.zeros(2, 5, shape.state_width)}, {"states": {1: "pieces"}, **read}),
            PICTURES: (
                "look",
                {"vectors": torch.zeros(2, shape.picture_width), "regions": torch.zeros(2, 4, shape.region_width)},
                {"regions": {1: "regions"}, **seen},
            ),
        }
        for name, (method, given, free) in sides.items():
            outputs = list(read if name == CAPTIONS else seen)
            to_onnx(_Side(model, method), given, outputs, folder / name, dynamic=free, weights="float16")
        stream = io.BytesIO()
        np.savez(stream, slope=float(model.slope), offset=float(model.offset))
        write_bytes(folder / SCALE, stream.getvalue())
        return CAPTIONS, PICTURES, SCALE

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)

        def drawn(*size: int) -> Floats:
            return random.normal(size=size).astype(np.float32)

        inputs: Arrays = {
            "states": drawn(4, 6, self.states.values.shape[1]),
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


def blocks(rows: Longs) -> list[Longs]:
    return [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]


class _Side(nn.Module):
    """One method of a network, to be exported."""

    def __init__(self, model: nn.Module, method: str) -> None:
        super().__init__()
        self.model, self.method = model, method

    def forward(self, *given: Tensor) -> Any:
        return getattr(self.model, self.method)(*given)
