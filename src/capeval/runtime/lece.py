"""LECE's critique on ONNX Runtime: captions are read once each, then judged in their contexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError
from capeval.run import Run
from capeval.runtime.batches import filled, for_each, of_one_length
from capeval.runtime.checkpoint import Checkpoint, open_checkpoint
from capeval.runtime.session import open_session
from capeval.text.vocabulary import Ids, Vocabulary
from capeval.types import Floats

Network = Callable[[dict[str, npt.NDArray[Any]]], Floats]

ENCODER, CRITIQUE, VOCABULARY = "encoder.onnx", "critique.onnx", "vocabulary.txt"

# Rows of a run. Every run has exactly so many, filled up if need be: a score does not depend on what is scored with it.
_CAPTIONS = 32
_PAIRS = 256


class Critique:
    """A trained critique, ready to score."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        if not {"words", "context"} <= checkpoint.config.keys():
            raise CheckpointError(f"{checkpoint.folder}: its config.json does not say `words` and `context`")
        self.words = int(checkpoint.config["words"])
        self.context = str(checkpoint.config["context"])
        self.vocabulary = Vocabulary.load(checkpoint.path(VOCABULARY))
        # Threads run different blocks; a session with several of its own would round differently.
        encoder, critique = (checkpoint.session(name, threads=1) for name in (ENCODER, CRITIQUE))
        self._encode: Network = lambda inputs: encoder.run(None, inputs)[0]
        self._judge: Network = lambda inputs: critique.run(None, inputs)[0]
        widths = {each.name: int(each.shape[1]) for each in critique.get_inputs()}
        self.width, self.picture_width = widths["caption"], widths.get("image", 0)
        checkpoint.check_probe(lambda inputs: outputs(self._encode, self._judge, self.width, inputs))

    def encode(self, tokens: Ids, lengths: Ids, threads: int = 1) -> Floats:
        """A vector [n, width] for each caption of token numbers."""
        return _encoded(self._encode, self.width, tokens, lengths, threads)

    def judge(
        self,
        captions: Floats,
        caption: npt.NDArray[Any],
        contexts: Mapping[str, tuple[Floats, npt.NDArray[Any]]],
        threads: int = 1,
    ) -> Floats:
        """The probability that a caption is human, for each row.

        Row i judges `captions[caption[i]]` by `vectors[rows[i]]` of each context (vectors, rows).
        """
        return _judged(self._judge, {"caption": (captions, caption), **contexts}, threads)


def open_critique(source: str, run: Run | None = None) -> Critique:
    """The critique in a checkpoint folder, or one that has a name; opened once in a process."""
    return _open_critique(source, (run or Run()).cache)


def open_trained(source: str, run: Run | None = None) -> Checkpoint:
    """What is known of a critique, without opening its networks."""
    return _open_trained(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_critique(source: str, cache: Path) -> Critique:
    return Critique(_open_trained(source, cache))


@lru_cache(maxsize=4)
def _open_trained(source: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, "lece", Run(cache=cache))


def outputs(encode: Network, judge: Network, width: int, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Scores of rows of tokens with their contexts, as a probe has them."""
    count = len(inputs["tokens"])
    rows = np.arange(count)
    contexts = {"caption": (_encoded(encode, width, inputs["tokens"], inputs["lengths"]), rows)}
    if "images" in inputs:
        contexts["image"] = (inputs["images"], rows)
    if "reference_tokens" in inputs:
        read = _encoded(encode, width, inputs["reference_tokens"], inputs["reference_lengths"])
        contexts["reference"] = (read, rows)
    return {"score": _judged(judge, contexts)}


def probe_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """The scores of networks that have just been exported."""
    encoder, critique = (open_session(folder / name) for name in (ENCODER, CRITIQUE))
    width = int(critique.get_inputs()[0].shape[1])
    return outputs(lambda each: encoder.run(None, each)[0], lambda each: critique.run(None, each)[0], width, inputs)


def _encoded(run: Network, width: int, tokens: Ids, lengths: Ids, threads: int = 1) -> Floats:
    found = np.empty((len(tokens), width), np.float32)

    def block(rows: npt.NDArray[np.intp]) -> None:
        length = int(lengths[rows[0]])
        given = tokens[filled(rows, _CAPTIONS), :length]
        found[rows] = run({"tokens": given})[: len(rows)]

    for_each(block, of_one_length(lengths, lambda length: _CAPTIONS), threads)
    return found


def _judged(run: Network, sides: Mapping[str, tuple[Floats, npt.NDArray[Any]]], threads: int = 1) -> Floats:
    count = len(next(iter(sides.values()))[1])
    found = np.empty(count, np.float32)

    def block(rows: npt.NDArray[np.intp]) -> None:
        given = filled(rows, _PAIRS)
        found[rows] = run({name: vectors[place[given]] for name, (vectors, place) in sides.items()})[: len(rows)]

    for_each(block, [np.arange(start, min(start + _PAIRS, count)) for start in range(0, count, _PAIRS)], threads)
    return found
