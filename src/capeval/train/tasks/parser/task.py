"""Training the fast parser on official parses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from capeval.bench.registry import data_root
from capeval.errors import DataError
from capeval.models.parser import ParserNet, Scores
from capeval.scene.fast.parser import FastParser
from capeval.scene.fast.weights import pack, read_weights, weights_from
from capeval.scene.fast.words import BUCKETS, glove_vectors, spelling_features
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.parser.config import Config
from capeval.train.tasks.parser.silver import Silver, agreement, is_held_out, read_silver

FILE = "parser.npz"
_USUAL = 11  # words of a caption
_PROBES = ["a man rides a brown horse on the beach", "two dogs and a zyzzyva sleep in front of a house"]


class ParserTask(Task[ParserNet]):
    """See `Task`."""

    name: ClassVar[str] = "parser"
    monitor = "identical"

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        training: list[Silver] = []
        held_out: list[Silver] = []
        for name in config.silver:
            for sentence in read_silver(data_root(inputs.data) / name):
                if len(sentence.words) <= config.longest:
                    (held_out if is_held_out(sentence.words) else training).append(sentence)
        if not training or not held_out:
            raise DataError("too few parses to train and to validate with", file=" ".join(config.silver))
        self.held_out = held_out[: config.validation]
        self.wanted = [sentence.tuples() for sentence in self.held_out]
        counts = Counter(word for sentence in training for word in sentence.words)
        known = [word for word, count in counts.most_common() if count >= config.minimum]
        self.vocabulary = ("", *sorted(known))
        self.tags = tuple(sorted({tag for sentence in training for tag in sentence.tags}))
        self.labels = tuple(sorted({label for sentence in training for label in sentence.labels}))
        self._code(training, counts)

    def _code(self, training: list[Silver], counts: Counter[str]) -> None:
        """Sentences as numbers of words, of which each has its row in the tables."""
        self.words = words = tuple(counts)
        number = {word: i for i, word in enumerate(words)}
        own = {word: i for i, word in enumerate(self.vocabulary)}
        self.own = torch.tensor([own.get(word, 0) for word in words])
        self.spelling = torch.tensor([spelling_features(word) for word in words])
        self.glove = torch.from_numpy(glove_vectors(words))
        # The rarer a word, the more often it is learned from as if it were unknown.
        self.hiding = 0.05 + 0.4 / (1 + torch.tensor([counts[word] for word in words]) / 2)
        tag = {name: i for i, name in enumerate(self.tags)}
        label = {name: i for i, name in enumerate(self.labels)}
        self.coded = [
            np.array(
                [
                    [number[word] for word in each.words],
                    [tag[name] for name in each.tags],
                    each.heads,
                    [label[name] for name in each.labels],
                ],
                np.int32,
            )
            for each in training
        ]

    def build(self) -> ParserNet:
        if not self.config.start:
            return self._net(len(self.vocabulary))
        # Words that the other training did not know begin as unknown ones.
        folder = Path(self.config.start)
        known = read_weights(folder / FILE).vocabulary
        old, net = self._net(len(known) + 1), self._net(len(self.vocabulary))
        load_weights(old, folder / BEST)
        rows = torch.tensor([known.get(word, 0) for word in self.vocabulary])
        net.load_state_dict(old.state_dict() | {"word.weight": old.word.weight[rows]})
        return net

    def _net(self, vocabulary: int) -> ParserNet:
        config = self.config
        return ParserNet(
            vocabulary=vocabulary,
            buckets=BUCKETS,
            glove=self.glove.shape[1],
            tags=len(self.tags),
            labels=len(self.labels),
            width=config.width,
            hidden=config.hidden,
            arcs=config.arcs,
            parts=config.parts,
            dropout=config.dropout,
        )

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), lr=self.config.learning_rate, betas=(0.9, 0.98), fused=True)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        """Of captions of one length, so that nothing is padded."""
        chances = np.array([each.shape[1] for each in self.coded]) ** self.config.longer
        count = min(self.config.captions, len(self.coded))
        drawn = random.choice(len(self.coded), count, replace=False, p=chances / chances.sum())
        by_length: dict[int, list[int]] = {}
        for row in drawn.tolist():
            by_length.setdefault(self.coded[row].shape[1], []).append(row)
        parts = []
        for length, rows in by_length.items():
            size = max(8, self.config.batch * _USUAL // max(length, 6))
            parts += [rows[begin : begin + size] for begin in range(0, len(rows), size)]
        for place in random.permutation(len(parts)).tolist():
            numbers = torch.from_numpy(np.stack([self.coded[row] for row in parts[place]])).long()
            words, tags, heads, labels = numbers.unbind(1)
            hidden = torch.from_numpy(random.random(tuple(words.shape), np.float32)) < self.hiding[words]
            yield {
                "words": torch.where(hidden, 0, self.own[words]),
                "spelling": self.spelling[words],
                "glove": self.glove[words],
                "tags": tags,
                "heads": heads,
                "labels": labels,
            }

    def loss(self, model: ParserNet, batch: Batch) -> Tensor:
        scores: Scores = model(batch["words"], batch["spelling"], batch["glove"])
        labels = model.labels(scores, batch["heads"])
        pairs = ((scores.tags, "tags"), (scores.heads, "heads"), (labels, "labels"))
        losses = [functional.cross_entropy(each.flatten(0, 1), batch[name].flatten()) for each, name in pairs]
        return losses[0] + losses[1] + losses[2]

    def validate(self, model: ParserNet) -> dict[str, float]:
        """By the engine, in whole numbers, as it will run."""
        return agreement(FastParser(weights_from(self._packed(model))), self.held_out, self.wanted)

    def _packed(self, model: ParserNet) -> bytes:
        state: dict[str, npt.NDArray[np.float32]] = {k: v.cpu().numpy() for k, v in model.state_dict().items()}
        return pack(state, self.tags, self.labels, self.vocabulary)

    def export(self, model: ParserNet, folder: Path) -> tuple[str, ...]:
        (folder / FILE).write_bytes(self._packed(model))
        return (FILE,)

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        """Two captions as text, and their heads."""
        parser = FastParser(read_weights(folder / FILE))
        heads = [[head for head, _, _ in parse.basic] for parse in parser.parses(_PROBES)]
        text = np.frombuffer("\n".join(_PROBES).encode(), np.uint8)
        return {"captions": text}, {"heads": np.array([head for each in heads for head in each], np.int32)}

    def facts(self) -> dict[str, Any]:
        return {"sentences": len(self.coded), "words": len(self.vocabulary), "held_out": len(self.held_out)}
