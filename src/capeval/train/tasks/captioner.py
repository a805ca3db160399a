"""Training the captioner: pictures' vectors and their captions, word by word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from msgspec import Meta
from torch import Tensor, nn

from capeval.errors import DataError
from capeval.models.captioner import Captioner, Start, Step
from capeval.runtime.captioner import START, STEP, VOCABULARY, Exported, State, beam_search, probe_outputs
from capeval.runtime.session import open_session
from capeval.text.vocabulary import EOS, UNK, Ids, Vocabulary
from capeval.train.config import Count, Share, TrainConfig
from capeval.train.data import Pool, digest_of, gathered, with_pictures
from capeval.train.export import to_onnx
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.types import Floats

_POOL = 50  # batches that are sorted by length together


@dataclass(frozen=True)
class Config(TrainConfig):
    """The captioner's config."""

    epochs: Count = 12
    """How many at most."""
    patience: Annotated[int, Meta(ge=0)] = 2
    """Stop after so many epochs without improvement; 0: never."""
    batch: Count = 128
    """Captions in a step."""
    decay: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """The learning rate is multiplied by it after each epoch."""
    clip: Annotated[float, Meta(ge=0)] = 5.0
    """Largest norm of the gradient; 0: any."""
    train: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets, or files of references, whose pictures have features."""
    validation: tuple[str, ...] = ("coco", "flickr8k")
    """Data sets, whose validation split is taken, or files of references."""
    validation_pictures: Count = 1000
    """How many pictures are captioned after each epoch."""
    captions_per_picture: Annotated[int, Meta(ge=0)] = 2
    """How many captions of each picture an epoch draws; 0: all."""
    vocabulary: Count = 8000
    """Words at most."""
    minimum: Count = 5
    """How often a word must occur in the captions to be in the vocabulary."""
    length: Count = 20
    """Words of a caption at most; longer ones are cut."""
    words: Count = 256
    """Width of the word vectors."""
    hidden: Count = 512
    """Width of the LSTM."""
    dropout: Share = 0.3
    """Share of inputs and outputs of the LSTM that is left out in training."""
    encoder: str = ""
    """Name of the pictures' encoder, where the files of features do not tell it."""
    weights: Literal["float32", "float16", "int8"] = "float16"
    """How the exported model stores its weights."""


