"""Captions for pictures: greedy, beam search, or drawn at random. Needs ONNX Runtime, no torch.

All captions of a block of pictures are written at once, a word at a time; a picture whose caption is complete takes no
more time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capeval.errors import CapevalError
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.checkpoint import Checkpoint, open_checkpoint
from capeval.text.vocabulary import BOS, EOS, PAD, Vocabulary
from capeval.types import Floats

Ids = npt.NDArray[np.int64]

MODEL = "captioner"
START, STEP, VOCABULARY = "start.onnx", "step.onnx", "vocabulary.txt"
BLOCK = 512
"""Captions that are written at the same time."""


class State(NamedTuple):
    """What the network remembers of each caption so far."""

    hidden: Floats
    cell: Floats

    def take(self, rows: npt.NDArray[np.int64]) -> State:
        return State(self.hidden[rows], self.cell[rows])


class Network(Protocol):
    """The two halves of a captioner."""

    def start(self, pictures: Floats) -> State:
        """After seeing the pictures."""

    def step(self, words: Ids, state: State) -> tuple[Floats, State]:
        """Log-probabilities [n, vocabulary] of the word after each of `words`."""


def beam_search(network: Network, pictures: Floats, beam: int, length: int, penalty: float = 0.0) -> Ids:
    """The best caption found for each picture [n, length], padded after its end; `beam` 1 is greedy.

    Captions are compared by their log-probability divided by (words + 1) ** penalty.
    """
    count = len(pictures)
    best = np.full((count, length), PAD, np.int64)
    if not count:
        return best
    rows = np.arange(count)  # the pictures that are not complete; each has `beam` captions, one after the other
    state = network.start(pictures).take(np.repeat(rows, beam))
    ids = np.full((count * beam, length), PAD, np.int64)
    words = np.full(count * beam, BOS, np.int64)
    # At first all captions of a picture are the same, so only one of them counts.
    total = np.where(np.arange(count * beam) % beam == 0, 0.0, -np.inf)
    ended = np.zeros(count * beam, bool)
    for place in range(length):
        scores, state = network.step(words, state)
        width = min(beam, scores.shape[1])
        options, gains = _best_words(scores, width)
        # A caption that has ended goes on as itself, once.
        options[ended], gains[ended] = PAD, -np.inf
        gains[ended, 0] = 0.0
        sums = (total[:, None] + gains).reshape(len(rows), beam * width)
        lengths = np.repeat(np.where(ended, (ids != PAD).sum(1), place + 1), width).reshape(sums.shape)
        chosen = np.argsort(-sums / lengths**penalty, axis=1, kind="stable")[:, :beam]
        source = (np.arange(len(rows))[:, None] * beam + chosen // width).ravel()
        words = options.reshape(len(rows), -1)[np.arange(len(rows))[:, None], chosen].ravel()
        total = np.take_along_axis(sums, chosen, 1).ravel()
        ids, state = ids[source], state.take(source)
        ids[:, place] = words
        ended = ended[source] | (words == EOS)
        best[rows] = ids[::beam]
        # Sums only fall: once the best caption has ended, none that goes on can pass it, unless length is made up for.
        over = ended.reshape(-1, beam).all(1) if penalty else ended[::beam]
        if over.all():
            break
        if over.any():
            kept = np.flatnonzero(~over)
            inner = (kept[:, None] * beam + np.arange(beam)).ravel()
            rows, ids, state = rows[kept], ids[inner], state.take(inner)
            words, total, ended = words[inner], total[inner], ended[inner]
    return best


def draw(network: Network, pictures: Floats, temperature: float, length: int, seed: Sequence[int]) -> Ids:
    """A caption for each picture [n, length], each word drawn by its probability at the temperature."""
    random = np.random.default_rng(seed)
    ids = np.full((len(pictures), length), PAD, np.int64)
    rows = np.arange(len(pictures))
    if not len(rows):
        return ids
    state, words = network.start(pictures), np.full(len(rows), BOS, np.int64)
    for place in range(length):
        scores, state = network.step(words, state)
        # The draws of a place are made for all pictures, so that those of one do not depend on when another ends.
        drawn = random.random(len(ids))[rows]
        scaled = scores if temperature == 1 else scores / np.float32(temperature)
        chances = np.cumsum(np.exp(scaled - scaled.max(1, keepdims=True)), axis=1)
        words = (chances <= (drawn * chances[:, -1])[:, None]).sum(1).clip(max=scores.shape[1] - 1)
        ids[rows, place] = words
        kept = np.flatnonzero(words != EOS)
        if not len(kept):
            break
        if len(kept) < len(rows):
            rows, words, state = rows[kept], words[kept], state.take(kept)
    return ids


def _best_words(scores: Floats, count: int) -> tuple[Ids, npt.NDArray[np.float64]]:
    """The words with the highest scores in each row, best first."""
    if count == 1:
        words = scores.argmax(1)[:, None]
    else:
        words = np.argpartition(scores, -count, axis=1)[:, -count:]
        # By score, and words of the same score by number, so that no detail of the partition decides.
        values = np.take_along_axis(scores, words, 1)
        words = np.take_along_axis(words, np.lexsort((words, -values), axis=1), 1)
    return words, np.take_along_axis(scores, words, 1).astype(np.float64)


class Exported:
    """A captioner's network on ONNX Runtime."""

    def __init__(self, start: Any, step: Any) -> None:
        """The sessions of its two files."""
        self._start, self._step = start, step

    def start(self, pictures: Floats) -> State:
        return State(*self._start.run(["hidden", "cell"], {"pictures": pictures}))

    def step(self, words: Ids, state: State) -> tuple[Floats, State]:
        inputs = {"ids": words, "hidden": state.hidden, "cell": state.cell}
        scores, hidden, cell = self._step.run(["scores", "next_hidden", "next_cell"], inputs)
        return scores, State(hidden, cell)


