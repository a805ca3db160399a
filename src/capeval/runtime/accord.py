"""A caption beside all of its references at once, on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.run import Run
from capeval.runtime.arrays import named_arrays, probability
from capeval.runtime.batches import Rows, filled
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.meaning import Meaning, TakeStates, Texts, open_meaning
from capeval.runtime.session import open_session
from capeval.types import Array, Floats

WORDS, JUDGE, SCALE = "words.onnx", "judge.onnx", "scale.npz"
CHECKPOINT = "accord"
"""The network that comes with capeval."""

# Rows of a run, filled up if need be: what is read of a caption does not depend on what is read with it.
_ROWS = 16
_CAPTIONS = 2048
_ALIGNED = 64


class Words(NamedTuple):
    """The words of a caption, none of one without words."""

    vectors: Floats
    """[words, width]"""
    telling: Floats
    """How much each says."""


class Accord:
    """A trained network, with the sentence encoder that it reads captions by."""

    def __init__(self, checkpoint: Checkpoint, meaning: Meaning) -> None:
        self.checkpoint, self.meaning = checkpoint, meaning
        meaning.check_reads_for(checkpoint)
        self._words, self._judge = (checkpoint.session(name, threads=1) for name in (WORDS, JUDGE))
        self._scale = named_arrays(checkpoint.path(SCALE), ("slope", "offset"))
        checkpoint.check_probe(lambda inputs: _outputs(self._words, self._judge, inputs))

    def heard(self, states: Floats) -> tuple[Floats, Floats]:
        """Vectors and what they say, of the words of a few captions of one length; begin and end are left out."""
        given = {"states": states[filled(np.arange(len(states)), _ROWS)]}
        vectors, telling = (each[: len(states), 1:-1] for each in self._words.run(None, given))
        return vectors, telling

    @property
    def width(self) -> int:
        return int(self._words.get_outputs()[0].shape[-1])

    def odds(self, candidate: Words, references: Sequence[Words]) -> float:
        """Of one caption beside its references; each must have a word. Alone, so that no other row decides a digit."""
        count = len(candidate.telling)
        form = 1, len(references), max(len(each.telling) for each in references)
        given = {
            "own": _zeros(1, count, self.width), "own_telling": _zeros(1, count),
            "references": _zeros(*form, self.width), "telling": _zeros(*form), "is_word": np.zeros(form, bool),
        }  # fmt: skip
        given["own"][0], given["own_telling"][0] = candidate
        for place, (vectors, telling) in enumerate(references):
            there = 0, place, slice(len(telling))
            given["references"][there], given["telling"][there], given["is_word"][there] = vectors, telling, True
        (found,) = self._judge.run(None, given)
        return float(found[0])

    def scores(self, odds: Array) -> Array:
        """From what the network gives to a score from 0 to 1."""
        return probability(float(self._scale["slope"]) * odds + float(self._scale["offset"]))


class Readings:
    """The words of some captions that go by numbers: each is read once, whoever asks for it."""

    def __init__(self, network: Accord, count: int) -> None:
        self._network = network
        self._words = [Words(np.empty((0, network.width), np.float32), np.empty(0, np.float32))] * count
        self._is_read = np.zeros(count, bool)

    def taking(self, captions: npt.NDArray[Any]) -> TakeStates:
        """Takes the states of these captions while the sentence encoder reads them; those without words have none."""
        self._is_read[captions] = True

        def take(rows: Rows, states: Floats) -> None:
            for caption, vectors, telling in zip(captions[rows].tolist(), *self._network.heard(states)):
                self._words[caption] = Words(vectors.copy(), telling.copy())  # not the whole block

        return take

    def all(self, texts: Texts, threads: int) -> Sequence[Words]:
        """Of all captions; what is not read yet is read now. `texts` gives the words of some captions."""
        # So many at a time: what the encoder knows of all pieces is large.
        for new in _parts(np.flatnonzero(~self._is_read)):
            self._network.meaning.read(texts(new), threads, self.taking(new))
        return self._words


def _zeros(*form: int) -> Floats:
    """Beginning at a multiple of 64: else the last digit of a sum would depend on where memory was free."""
    size = int(np.prod(form)) * np.dtype(np.float32).itemsize
    raw = np.zeros(size + _ALIGNED, np.uint8)
    begin = -raw.ctypes.data % _ALIGNED
    return raw[begin : begin + size].view(np.float32).reshape(form)


def _parts(captions: Rows) -> list[Rows]:
    return [captions[start : start + _CAPTIONS] for start in range(0, len(captions), _CAPTIONS)]


def open_accord(source: str = CHECKPOINT, meaning: str = "", run: Run | None = None) -> Accord:
    """Opened once in a process."""
    return _open_accord(source, meaning or "meaning", (run or Run()).cache)


def open_trained(source: str = CHECKPOINT, run: Run | None = None) -> Checkpoint:
    """What is known of a network, without opening it."""
    return _open_trained(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_trained(source: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, CHECKPOINT, Run(cache=cache))


@lru_cache(maxsize=2)
def _open_accord(source: str, meaning: str, cache: Path) -> Accord:
    return Accord(_open_trained(source, cache), open_meaning(meaning, Run(cache=cache)))


def accord_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What networks that have just been exported give for a probe."""
    return _outputs(open_session(folder / WORDS), open_session(folder / JUDGE), inputs)


def _outputs(words: Any, judge: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    vectors, telling = words.run(None, {"states": inputs["states"]})
    given = {name: inputs[name] for name in ("own", "own_telling", "references", "telling", "is_word")}
    (odds,) = judge.run(None, given)
    return {"words": vectors, "says": telling, "odds": odds}