class CaptionerTask(Task[Captioner]):
    """See `Task`."""

    name: ClassVar[str] = "captioner"
    monitor: ClassVar[str] = "cider_d"

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        pool = Pool(inputs.features)
        self.encoder = pool.encoder or config.encoder
        captions = with_pictures(gathered(config.train, "train", inputs.data), pool)
        validation = with_pictures(gathered(config.validation, "val", inputs.data), pool)
        # A file of the user may name one picture in both.
        validation = {image: texts for image, texts in validation.items() if image not in captions}
        if not captions or not validation:
            what = "validate" if captions else "train"
            raise DataError(
                f"no picture to {what} with: the features have none of those that have captions"
                + (", but for those that are trained on" if captions else "")
            )
        texts = [text for several in captions.values() for text in several]
        self.vocabulary = Vocabulary.of(texts, config.vocabulary, config.minimum)
        if len(self.vocabulary) <= UNK + 1:
            raise DataError(f"no word occurs {config.minimum} times in the captions to train on: lower `minimum`")
        self.pictures = pool.vectors(list(captions)).astype(np.float16)
        self.ids, self.lengths = self._coded(texts)
        self.first = np.concatenate([[0], np.cumsum([len(several) for several in captions.values()])])
        chosen = sorted(validation)
        np.random.default_rng(0).shuffle(chosen)  # the same ones whatever the seed, so that trainings can be compared
        self.references = {image: validation[image] for image in chosen[: config.validation_pictures]}
        self.shown = pool.vectors(list(self.references))
        self.held_out = self._coded([several[0] for several in self.references.values()])[0]
        self.dim = pool.dim

    def _coded(self, texts: list[str]) -> tuple[npt.NDArray[np.int32], Ids]:
        ids, lengths = self.vocabulary.encode_texts(texts, self.config.length, bos=True)
        return ids.astype(np.int32), lengths

    def build(self) -> Captioner:
        config = self.config
        return Captioner(self.dim, len(self.vocabulary), config.words, config.hidden, config.dropout)

    def steps(self) -> int:
        return -(-len(self._drawn(np.random.default_rng(0))[0]) // self.config.batch)

    def _drawn(self, random: np.random.Generator) -> tuple[Ids, Ids]:
        """Captions of an epoch, and the picture of each."""
        counts, wanted = np.diff(self.first), self.config.captions_per_picture
        owner = np.repeat(np.arange(len(counts)), counts)
        # The captions of each picture in random order, of which the first are taken.
        order = np.lexsort((random.random(len(owner)), owner))
        rank = np.arange(len(owner)) - self.first[owner]
        chosen = order[rank < wanted] if wanted else order
        return chosen, owner[chosen]

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        captions, owners = self._drawn(random)
        order = random.permutation(len(captions))
        size = self.config.batch
        for begin in range(0, len(order), _POOL * size):
            pool = order[begin : begin + _POOL * size]
            pool = pool[np.argsort(self.lengths[captions[pool]], kind="stable")]
            parts = [pool[start : start + size] for start in range(0, len(pool), size)]
            for number in random.permutation(len(parts)):
                rows = captions[parts[number]]
                ids = self.ids[rows, : self.lengths[rows].max()]
                pictures = self.pictures[owners[parts[number]]].astype(np.float32)
                yield {"pictures": torch.from_numpy(pictures), "ids": torch.from_numpy(ids).long()}

    def loss(self, model: Captioner, batch: Batch) -> Tensor:
        scores, words = model(batch["pictures"], batch["ids"])
        return nn.functional.cross_entropy(scores, words)

    def validate(self, model: Captioner) -> dict[str, float]:
        """Loss on one caption of each picture, and CIDEr-D of greedy captions."""
        from capeval.api import score

        device = next(model.parameters()).device
        losses, counts = [], []
        for begin in range(0, len(self.shown), self.config.batch):
            part = slice(begin, begin + self.config.batch)
            pictures = torch.from_numpy(self.shown[part]).to(device)
            scores, words = model(pictures, torch.from_numpy(self.held_out[part]).long().to(device))
            losses.append(float(nn.functional.cross_entropy(scores, words, reduction="sum")))
            counts.append(len(words))
        network = _OnTorch(model)
        parts = [self.shown[begin : begin + 256] for begin in range(0, len(self.shown), 256)]
        rows = [row for part in parts for row in beam_search(network, part, 1, self.config.length + 1).tolist()]
        texts = [" ".join(self.vocabulary.words(row)) for row in rows]
        found = score(dict(zip(self.references, texts)), dict(self.references), ["cider_d", "bleu_4"], threads=1).scores
        return {"loss": sum(losses) / sum(counts), "cider_d": found["cider_d"], "bleu_4": found["bleu_4"]}

    def export(self, model: Captioner, folder: Path) -> tuple[str, ...]:
        config = self.config
        state = {name: torch.zeros(2, config.hidden) for name in ("hidden", "cell")}
        pictures = {"pictures": torch.zeros(2, self.dim)}
        to_onnx(Start(model), pictures, ["hidden", "cell"], folder / START, weights=config.weights)
        inputs = {"ids": torch.full((2,), EOS), **state}
        outputs = ["scores", "next_hidden", "next_cell"]
        to_onnx(Step(model), inputs, outputs, folder / STEP, weights=config.weights)
        return START, STEP

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        # Made-up pictures and captions: nothing of the data sets goes into a checkpoint.
        random = np.random.default_rng(0)
        scale = self.shown.mean(0)
        pictures = (scale * random.exponential(size=(4, self.dim))).astype(np.float32)
        ids = random.integers(UNK + 1, len(self.vocabulary), (4, 5))
        network = Exported(*(open_session(folder / name) for name in (START, STEP)))
        return {"pictures": pictures, "ids": ids}, dict(probe_outputs(network, pictures, ids))

    def assets(self) -> dict[str, bytes]:
        return {VOCABULARY: self.vocabulary.to_bytes()}

    def facts(self) -> dict[str, Any]:
        sizes = {"dim": self.dim, "pictures": len(self.pictures), "captions": len(self.ids)}
        return {"encoder": self.encoder, **sizes, "data": digest_of(self.pictures, self.ids)}


class _OnTorch:
    """The network in training, for decoding."""

    def __init__(self, model: Captioner) -> None:
        self._start, self._step = Start(model), Step(model)
        self._device = next(model.parameters()).device

    def start(self, pictures: Floats) -> State:
        return State(*(each.cpu().numpy() for each in self._start(torch.from_numpy(pictures).to(self._device))))

    def step(self, words: Ids, state: State) -> tuple[Floats, State]:
        given = (torch.from_numpy(each).to(self._device) for each in (words, *state))
        scores, hidden, cell = (each.cpu().numpy() for each in self._step(*given))
        return scores, State(hidden, cell)


CONFIG, TASK = Config, CaptionerTask
