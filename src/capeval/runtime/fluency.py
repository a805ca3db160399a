"""Whether a person would write such a sentence, on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.run import Run
from capeval.runtime.arrays import probability
from capeval.runtime.batches import Rows, few, for_each, of_one_length
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.meaning import MOST, TOKENIZER
from capeval.runtime.pieces import Pieces
from capeval.runtime.session import open_session
from capeval.types import Array

NETWORK = "network.onnx"
CHECKPOINT = "fluency"
"""The network that comes with capeval."""

# As in the sentence encoder: from two rows on, a score does not depend on how many there are.
_ROWS = 16
_TOLERANCE = 0.2
"""Of a probe, in log odds. Processors may round sums of 8-bit products otherwise."""

__all__ = ["CHECKPOINT", "NETWORK", "TOKENIZER", "Fluency", "listener_outputs", "open_fluency", "open_trained"]


class Fluency:
    """A trained network."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._pieces = Pieces(checkpoint.path(TOKENIZER), MOST)
        self._session = checkpoint.session(NETWORK, threads=1)
        checkpoint.check_probe(lambda inputs: _outputs(self._session, inputs), _TOLERANCE)

    def scores(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Array:
        """From 0 to 1 for tokenised captions; 0 for one without words."""
        tokens, lengths = self._pieces.encode(texts)
        found = np.zeros(len(tokens))

        def block(rows: Rows) -> None:
            (sounds,) = self._session.run(["sounds"], {"tokens": tokens[few(rows, _ROWS), : lengths[rows[0]]]})
            found[rows] = probability(sounds[: len(rows)].astype(np.float64))

        # Two pieces are begin and end alone.
        for_each(block, [rows for rows in of_one_length(lengths, lambda _: _ROWS) if lengths[rows[0]] > 2], threads)
        return found


def open_fluency(source: str = CHECKPOINT, run: Run | None = None) -> Fluency:
    """Opened once in a process."""
    return _open_fluency(source, (run or Run()).cache)


def open_trained(source: str = CHECKPOINT, run: Run | None = None) -> Checkpoint:
    """What is known of a network, without opening it."""
    return _open_trained(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_trained(source: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, "fluency", Run(cache=cache))


@lru_cache(maxsize=2)
def _open_fluency(source: str, cache: Path) -> Fluency:
    return Fluency(_open_trained(source, cache))


def listener_outputs(folder: Path, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What a network that has just been exported gives for a probe."""
    return _outputs(open_session(folder / NETWORK), inputs)


def _outputs(session: Any, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    return {"sounds": session.run(["sounds"], {"tokens": inputs["tokens"]})[0]}
