"""Training a network to hear whether a sentence is broken: people's captions beside the same ones broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import DataError
from capeval.models.fluency import Listener, load_listener
from capeval.perturb.manners import in_a_row, inventory
from capeval.perturb.worse import BROKEN, Tagged, Worsener, tagged
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
from capeval.types import Floats, Longs

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
    monitor = "chosen"
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
        self.spoken = [
            _Source.of(captions(source, "train", inputs.data).values(), config, inputs) for source in config.sources
        ]
        self.spoken += [_Source.of(_threes(list(sentences_of(file))), config, inputs) for file in inputs.corpus]
        self.worsener = Worsener((each for source in self.spoken for each in source.sentences), config.gentleness)
        there = [
            _Source.of(captions(source, "val", inputs.data).values(), config, inputs) for source in config.validation
        ]
        self.there = [each for source in there for each in some_of(source.sentences, _THERE)]
        random = np.random.default_rng(0)
        self.broken_there = {
            kind: [each for each in broken_captions(self.there, self.worsener, (kind,), random) if each]
            for kind in BROKEN
        }
        rows = [int(row) for row in random.integers(_THERE, size=_THERE)]
        self.manners_there = {
            "several": [source.several(row % len(source), random) for source in there for row in rows],
            "inventories": [made for each in self.there if (made := inventory(each, random))],
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
        """A sentence of a source, or several, and the same broken."""
        config, source = self.config, self.spoken[number]
        while True:
            rows = source.short if random.random() < config.short else source.every
            row, other = (int(rows[place]) for place in random.integers(len(rows), size=2))
            own, manner = source.sentences[row], random.random()
            if manner < config.several:
                own = source.several(row, random)
            elif manner < config.several + config.inventories:
                own = inventory(own, random) or own
            kind = _KINDS[int(random.integers(len(_KINDS)))]
            if broken := self.worsener.worse(kind, own, (), source.sentences[other].words, random):
                return own.words, broken

    def loss(self, model: Listener, batch: Batch) -> Tensor:
        with torch.autocast(batch["tokens"].device.type, torch.bfloat16, enabled=self.config.bfloat16):
            sounds = _heard(model, batch["tokens"], batch["lengths"])
        own, broken = sounds.chunk(2)
        return F.softplus(-own).mean() + F.softplus(broken).mean()

    def validate(self, model: Listener) -> dict[str, float]:
        """Of each way to break captions: the area under the ROC curve, and the share that is caught where 1 % of
        people's captions are caught too; and how many sound captions in other manners are caught with them.
        """
        own = self._sounds(model, [each.words for each in self.there])
        limit = np.quantile(own, _FALSE_ALARMS)
        is_short = np.array([len(each.words) <= _SHORT for each in self.there])
        told: dict[str, float] = {"short_caught": float((own[is_short] < limit).mean()) if is_short.any() else 0.0}
        for kind, several in self.broken_there.items():
            found = self._sounds(model, several)
            told |= {f"area_{kind}": area(own, found), f"caught_{kind}": float((found < limit).mean())}
        for manner, sound in self.manners_there.items():
            heard = self._sounds(model, [each.words for each in sound])
            told[f"lost_{manner}"] = float((heard < limit).mean()) if len(heard) else 0.0
        lost = sum(told[f"lost_{manner}"] for manner in self.manners_there)
        return {"chosen": float(np.mean([told[f"caught_{kind}"] for kind in _KINDS])) - lost, **told}

    def _sounds(self, model: Listener, texts: Sequence[Words]) -> Floats:
        found = []
        for start in range(0, len(texts), 512):
            tokens, lengths = self.pieces.encode(texts[start : start + 512])
            found.append(_heard(model, torch.from_numpy(tokens), torch.from_numpy(lengths)).numpy())
        return np.concatenate(found)

    def export(self, model: Listener, folder: Path) -> tuple[str, ...]:
        texts = [each.words for source in self.spoken for each in source.sentences[:_CALIBRATION]]
        tokens, lengths = self.pieces.encode(texts[:: max(1, len(texts) // _CALIBRATION)])
        return export_listener(model, folder, [row[:length] for row, length in zip(tokens, lengths)])

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)
        inputs: Arrays = {"tokens": random.integers(self.pieces.size // 10, self.pieces.size, (4, 7))}
        return inputs, listener_outputs(folder, inputs)

    def assets(self) -> dict[str, bytes]:
        return {TOKENIZER: (self.folder / TOKENIZER).read_bytes()}

    def facts(self) -> dict[str, Any]:
        tokens, _ = self.pieces.encode([each.words for source in self.spoken for each in source.sentences[:500]])
        return {"sentences": sum(map(len, self.spoken)), "data": digest_of(tokens)}


class _Source(NamedTuple):
    """Sentences with their tags; those of one picture, or that stand together, are neighbours."""

    sentences: list[Tagged]
    group: Longs
    """Which of them belong together."""
    every: Longs
    short: Longs
    """The rows of short sentences; of all, where there are none."""

    @classmethod
    def of(cls, groups: Iterable[Sequence[str]], config: Config, inputs: Inputs) -> _Source:
        listed = list(groups)
        usual = max(1, round(sum(map(len, listed)) / max(1, len(listed))))
        kept = some_of(listed, -(-config.sentences // usual))
        number = [place for place, several in enumerate(kept) for _ in several]
        texts = tokenize([text for several in kept for text in several], inputs.run)
        fitting = [place for place, words in enumerate(texts) if _SHORTEST <= len(words) <= _LONGEST]
        if not fitting:
            raise DataError("one of the sources has no sentence to learn from")
        sentences = tagged([texts[place] for place in fitting], inputs.run)
        every = np.arange(len(sentences))
        short = np.array([row for row in every if len(sentences[row].words) <= _SHORT], np.int64)
        return cls(sentences, np.array([number[place] for place in fitting]), every, short if len(short) else every)

    def __len__(self) -> int:
        return len(self.sentences)

    def several(self, row: int, random: np.random.Generator) -> Tagged:
        """The sentence and one or two more that belong to it, in any order; fewer, if it has no others."""
        begin, end = np.searchsorted(self.group, [self.group[row], self.group[row] + 1]).tolist()
        others = [place for place in range(begin, end) if place != row]
        some = random.permutation(others)[: int(random.integers(1, 3))].tolist() if others else []
        found = in_a_row([self.sentences[place] for place in [row, *some]])
        return found if len(found.words) <= _LONGEST else self.sentences[row]


def _threes(sentences: Sequence[str]) -> list[Sequence[str]]:
    """Neighbouring sentences of a text."""
    return [sentences[start : start + 3] for start in range(0, len(sentences), 3)]


def _heard(model: Listener, tokens: Tensor, lengths: Tensor) -> Tensor:
    """Captions of like lengths are read together, so that little is padded."""
    order = torch.argsort(lengths, stable=True)
    found = [model(tokens[rows, : int(lengths[rows].max())], lengths[rows]) for rows in order.split(32)]
    return torch.cat(found)[torch.argsort(order)].float()
