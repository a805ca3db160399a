"""The sentence encoder on ONNX Runtime, and how alike captions are by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError
from capeval.run import Run
from capeval.runtime.arrays import named_arrays, probability
from capeval.runtime.batches import Rows, few, for_each, of_one_length
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.pieces import Ids, Pieces
from capeval.runtime.session import open_session
from capeval.types import Array, Floats

ENCODER, SCALES, TOKENIZER = "encoder.onnx", "scales.npz", "tokenizer.json"
MOST = 64
"""Word pieces of a caption that are read, begin and end included."""
CHECKPOINT = "meaning"
"""The encoder that comes with capeval."""

# Rows of a run, at most. From two on, a score does not depend on how many there are: products of 8-bit numbers are
# summed exactly, and attention stays within a caption.
_ROWS = 16
_PAIRS = 256

Texts = Callable[[npt.NDArray[Any]], Sequence[Sequence[str]]]
TakeStates = Callable[[Rows, Floats], None]
"""Takes what the encoder knows of each piece of some captions: their rows, and [rows, pieces, width]."""


class Read(NamedTuple):
    """What the encoder made of captions."""

    sentences: Floats
    """[n, width], each of length 1."""
    words: Floats
    """All pieces of all captions [pieces, word width], each of length 1; begin and end are left out."""
    weights: Floats
    """How much each piece says [pieces]."""
    offsets: npt.NDArray[np.int64]
    """Caption i has the pieces `offsets[i]` to `offsets[i + 1]`."""

    def and_more(self, other: Read) -> Read:
        """Its captions, then those of another."""
        return Read(
            np.concatenate([self.sentences, other.sentences]),
            np.concatenate([self.words, other.words]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
        )


class Scales(NamedTuple):
    """From a cosine to the log odds of "they say the same", of sentences and of words, and what pieces say."""

    slopes: Array
    offsets: Array
    idf: Floats


class Meaning:
    """A trained sentence encoder."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.pieces = Pieces(checkpoint.path(TOKENIZER), MOST)
        self.scales = read_scales(checkpoint.path(SCALES))
        self._session = checkpoint.session(ENCODER, threads=1)
        checkpoint.check_probe(lambda inputs: _outputs(self._session, inputs), _TOLERANCE)

    def read(self, texts: Sequence[Sequence[str]], threads: int = 1, take: TakeStates | None = None) -> Read:
        """Tokenised captions; one without words has no pieces, and a vector of zeros.

        `take` is given the states of those that have words, so that who needs both need not read twice.
        """
        tokens, lengths = self.pieces.encode(texts)
        inner = np.maximum(lengths - 2, 0)
        offsets = np.concatenate([[0], np.cumsum(inner)]).astype(np.int64)
        width, word_width = self._widths
        sentences = np.zeros((len(tokens), width), np.float32)
        words = np.empty((int(offsets[-1]), word_width), np.float32)

        def block(rows: Rows) -> None:
            names = ["sentences", "words", *(["states"] if take else [])]
            sentences[rows], found, *states = self._run(names, tokens, lengths, rows)
            if take:
                take(rows, states[0])
            for row, its in zip(rows.tolist(), found):
                words[offsets[row] : offsets[row + 1]] = its[1:-1]

        self._in_blocks(block, lengths, threads)
        inside = [row[1 : length - 1] for row, length in zip(tokens, lengths.tolist())]
        numbers = np.concatenate(inside) if inside else np.empty(0, np.int64)
        return Read(sentences, words, self.scales.idf[numbers], offsets)

    def states(self, texts: Sequence[Sequence[str]], threads: int = 1) -> list[Floats]:
        """What the encoder knows of each piece, begin and end included, [pieces, width] for each caption."""
        tokens, lengths = self.pieces.encode(texts)
        found: list[Floats] = [np.zeros((0, 0), np.float32)] * len(tokens)

        def block(rows: Rows) -> None:
            (states,) = self._run(["states"], tokens, lengths, rows)
            for row, its in zip(rows.tolist(), states):
                found[row] = its

        self._in_blocks(block, lengths, threads)
        return found

    def check_reads_for(self, network: Checkpoint) -> None:
        """Refuses a network that has learned from what another encoder reads."""
        if network.facts.get("meaning") != self.checkpoint.digest:
            raise CheckpointError(
                f"{network.folder}: trained with another sentence encoder than {self.checkpoint.folder}. Both must "
                "come from one version of capeval-models, or be trained together"
            )

    @property
    def _widths(self) -> tuple[int, int]:
        sizes = {output.name: output.shape for output in self._session.get_outputs()}
        return int(sizes["sentences"][1]), int(sizes["words"][2])

    def _run(self, names: list[str], tokens: Ids, lengths: Ids, rows: Rows) -> list[Any]:
        length = int(lengths[rows[0]])
        found = self._session.run(names, {"tokens": tokens[few(rows, _ROWS), :length]})
        return [each[: len(rows)] for each in found]

    def _in_blocks(self, block: Any, lengths: Ids, threads: int) -> None:
        # Two pieces are begin and end alone.
        for_each(block, [rows for rows in of_one_length(lengths, lambda _: _ROWS) if lengths[rows[0]] > 2], threads)

    def alike(self, cosines: Array, kind: int = 0) -> Array:
        """From cosines to how alike people would call it, up to 1 for the same; `kind` 0: of sentences, 1: of words."""
        slope, offset = self.scales.slopes[kind], self.scales.offsets[kind]
        same = probability(np.array([slope + offset]))
        return np.minimum(probability(slope * cosines + offset) / same, 1.0)


