"""Training a network to hear whether a sentence is broken: people's captions beside the same ones broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import DataError
from capeval.models.fluency import Listener, load_listener
from capeval.perturb.worse import BROKEN, Worsener, tagged
from capeval.runtime.fluency import TOKENIZER, listener_outputs
from capeval.runtime.pieces import Pieces
from capeval.text.tokenize import tokenize
from capeval.train.data import captions, some_of
from capeval.train.facts import digest_of
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.fluency.config import Config
from capeval.train.tasks.fluency.export import export_listener
from capeval.train.tasks.meaning.material import Words, broken_captions
from capeval.train.tasks.uice_syn.corpus import sentences_of
from capeval.train.tasks.uice_syn.task import area
from capeval.types import Floats

MINILM = "minilm"
_OFTEN = {"permuted": 6, "replaced": 4, "cut": 2}
"""How often captions are broken in a way, beside once: what is hardest to hear is heard most."""
_KINDS = tuple(kind for kind in BROKEN for _ in range(_OFTEN.get(kind, 1)))
_SHORTEST, _SHORT, _LONGEST = 2, 5, 50
"""Words of a sentence to learn from, and up to how many it is short."""
_THERE = 500
_FALSE_ALARMS = 0.01
_CALIBRATION = 400


class FluencyTask(Task[Listener]):
    name: ClassVar[str] = "fluency"
    monitor = "caught"
    extras = (MINILM,)
    takes_corpus = True

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        if MINILM not in inputs.extra:
            raise DataError(
                "the folder of MiniLM is needed, as `minilm` (docs/metrics/fluency.md)", remedy="training_inputs"
            )
        self.folder = Path(inputs.extra[MINILM])
        self.pieces = Pieces(self.folder / TOKENIZER, config.pieces)
        self.sources = config.sources
        texts = [_texts(source, "train", inputs) for source in config.sources]
        texts += [list(sentences_of(file)) for file in inputs.corpus]
        self.spoken = [tagged(_fitting(some_of(each, config.sentences), inputs), inputs.run) for each in texts]
        if not all(self.spoken):
            raise DataError("one of the sources has no sentence to learn from")
        self.short = [[each for each in source if len(each.words) <= _SHORT] or source for source in self.spoken]
        self.worsener = Worsener((each for source in self.spoken for each in source), config.gentleness)
        there = [some_of(_texts(source, "val", inputs), _THERE) for source in config.validation]
        self.there = tagged(_fitting([text for each in there for text in each], inputs), inputs.run)
        random = np.random.default_rng(0)
        self.broken_there = {
            kind: [each for each in broken_captions(self.there, self.worsener, (kind,), random) if each]
            for kind in BROKEN
        }

    def build(self) -> Listener:
        model = load_listener(self.folder, self.config.layers)
        model.pieces.weight.requires_grad_(False)
        return model

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        able = [each for each in model.parameters() if each.requires_grad]
        return torch.optim.AdamW(able, lr=self.config.learning_rate, weight_decay=self.config.weight_decay)

    def steps(self) -> int:
        return self.config.steps

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        for _ in range(self.config.steps):
            drawn = [self._drawn(place % len(self.spoken), random) for place in range(self.config.batch)]
            tokens, lengths = self.pieces.encode([own for own, _ in drawn] + [broken for _, broken in drawn])
            yield {"tokens": torch.from_numpy(tokens), "lengths": torch.from_numpy(lengths)}

    def _drawn(self, number: int, random: np.random.Generator) -> tuple[Words, Words]:
        """A sentence of a source, and the same broken."""
        while True:
            source = (self.short if random.random() < self.config.short else self.spoken)[number]
            own, other = (source[row] for row in random.integers(len(source), size=2).tolist())
            kind = _KINDS[int(random.integers(len(_KINDS)))]
            if broken := self.worsener.worse(kind, own, (), other.words, random):
                return own.words, broken

    def loss(self, model: Listener, batch: Batch) -> Tensor:
        with torch.autocast(batch["tokens"].device.type, torch.bfloat16, enabled=self.config.bfloat16):
            sounds = _heard(model, batch["tokens"], batch["lengths"])
        own, broken = sounds.chunk(2)
        return F.softplus(-own).mean() + F.softplus(broken).mean()

    def validate(self, model: Listener) -> dict[str, float]:
        """Of each way to break captions: the area under the ROC curve, and the share that is caught where 1 % of
        people's captions are caught too.
        """
        own = self._sounds(model, [each.words for each in self.there])
        limit = np.quantile(own, _FALSE_ALARMS)
        is_short = np.array([len(each.words) <= _SHORT for each in self.there])
        told: dict[str, float] = {"short_caught": float((own[is_short] < limit).mean()) if is_short.any() else 0.0}
        for kind, several in self.broken_there.items():
            found = self._sounds(model, several)
            told |= {f"area_{kind}": area(own, found), f"caught_{kind}": float((found < limit).mean())}
        return {"caught": float(np.mean([told[f"caught_{kind}"] for kind in _KINDS])), **told}

    def _sounds(self, model: Listener, texts: Sequence[Words]) -> Floats:
        found = []
        for start in range(0, len(texts), 512):
            tokens, lengths = self.pieces.encode(texts[start : start + 512])
            found.append(_heard(model, torch.from_numpy(tokens), torch.from_numpy(lengths)).numpy())
        return np.concatenate(found)

    def export(self, model: Listener, folder: Path) -> tuple[str, ...]:
        texts = [each.words for source in self.spoken for each in source[:_CALIBRATION]]
        tokens, lengths = self.pieces.encode(texts[:: max(1, len(texts) // _CALIBRATION)])
        return export_listener(model, folder, [row[:length] for row, length in zip(tokens, lengths)])

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)
        inputs: Arrays = {"tokens": random.integers(self.pieces.size // 10, self.pieces.size, (4, 7))}
        return inputs, listener_outputs(folder, inputs)

    def assets(self) -> dict[str, bytes]:
        return {TOKENIZER: (self.folder / TOKENIZER).read_bytes()}

    def facts(self) -> dict[str, Any]:
        tokens, _ = self.pieces.encode([each.words for source in self.spoken for each in source[:500]])
        return {"sentences": sum(map(len, self.spoken)), "data": digest_of(tokens)}


def _texts(source: str, split: Any, inputs: Inputs) -> list[str]:
    return [text for several in captions(source, split, inputs.data).values() for text in several]


def _fitting(texts: Sequence[str], inputs: Inputs) -> list[list[str]]:
    """Tokenised, without those that are too short or too long to learn from."""
    return [words for words in tokenize(texts, inputs.run) if _SHORTEST <= len(words) <= _LONGEST]


def _heard(model: Listener, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Captions of like lengths are read together, so that little is padded."""
    order = torch.argsort(lengths, stable=True)
    found = [model(tokens[rows, : int(lengths[rows].max())], lengths[rows]) for rows in order.split(32)]
    return torch.cat(found)[torch.argsort(order)].float()
