"""UICE's modules on ONNX Runtime and NumPy: captions and pictures are read once each, then matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError
from capeval.run import Run
from capeval.runtime.arrays import named_arrays, probability
from capeval.runtime.batches import Rows, few, filled, for_each, of_one_length
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.session import open_session
from capeval.text.vocabulary import UNK, Vocabulary
from capeval.types import Array, Floats

SYNTAX, CAPTIONS, PICTURES, HEAD, FUSION = "syntax.onnx", "captions.onnx", "pictures.onnx", "match.npz", "fusion.npz"
VOCABULARY = "vocabulary.txt"
STYLE = "uice-syn-"
"""How the folders of styles are called that go by a name: `uice-syn-photo`."""

# Rows of a run. Every run has exactly so many, filled up if need be: a score does not depend on what is scored with it.
# In the syntactic module it does not with fewer rows either.
_ROWS = 32
_PAIRS = 1024
_NEVER = 1e-9

T = TypeVar("T")


class Syntax:
    """A trained syntactic module: how human a sentence sounds, after each of its words."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.words = int(_said(checkpoint, "words"))
        self.vocabulary = Vocabulary.load(checkpoint.path(VOCABULARY))
        self._price = float(checkpoint.config.get("price", 0.0))
        self._session = checkpoint.session(SYNTAX, threads=1)
        checkpoint.check_probe(lambda inputs: _named(self._session, inputs))

    def judge(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Array:
        """The probability, after the last word, that a person wrote each tokenised sentence.

        Systems write few different words, so that a network may take a word that it does not know for a person's: each
        such word takes the style's `price` from the logit.
        """
        tokens, lengths = self.vocabulary.encode(texts, self.words)
        found = np.empty(len(tokens), np.float32)

        def block(rows: Rows) -> None:
            length = int(lengths[rows[0]])
            (logits,) = self._session.run(None, {"tokens": tokens[few(rows, _ROWS), :length]})
            found[rows] = logits[: len(rows), -1]

        for_each(block, of_one_length(lengths, lambda _: _ROWS), threads)
        return probability(found - self._price * (tokens == UNK).sum(1))

    def steps(self, text: Sequence[str]) -> Array:
        """The same after each word of one sentence, and after its end."""
        tokens, lengths = self.vocabulary.encode([text], self.words)
        tokens = tokens[:, : lengths[0]]
        (logits,) = self._session.run(None, {"tokens": np.repeat(tokens, 2, axis=0)})
        return probability(logits[0] - self._price * np.cumsum(tokens[0] == UNK))


class Semantics:
    """A trained semantic module: whether a caption and a picture match."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.words = int(_said(checkpoint, "words"))
        self.vocabulary = Vocabulary.load(checkpoint.path(VOCABULARY))
        self._captions, self._pictures = (checkpoint.session(name, threads=1) for name in (CAPTIONS, PICTURES))
        self._head = Head(checkpoint.path(HEAD))
        self.picture_width = int(self._pictures.get_inputs()[0].shape[1])
        checkpoint.check_probe(lambda inputs: _semantic(self._captions, self._pictures, self._head, inputs))

    def read(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Floats:
        """K of each tokenised caption, [n, kernels, kernel width]; zeros for one without words."""
        tokens, lengths = self.vocabulary.encode(texts, self.words, eos=False)
        found = np.zeros((len(tokens), *self._head.sizes), np.float32)

        def block(rows: Rows) -> None:
            length = int(lengths[rows[0]])
            (read,) = self._captions.run(None, {"tokens": tokens[filled(rows, _ROWS), :length]})
            found[rows] = read[: len(rows)]

        for_each(block, [rows for rows in of_one_length(lengths, lambda _: _ROWS) if lengths[rows[0]]], threads)
        return found

    def look(self, vectors: Floats, threads: int = 1) -> Floats:
        """K of each picture vector."""
        found = np.empty((len(vectors), *self._head.sizes), np.float32)

        def block(start: int) -> None:
            rows = np.arange(start, min(start + _ROWS, len(vectors)))
            (seen,) = self._pictures.run(None, {"vectors": vectors[filled(rows, _ROWS)]})
            found[rows] = seen[: len(rows)]

        for_each(block, range(0, len(vectors), _ROWS), threads)
        return found

    def match(
        self,
        captions: Floats,
        caption: npt.NDArray[np.integer[Any]],
        pictures: Floats,
        picture: npt.NDArray[np.integer[Any]],
        threads: int = 1,
    ) -> Array:
        """The probability that `captions[caption[i]]` and `pictures[picture[i]]` match, of what was read and seen."""
        found = np.empty(len(caption))

        def block(start: int) -> None:
            rows = slice(start, start + _PAIRS)
            found[rows] = self._head.match(captions[caption[rows]], pictures[picture[rows]])

        for_each(block, range(0, len(caption), _PAIRS), threads)
        return found


class Head:
    """The kernels' distances to a probability (equations 3 and 4, and the softmax after them)."""

    def __init__(self, path: Path) -> None:
        given = named_arrays(path, ("weight", "bias", "sizes"))
        self._weight, self._bias = (given[name].astype(np.float64) for name in ("weight", "bias"))
        kernels, width = given["sizes"].tolist()
        self.sizes = (int(kernels), int(width))
        if self._weight.shape != (kernels,) or self._bias.shape != ():
            raise CheckpointError(f"{path}: the sizes of the weights do not fit together")

    def match(self, captions: Floats, pictures: Floats) -> Array:
        """Rows [n, kernels, kernel width] with rows."""
        near = np.exp(-np.abs(captions - pictures).sum(axis=2, dtype=np.float64))
        return probability((near * self._weight).sum(axis=1) + self._bias)


class Fusion:
    """One hidden layer over the two scores (equation 13)."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._layers = named_arrays(checkpoint.path(FUSION), ("hidden", "hidden_bias", "out", "out_bias"))
        checkpoint.check_probe(lambda inputs: {"score": self.fuse(inputs["scores"])})

    def fuse(self, scores: Array) -> Array:
        return fused(self._layers, scores)


def fused(layers: Mapping[str, npt.NDArray[Any]], scores: Array) -> Array:
    """Scores [n] of pairs (semantic, syntactic) [n, 2]; each row alone, so that others cannot change its last digit."""
    hidden, bias, out = (layers[name].astype(np.float64) for name in ("hidden", "hidden_bias", "out"))
    given = weighed(scores)
    inner = np.tanh(given[:, :1] * hidden[:, 0] + given[:, 1:] * hidden[:, 1] + bias)
    return probability((inner * out).sum(axis=1) + float(layers["out_bias"]))


def weighed(scores: Array) -> Array:
    """What the fusion sees of pairs (semantic, syntactic): the log odds of a match, for which small probabilities
    differ as much as large ones do, and the logarithm of being human (equation 8), for which sound sentences hardly
    differ.
    """
    given = np.clip(scores, _NEVER, 1 - _NEVER)
    return np.column_stack([np.log(given[:, 0]) - np.log1p(-given[:, 0]), np.log(given[:, 1])])


def style_source(style: str) -> str:
    """The checkpoint of a style: a folder, or the name that it goes by."""
    is_folder = Path(style).name != style or (Path(style) / "config.json").is_file()
    return style if is_folder else f"{STYLE}{style}"


def open_trained(source: str, model: str, run: Run | None = None) -> Checkpoint:
    """What is known of a module, without opening its networks."""
    return _open_trained(source, model, (run or Run()).cache)


def open_syntax(source: str, run: Run | None = None) -> Syntax:
    """Opened once in a process."""
    return _open_syntax(source, (run or Run()).cache)


def open_semantics(source: str, run: Run | None = None) -> Semantics:
    return _open_semantics(source, (run or Run()).cache)


def open_fusion(source: str, run: Run | None = None) -> Fusion:
    return _open_fusion(source, (run or Run()).cache)


@lru_cache(maxsize=8)
def _open_trained(source: str, model: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, model, Run(cache=cache))


@lru_cache(maxsize=4)
def _open_syntax(source: str, cache: Path) -> Syntax:
    return Syntax(_open_trained(source, "uice-syn", cache))


@lru_cache(maxsize=4)
def _open_semantics(source: str, cache: Path) -> Semantics:
    return Semantics(_open_trained(source, "uice-sem", cache))


@lru_cache(maxsize=4)
def _open_fusion(source: str, cache: Path) -> Fusion:
    return Fusion(_open_trained(source, "uice", cache))


def syntax_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What a network that has just been exported gives for a probe."""
    return _named(open_session(folder / SYNTAX), inputs)


def semantic_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What networks that have just been exported give for a probe: caption i with picture i."""
    captions, pictures = (open_session(folder / name) for name in (CAPTIONS, PICTURES))
    return _semantic(captions, pictures, Head(folder / HEAD), inputs)


def _semantic(captions: Any, pictures: Any, head: Head, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    (read,) = captions.run(None, {"tokens": inputs["tokens"]})
    (seen,) = pictures.run(None, {"vectors": inputs["vectors"]})
    return {"captions": read, "pictures": seen, "match": head.match(read, seen)}


def _named(session: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def _said(checkpoint: Checkpoint, key: str) -> Any:
    if key not in checkpoint.config:
        raise CheckpointError(f"{checkpoint.folder}: its config.json does not say `{key}`")
    return checkpoint.config[key]