class Readings:
    """What an encoder has read of some captions that go by numbers: each is read once, whoever asks for it."""

    def __init__(self, encoder: Meaning, count: int) -> None:
        self._encoder = encoder
        self._read: Read | None = None
        self._place = np.full(count, -1, np.int64)

    def of(self, captions: npt.NDArray[Any], texts: Texts, threads: int) -> tuple[Read, npt.NDArray[np.int64]]:
        """What was read so far, and where in it each of these captions is; `texts` gives the words of some."""
        new = self.new(captions)
        if len(new) or self._read is None:
            self.add(new, self._encoder.read(texts(new), threads))
        assert self._read is not None
        return self._read, self._place[captions]

    def new(self, captions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Those among them that were not read yet."""
        return np.compress(self._place[captions] < 0, captions)

    def add(self, captions: npt.NDArray[Any], read: Read) -> None:
        self._place[captions] = np.arange(len(captions)) + (0 if self._read is None else len(self._read.sentences))
        self._read = read if self._read is None else self._read.and_more(read)


_TOLERANCE = 0.05
"""Of a probe. Processors may round sums of 8-bit products otherwise, and that is then rounded again in each layer."""


def sentence_cosines(read: Read, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Array:
    """Of captions `one[i]` and `other[i]`."""
    found = np.empty(len(one))
    for start in range(0, len(one), _PAIRS):
        rows = slice(start, start + _PAIRS)
        # Not by a product of matrices, whose last digits depend on how many rows there are.
        found[rows] = (read.sentences[one[rows]] * read.sentences[other[rows]]).sum(axis=1, dtype=np.float64)
    return found


def words_found(read: Read, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[Array, list[Floats]]:
    """Of captions `one[i]` and `other[i]`: how alike in their words, and how near each piece of the one has come to one
    of the other.
    """
    alike, found = np.empty(len(one)), []
    for row, pair in enumerate(zip(one.tolist(), other.tolist())):
        alike[row], cosines = word_match(read, *pair)
        found.append(cosines.max(axis=1) if cosines.shape[1] else np.zeros(len(cosines), np.float32))
    return alike, found


def word_match(read: Read, one: int, other: int) -> tuple[float, Floats]:
    """The likeness of two captions, and the cosines of their pieces."""
    mine, its = slice(*read.offsets[one : one + 2]), slice(*read.offsets[other : other + 2])
    if mine.start == mine.stop or its.start == its.stop:
        return 0.0, np.zeros((mine.stop - mine.start, its.stop - its.start), np.float32)
    cosines = np.maximum(np.einsum("ad,bd->ab", read.words[mine], read.words[its]), 0)
    # A word that says nothing is not worth finding.
    cosines *= (read.weights[mine] > 0)[:, None] & (read.weights[its] > 0)
    forth = _weighed(cosines.max(axis=1), read.weights[mine])
    back = _weighed(cosines.max(axis=0), read.weights[its])
    return (2 * forth * back / (forth + back) if forth + back else 0.0), cosines


def _weighed(values: Floats, weights: Floats) -> float:
    total = float(weights.sum(dtype=np.float64))
    return float((values * weights).sum(dtype=np.float64)) / total if total else 0.0


def open_meaning(source: str = CHECKPOINT, run: Run | None = None) -> Meaning:
    """Opened once in a process."""
    return _open_meaning(source, (run or Run()).cache)


def open_trained(source: str = CHECKPOINT, run: Run | None = None) -> Checkpoint:
    """What is known of an encoder, without opening it."""
    return _open_trained(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_trained(source: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, "meaning", Run(cache=cache))


@lru_cache(maxsize=2)
def _open_meaning(source: str, cache: Path) -> Meaning:
    return Meaning(_open_trained(source, cache))


def read_scales(path: Path) -> Scales:
    given = named_arrays(path, ("slopes", "offsets", "idf"))
    return Scales(
        given["slopes"].astype(np.float64), given["offsets"].astype(np.float64), given["idf"].astype(np.float32)
    )


def encoder_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What an encoder that has just been exported gives for a probe."""
    return _outputs(open_session(folder / ENCODER), inputs)


def _outputs(session: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    names = ["sentences", "sounds"]
    return dict(zip(names, session.run(names, {"tokens": inputs["tokens"]}), strict=True))
