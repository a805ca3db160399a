"""Training the captioner, and how good its captions are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from capeval.errors import DataError
from capeval.evaluate import evaluate
from capeval.io.captions import candidates_from, join, references_from
from capeval.models.captioner import Captioner, Start, Step
from capeval.run import Run
from capeval.runtime.captioner import START, STEP, VOCABULARY, Exported, State, beam_search, probe_outputs
from capeval.runtime.session import open_session
from capeval.text.vocabulary import EOS, UNK, Ids, Vocabulary
from capeval.train.batching import by_length, count_of
from capeval.train.captions import CaptionTable
from capeval.train.data import gathered
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.pictures import Pool, with_pictures
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.captioner.config import Config
from capeval.types import Floats


class CaptionerTask(Task[Captioner]):
    """See `Task`."""

    name: ClassVar[str] = "captioner"
    monitor = "cider_d"

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
        self.captions = CaptionTable.of(self.vocabulary, captions, list(captions), config.length, bos=True)
        self.sources = config.train
        chosen = sorted(validation)
        np.random.default_rng(0).shuffle(chosen)  # the same ones whatever the seed, so that trainings can be compared
        self.references = {image: validation[image] for image in chosen[: config.validation_pictures]}
        self.shown = pool.vectors(list(self.references))
        first = {image: several[:1] for image, several in self.references.items()}
        self.held_out = CaptionTable.of(self.vocabulary, first, list(first), config.length, bos=True)
        self.dim = pool.dim

    def build(self) -> Captioner:
        config = self.config
        return Captioner(self.dim, len(self.vocabulary), config.words, config.hidden, config.dropout)

    def steps(self) -> int:
        drawn = self.captions.draw_some(self.config.captions_per_picture, np.random.default_rng(0))
        return count_of(len(drawn), self.config.batch)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        drawn = self.captions.draw_some(self.config.captions_per_picture, random)
        owners = self.captions.owners()
        for part in by_length(self.captions.lengths[drawn], self.config.batch, random):
            rows = drawn[part]
            pictures = self.pictures[owners[rows]].astype(np.float32)
            yield {"pictures": torch.from_numpy(pictures), "ids": torch.from_numpy(self.captions.padded(rows))}

    def loss(self, model: Captioner, batch: Batch) -> Tensor:
        scores, words = model(batch["pictures"], batch["ids"])
        return nn.functional.cross_entropy(scores, words)

    def validate(self, model: Captioner) -> dict[str, float]:
        """Loss on one caption of each picture, and CIDEr-D of greedy captions."""
        device = next(model.parameters()).device
        losses, counts = [], []
        for begin in range(0, len(self.shown), self.config.batch):
            part = slice(begin, begin + self.config.batch)
            pictures = torch.from_numpy(self.shown[part]).to(device)
            scores, words = model(pictures, torch.from_numpy(self.held_out.tokens[part]).long().to(device))
            losses.append(float(nn.functional.cross_entropy(scores, words, reduction="sum")))
            counts.append(len(words))
        network = _OnTorch(model)
        parts = [self.shown[begin : begin + 256] for begin in range(0, len(self.shown), 256)]
        rows = [row for part in parts for row in beam_search(network, part, 1, self.config.length + 1).tolist()]
        texts = [" ".join(self.vocabulary.words(row)) for row in rows]
        written = candidates_from(dict(zip(self.references, texts)))
        dataset = join(written, references_from(self.references)).dataset
        found = evaluate(dataset, ["cider_d", "bleu_4"], Run(threads=1)).scores
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
        tokens = self.captions.tokens
        sizes = {"dim": self.dim, "pictures": len(self.pictures), "captions": len(tokens)}
        return {**sizes, "data": digest_of(self.pictures, tokens)}


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
