"""NNEval's network on NumPy: the scores of some metrics go in, the probability that a person wrote the caption comes
out. It is so small that NumPy is quick enough."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError, without_pickle_advice
from capeval.run import Run
from capeval.runtime.batches import filled
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.types import Array, Flags

NETWORK = "network.npz"

# Every run of the network has so many rows, filled up if need be: a score does not depend on what is scored with it.
# So few that NumPy wakes no other threads for them, which takes longer than the work.
_ROWS = 32


class Layer(NamedTuple):
    weights: Array
    """[in, out]"""
    bias: Array


@dataclass(frozen=True)
class Network:
    """Layers with ReLU between them and a softmax over (machine, human) at the end."""

    low: Array
    """The lowest value of each feature in training, which becomes -1."""
    high: Array
    """The highest, which becomes 1."""
    usual: Array
    """The mean of each feature in training."""
    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, arrays: Arrays) -> Network:
        """From the arrays of a file: `low`, `high`, `usual`, then `weights_1`, `bias_1` and so on."""
        found = {name: np.asarray(value, np.float64) for name, value in arrays.items()}
        count = sum(name.startswith("weights_") for name in found)
        layers = tuple(Layer(found[f"weights_{i}"], found[f"bias_{i}"]) for i in range(1, count + 1))
        made = cls(found["low"], found["high"], found["usual"], layers)
        made._check()
        return made

    def _check(self) -> None:
        width = (len(self.low),)
        fits = bool(self.layers) and self.low.shape == self.high.shape == self.usual.shape == width
        for weights, bias in self.layers:
            fits = fits and weights.ndim == 2 and weights.shape[:1] == width and weights.shape[1:] == bias.shape
            width = bias.shape
        values = [self.low, self.high, self.usual, *(array for layer in self.layers for array in layer)]
        if not fits or width != (2,) or not all(np.isfinite(each).all() for each in values):
            raise ValueError("the layers do not fit each other, or hold numbers that are not finite")

    def outside(self, features: Array) -> Flags:
        """Which values lie beyond what training saw."""
        return np.asarray((features < self.low) | (features > self.high))

    def scaled(self, features: Array) -> Array:
        """From -1 to 1; values that training did not see count as the nearest one that it saw."""
        spread = self.high - self.low
        shares = (np.clip(features, self.low, self.high) - self.low) / np.where(spread > 0, spread, 1)
        return np.asarray(np.where(spread > 0, 2 * shares - 1, 0.0))

    def scores(self, features: Array) -> Array:
        """The probability that a person wrote the caption, for each row of features."""
        found = np.empty(len(features))
        for start in range(0, len(features), _ROWS):
            rows = np.arange(start, min(start + _ROWS, len(features)))
            found[rows] = self._run(self.scaled(features[filled(rows, _ROWS)]))[: len(rows)]
        return found

    def _run(self, values: Array) -> Array:
        *hidden, last = self.layers
        for weights, bias in hidden:
            values = np.maximum(values @ weights + bias, 0)
        machine, human = (values @ last.weights + last.bias).T
        # A softmax over two, written so that nothing can overflow.
        return np.asarray(np.exp(-np.logaddexp(0, machine - human)))


@dataclass(frozen=True)
class Judge:
    """A trained network and the metrics whose scores it knows, as expressions."""

    checkpoint: Checkpoint
    features: tuple[str, ...]
    network: Network


def open_judge(source: str, run: Run | None = None) -> Judge:
    """The network in a checkpoint folder, or one that has a name; opened once in a process."""
    return _open_judge(source, (run or Run()).cache)


@lru_cache(maxsize=8)
def _open_judge(source: str, cache: Path) -> Judge:
    checkpoint = open_checkpoint(source, "nneval", Run(cache=cache))
    features = tuple(checkpoint.config.get("features", ()))
    network = read_network(checkpoint.path(NETWORK))
    if len(features) != len(network.low) or not all(isinstance(each, str) for each in features):
        raise CheckpointError(f"{checkpoint.folder}: its config.json does not name the {len(network.low)} features")
    checkpoint.check_probe(lambda inputs: outputs(network, inputs), 1e-6)
    return Judge(checkpoint, features, network)


def read_network(path: Path) -> Network:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return Network.of({name: stored[name] for name in stored.files})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: the network cannot be read: {without_pickle_advice(error)}") from None


def outputs(network: Network, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Scores of rows of features, as a probe has them."""
    return {"score": network.scores(np.asarray(inputs["features"], np.float64))}
