"""Training the syntactic module: what a batch is, what is minimised, and how well sentences are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.errors import CapevalError, DataError
from capeval.models.uice import Syntax
from capeval.runtime.arrays import probability
from capeval.runtime.uice import SYNTAX, VOCABULARY, syntax_outputs
from capeval.text.tokenize import tokenize
from capeval.text.vocabulary import PAD, SPECIALS, UNK, Vocabulary, initial_vectors
from capeval.train.batching import by_length, count_of
from capeval.train.data import machine_captions
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.uice_syn.config import Config
from capeval.train.tasks.uice_syn.corpus import Sentence, read_corpus, sentences_of
from capeval.train.tasks.uice_syn.examples import MACHINE, OTHER, RW, SPLICED, WP, Negatives
from capeval.train.tasks.uice_syn.start import folder_of, load_start, sources_of
from capeval.types import Floats, Longs

START = "start"
"""A style to go on from, its name or its folder: its words and weights."""
_BLOCK = 500  # sentences at once in validation


class UiceSynTask(Task[Syntax]):
    name: ClassVar[str] = "uice-syn"
    monitor = "auc"
    extras = (MACHINE, OTHER, START)
    takes_corpus = True

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        given = dict(inputs.extra)
        self._start = folder_of(given.pop(START)) if START in given else None
        # What the start has seen has been seen by what comes of it.
        self.sources = (*([] if self._start is None else sources_of(self._start)), *config.captions)
        known = None if self._start is None else Vocabulary.load(self._start / VOCABULARY)
        corpus = read_corpus(inputs.corpus, config, inputs.data, known)
        self.vocabulary, self.counts = corpus.vocabulary, corpus.counts
        self.opening = f"sentences: {corpus.told()}"
        held_out = np.zeros(len(corpus.sentences), np.bool_)
        held_out[np.random.default_rng(0).permutation(len(held_out))[: min(config.validation, len(held_out) // 2)]] = 1
        self.sentences = [each for each, out in zip(corpus.sentences, held_out.tolist()) if not out]
        self.held_out = [each for each, out in zip(corpus.sentences, held_out.tolist()) if out]
        others = self._given(config, given, inputs.data)
        self.tokens, self.lengths = self.vocabulary.encode(self.sentences, config.words)
        self.negatives = Negatives(self.vocabulary, self.sentences, others, config.words, config.tau)
        self.kinds = [kind for kind in config.negatives if self.negatives.has(kind)]
        if not self.kinds:
            raise CapevalError("uice-syn: sentences that no person wrote are needed: name a kind in `negatives`")

    def _given(self, config: Config, files: dict[str, str], data: Path | None) -> dict[str, list[Sentence]]:
        """Machine captions, and sentences of another style."""
        texts: dict[str, list[str]] = {MACHINE: [], OTHER: []}
        for name in config.machines:
            for by_image in machine_captions(name, data, "train").values():
                texts[MACHINE] += by_image.values()
        for kind, file in files.items():
            texts[kind] += sentences_of(Path(file), config.form)
        found = {kind: [each for each in tokenize(several) if each] for kind, several in texts.items()}
        for kind, file in files.items():
            if kind not in config.negatives and not (kind == OTHER and SPLICED in config.negatives):
                raise CapevalError(f"uice-syn: the input {kind} is not used: {kind} is not among the negatives")
            if not found[kind]:
                raise DataError("there is no sentence in it", file=file)
        return {kind: several for kind, several in found.items() if several}

    def build(self) -> Syntax:
        start = initial_vectors(self.vocabulary, self.config.vectors, self.config.seed)
        model = Syntax(len(self.vocabulary), start.shape[1], self.config.hidden, self.config.dropout)
        model.words.weight.data = torch.from_numpy(start)
        if self._start is not None:
            load_start(model, self._start)
        return model

    @property
    def _half(self) -> int:
        return max(1, self.config.batch // 2)

    def steps(self) -> int:
        return count_of(len(self.sentences), self._half)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        """Half of a batch is human. Negatives are drawn for the whole epoch, so that those of one length meet."""
        rows = np.arange(len(self.sentences))
        others, ends = self._drawn(rows, random)
        order = iter(by_length(ends, self._half, random))
        for human in by_length(self.lengths, self._half, random):
            other = next(order)
            yield self._batch(
                np.concatenate([self.tokens[human], others[other]]),
                np.concatenate([self.lengths[human], ends[other]]),
                len(human),
            )

    def _drawn(self, rows: Longs, random: np.random.Generator) -> tuple[Longs, Longs]:
        tokens = np.full((len(rows), self.config.words + 1), PAD, np.int64)
        lengths = np.zeros(len(rows), np.int64)
        which = random.integers(len(self.kinds), size=len(rows))
        for number, kind in enumerate(self.kinds):
            some = np.flatnonzero(which == number)
            if len(some):
                tokens[some], lengths[some] = self.negatives.draw(kind, rows[some], random)
        return tokens, lengths

    def _batch(self, tokens: Longs, lengths: Longs, human: int) -> Batch:
        is_human = np.arange(len(tokens)) < human
        return {
            "tokens": torch.from_numpy(tokens[:, : lengths.max()]),
            "lengths": torch.from_numpy(lengths),
            "human": torch.from_numpy(is_human.astype(np.float32)),
        }

    def loss(self, model: Syntax, batch: Batch) -> Tensor:
        """Over all steps of a sentence, of which each says human or not (equation 9); sentences weigh the same."""
        settle_unknown(model, self.config.rarest)
        tokens, lengths, human = batch["tokens"], batch["lengths"], batch["human"]
        total = tokens.new_zeros((), dtype=torch.float32)
        # By length: half as much is read where short and long sentences are read apart.
        for rows in torch.argsort(lengths, stable=True).chunk(2):
            some = tokens[rows, : int(lengths[rows[-1]])]
            logits = model(some)
            is_step = torch.arange(some.shape[1], device=some.device) < lengths[rows, None]
            each = F.binary_cross_entropy_with_logits(logits, human[rows, None].expand_as(logits), reduction="none")
            total = total + ((each * is_step).sum(1) / lengths[rows]).sum()
        return total / len(tokens)

    def validate(self, model: Syntax) -> dict[str, float]:
        """How often a held-out sentence scores above a changed one; with tau of the words changed, as in training."""
        settle_unknown(model, self.config.rarest)
        random = np.random.default_rng(0)
        human = self._last(model, self.held_out)
        found = {}
        for kind in dict.fromkeys([WP, RW, *self.kinds]):
            if kind in (WP, RW, SPLICED):
                changed = self._last(model, self.negatives.changed(kind, self.held_out, random))
            else:
                changed = self._scores(model, *self.negatives.draw(kind, np.arange(len(self.held_out)), random))
            found[f"auc_{kind}"] = area(human, changed)
        tokens, lengths = self.vocabulary.encode(self.held_out, self.config.words)
        hidden = self._scores(model, self.negatives.hidden_word(tokens, lengths, random), lengths)
        return {
            "auc": sum(found.values()) / len(found),
            **found,
            "human": float(human.mean()),
            "unknown_rises": float((hidden > human).mean()),
        }

    def _last(self, model: Syntax, sentences: Sequence[Sentence]) -> Floats:
        return self._scores(model, *self.vocabulary.encode(sentences, self.config.words))

    def _scores(self, model: Syntax, tokens: Longs, lengths: Longs) -> Floats:
        device = next(model.parameters()).device
        parts = []
        for start in range(0, len(tokens), _BLOCK):
            block = slice(start, start + _BLOCK)
            logits = model(torch.from_numpy(tokens[block, : lengths[block].max()]).to(device))
            last = logits[torch.arange(len(logits)), lengths[block] - 1].cpu().numpy()
            parts.append(probability(last - self.config.price * (tokens[block] == UNK).sum(1)).astype(np.float32))
        return np.concatenate(parts)

    def export(self, model: Syntax, folder: Path) -> tuple[str, ...]:
        free = {"tokens": {1: "words"}, "logits": {1: "words"}}
        given = {"tokens": torch.full((2, 5), UNK)}
        to_onnx(_Exported(model), given, ["logits"], folder / SYNTAX, dynamic=free, weights="float16")
        return (SYNTAX,)

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        # Made-up sentences: nothing of a corpus goes into a checkpoint.
        inputs: Arrays = {"tokens": np.random.default_rng(0).integers(UNK, len(self.vocabulary), (4, 6))}
        return inputs, syntax_outputs(folder, inputs)

    def assets(self) -> dict[str, bytes]:
        return {VOCABULARY: self.vocabulary.to_bytes()}

    def facts(self) -> dict[str, Any]:
        return {"corpus": self.counts, "unknown": self.negatives.unknown, "kinds": self.kinds,
                "data": digest_of(self.tokens)}  # fmt: skip


def settle_unknown(model: Syntax, share: float) -> None:
    """Gives unknown words the mean vector of the rarest words, which stand last; it is trained, validated and kept with
    it."""
    vectors = model.words.weight.data
    if count := round(share * (len(vectors) - len(SPECIALS))):
        vectors[UNK] = vectors[-count:].mean(0)


class _Exported(nn.Module):
    """Sentences of one length -> a logit after each word."""

    def __init__(self, model: Syntax) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.model(tokens)
        return found


def area(higher: Floats, lower: Floats) -> float:
    """The area under the ROC curve: how often one of `higher` is above one of `lower`; equal ones count half."""
    below = np.sort(lower)
    ranks = np.searchsorted(below, higher, "left") + np.searchsorted(below, higher, "right")
    return float(ranks.mean() / 2 / len(lower))
