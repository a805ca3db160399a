"""Pictures and captions in one space, on ONNX Runtime: each is looked at or read once, then they are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.run import Run
from capeval.runtime.arrays import named_arrays, probability
from capeval.runtime.batches import Rows, filled, for_each, of_one_length
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.meaning import Meaning, Read, TakeStates, Texts, open_meaning
from capeval.runtime.session import open_session
from capeval.types import Array, Floats, Longs

CAPTIONS, PICTURES, SCALE = "captions.onnx", "pictures.onnx", "scale.npz"
CHECKPOINT = "sight"
"""The network that comes with capeval."""

# Rows of a run. Every run has exactly so many, filled up if need be: a score does not depend on what is scored with it.
_ROWS = 16
_PAIRS = 1024


class PictureNetwork:
    """A trained network for pictures and captions, with the sentence encoder that it reads captions by."""

    def __init__(self, checkpoint: Checkpoint, meaning: Meaning) -> None:
        self.checkpoint, self.meaning = checkpoint, meaning
        meaning.check_reads_for(checkpoint)
        self._captions, self._pictures = (checkpoint.session(name, threads=1) for name in (CAPTIONS, PICTURES))
        self._scale = named_arrays(checkpoint.path(SCALE), ("slope", "offset"))
        sizes = {given.name: given.shape for given in self._pictures.get_inputs()}
        self.picture_width, self.region_width = int(sizes["vectors"][1]), int(sizes["regions"][2])
        self.width = int(self._pictures.get_outputs()[0].shape[-1])
        checkpoint.check_probe(lambda inputs: _outputs(self._captions, self._pictures, inputs))

    def look(self, vectors: Floats, regions: Floats, threads: int = 1) -> Floats:
        """What is seen in pictures, at least one: [n, ..., width]."""
        starts = range(0, len(vectors), _ROWS)
        found: list[Floats] = [vectors] * len(starts)

        def block(start: int) -> None:
            rows = np.arange(start, min(start + _ROWS, len(vectors)))
            places = filled(rows, _ROWS)
            (seen,) = self._pictures.run(None, {"vectors": vectors[places], "regions": regions[places]})
            found[start // _ROWS] = seen[: len(rows)]

        for_each(block, starts, threads)
        return np.concatenate(found)

    def _hear(self, texts: Sequence[Sequence[str]], threads: int, take: TakeStates) -> None:
        """Gives `take` the states of captions that have words, a few of one length at a time."""
        # So many at a time: what the encoder knows of all pieces is large.
        for start in range(0, len(texts), 2048):
            states = self.meaning.states(texts[start : start + 2048], threads)
            lengths = np.array([len(each) for each in states])

            def block(rows: Rows, states: list[Floats] = states, start: int = start) -> None:
                take(start + rows, np.stack([states[row] for row in rows.tolist()]))

            for_each(block, [rows for rows in of_one_length(lengths, lambda _: _ROWS) if lengths[rows[0]]], threads)

    def _heard(self, states: Floats) -> list[Floats]:
        """What the network makes of a few captions of one length."""
        found = self._captions.run(None, {"states": states[filled(np.arange(len(states)), _ROWS)]})
        return [each[: len(states)] for each in found]

    def fit(self, fits: Array) -> Array:
        """From how well captions and pictures fit, as the network measures it, to a score from 0 to 1."""
        return probability(float(self._scale["slope"]) * fits + float(self._scale["offset"]))


class Sight(PictureNetwork):
    """A vector for each picture and each caption."""

    def read(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Floats:
        """[n, width] of tokenised captions; zeros for one without words."""
        found = np.zeros((len(texts), self.width), np.float32)

        def take(rows: Rows, states: Floats) -> None:
            (found[rows],) = self._heard(states)

        self._hear(texts, threads, take)
        return found

    def read_both(self, texts: Sequence[Sequence[str]], threads: int = 1, *others: TakeStates) -> tuple[Read, Floats]:
        """What the sentence encoder alone reads, and the vectors, for the price of one; `others` get states too."""
        found = np.zeros((len(texts), self.width), np.float32)

        def take(rows: Rows, states: Floats) -> None:
            (found[rows],) = self._heard(states)
            for other in others:
                other(rows, states)

        return self.meaning.read(texts, threads, take), found

    def cosines(self, one: Floats, its: npt.NDArray[Any], other: Floats, those: npt.NDArray[Any]) -> Array:
        """Of `one[its[i]]` and `other[those[i]]`, captions or pictures."""
        found = np.empty(len(its))
        for start in range(0, len(its), _PAIRS):
            rows = slice(start, start + _PAIRS)
            # Not by a product of matrices, whose last digits depend on how many rows there are.
            found[rows] = (one[its[rows]] * other[those[rows]]).sum(axis=1, dtype=np.float64)
        return found


class Readings:
    """Vectors of some captions that go by numbers: each is read once, whoever asks for it."""

    def __init__(self, network: Sight, count: int) -> None:
        self._network = network
        self._vectors = np.empty((0, network.width), np.float32)
        self._place = np.full(count, -1, np.int64)

    def of(self, captions: npt.NDArray[Any], texts: Texts, threads: int) -> tuple[Floats, Longs]:
        """The vectors so far, and where among them each of these captions is; `texts` gives the words of some."""
        new = self.new(captions)
        if len(new):
            self.add(new, self._network.read(texts(new), threads))
        return self._vectors, self._place[captions]

    def new(self, captions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Those among them that were not read yet, each once."""
        return np.unique(captions[self._place[captions] < 0])

    def add(self, captions: npt.NDArray[Any], vectors: Floats) -> None:
        self._place[captions] = len(self._vectors) + np.arange(len(captions))
        self._vectors = np.concatenate([self._vectors, vectors])


def open_sight(source: str = CHECKPOINT, meaning: str = "", run: Run | None = None) -> Sight:
    """Opened once in a process."""
    return _open_sight(source, meaning or "meaning", (run or Run()).cache)


def open_trained(source: str = CHECKPOINT, run: Run | None = None, kind: str = CHECKPOINT) -> Checkpoint:
    """What is known of a network, without opening it; `kind`: which one it has to be."""
    return _open_trained(source, kind, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_trained(source: str, kind: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, kind, Run(cache=cache))


@lru_cache(maxsize=2)
def _open_sight(source: str, meaning: str, cache: Path) -> Sight:
    return Sight(_open_trained(source, CHECKPOINT, cache), open_meaning(meaning, Run(cache=cache)))


def sight_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What networks that have just been exported give for a probe."""
    return _outputs(open_session(folder / CAPTIONS), open_session(folder / PICTURES), inputs)


def _outputs(captions: Any, pictures: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """By the names of the outputs."""
    given = {captions: {"states": inputs["states"]}, pictures: {key: inputs[key] for key in ("vectors", "regions")}}
    return {
        output.name: values
        for session, its in given.items()
        for output, values in zip(session.get_outputs(), session.run(None, its), strict=True)
    }