class CaptionWriter:
    """A trained captioner."""

    def __init__(self, checkpoint: Checkpoint, threads: int = 1) -> None:
        self.checkpoint = checkpoint
        self.vocabulary = Vocabulary.load(checkpoint.path(VOCABULARY))
        self.length = int(checkpoint.config["length"]) + 1
        self.encoder = str(checkpoint.facts.get("encoder", ""))
        self.dim = int(checkpoint.facts["dim"])
        self.network = Exported(*(checkpoint.session(name, threads) for name in (START, STEP)))

    def check(self, dim: int, encoder: str) -> None:
        """Whether features are of the kind it was trained with."""
        if dim != self.dim or (encoder and self.encoder and encoder != self.encoder):
            raise CapevalError(
                f"the captioner was trained with features of {self.encoder or 'another encoder'} (width {self.dim}), "
                f"these are of {encoder or 'another one'} (width {dim}). Make them with that "
                "encoder, or train a captioner with them"
            )

    def captions(self, pictures: Floats, beam: int = 3, penalty: float = 0.0) -> list[str]:
        """A caption for each picture vector by beam search; `beam` 1 is greedy."""
        block = max(1, BLOCK // beam)
        parts = (pictures[begin : begin + block] for begin in range(0, len(pictures), block))
        return [
            text for part in parts for text in self._texts(beam_search(self.network, part, beam, self.length, penalty))
        ]

    def samples(
        self, pictures: Floats, count: int, temperature: float = 1.0, seed: Sequence[int] = (0,)
    ) -> list[list[str]]:
        """Captions drawn at random, `count` for each picture vector."""
        texts: list[list[str]] = [[] for _ in pictures]
        for begin in range(0, len(pictures), BLOCK):
            part = pictures[begin : begin + BLOCK]
            for number in range(count):
                ids = draw(self.network, part, temperature, self.length, [*seed, number, begin])
                for place, text in enumerate(self._texts(ids), begin):
                    texts[place].append(text)
        return texts

    def _texts(self, ids: Ids) -> list[str]:
        return [" ".join(self.vocabulary.words(row)) for row in ids.tolist()]


def open_captioner(source: PathLike = MODEL, run: Run | None = None) -> CaptionWriter:
    """The captioner of that name, or the one in a folder; its probe is checked."""
    run = run or Run()
    return _open_captioner(str(source), run.threads, run.cache)


@lru_cache(maxsize=4)
def _open_captioner(source: str, threads: int, cache: Path) -> CaptionWriter:
    writer = CaptionWriter(open_checkpoint(source, MODEL, Run(cache=cache)), threads)
    writer.checkpoint.check_probe(lambda inputs: probe_outputs(writer.network, inputs["pictures"], inputs["ids"]))
    return writer


def probe_outputs(network: Network, pictures: Floats, ids: Ids) -> dict[str, npt.NDArray[np.float32]]:
    """The log-probability of each word of captions [n, words], and the first pictures' states."""
    state = network.start(pictures)
    found = {"hidden": state.hidden}
    words, values = np.full(len(ids), BOS, np.int64), []
    for place in range(ids.shape[1]):
        scores, state = network.step(words, state)
        words = ids[:, place]
        values.append(scores[np.arange(len(ids)), words])
    return found | {"scores": np.stack(values, 1)}
