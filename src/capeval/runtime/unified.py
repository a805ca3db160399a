"""The parts of `unified` put together, each with a weight: more of a part never gives less of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError
from capeval.run import Run
from capeval.runtime.arrays import named_arrays, probability
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.types import Array

WEIGHTS = "weights.npz"
CHECKPOINT = "unified"
"""The weights that come with capeval."""
Inputs = Literal["both", "references", "pictures"]
INPUTS: tuple[Inputs, ...] = ("both", "references", "pictures")
"""What there is beside the candidate; each has weights of its own, all on one scale."""
SOUND = "sound"
"""The metrics that say whether a sentence is sound, the same for every kind of input."""
FORM = ("fresh",)
"""What is known of every caption: that it does not say most pairs of words again."""
_ODDS = (
    "meaning", "meaning_best", "meaning_words", "accord", "sight", "sight_words", "fluency", "uice_syn", "uice_sem",
    "tiger_wds", "lece", "nneval",
)  # fmt: skip
_AS_THEY_ARE = (*FORM, "confirmed", "sight_text", "belongs", "scan", "tiger", "tiger_rrs")
_SURE = 0.002
_ARRAYS = ("mean", "spread", "usual", "weights", "bias", "gate", "gate_bias")


def weighed(values: Array, parts: tuple[str, ...]) -> Array:
    """Parts as they are weighed: probabilities as log odds, agreement of words by its root."""
    found = np.empty_like(values)
    for place, part in enumerate(parts):
        column = values[:, place]
        name = part.partition("(")[0]
        if name in _ODDS:
            sure = np.clip(column, _SURE, 1 - _SURE)
            found[:, place] = np.log(sure) - np.log1p(-sure)
        elif name in _AS_THEY_ARE:
            found[:, place] = column
        else:
            found[:, place] = np.sqrt(np.maximum(column, 0))
    return found


@dataclass(frozen=True)
class Weighing:
    """What a caption says, times how much its soundness leaves of it; no weight is negative."""

    parts: tuple[str, ...]
    """First those of what it says, then those of soundness."""
    mean: Array
    spread: Array
    usual: Array
    """The values of a usual caption, before they are weighed."""
    weights: Array
    """Of the parts of what it says."""
    bias: Array
    gate: Array
    """Of the parts of soundness."""
    gate_bias: Array

    def scores(self, values: Array) -> Array:
        """From 0 to 1, for rows of parts' scores; each row alone, so that others cannot change its last digit."""
        given = (weighed(values, self.parts) - self.mean) / self.spread
        says, sound = (np.full(len(given), float(bias)) for bias in (self.bias, self.gate_bias))
        for place, weight in enumerate(self.weights):
            says += given[:, place] * weight
        for place, weight in enumerate(self.gate, len(self.weights)):
            sound += given[:, place] * weight
        return probability(says) * np.minimum(1, 2 * probability(sound))


@dataclass(frozen=True)
class Judge:
    """What was fitted: weights for each kind of input."""

    checkpoint: Checkpoint
    weighings: Mapping[str, Weighing]


def parts_of(config: Mapping[str, Any], inputs: str) -> tuple[str, ...]:
    """The metrics whose scores are weighed, as expressions."""
    found = [each for key in (inputs, SOUND) for each in _named(config, key)]
    return tuple(found)


def _named(config: Mapping[str, Any], key: str) -> Sequence[str]:
    found = config.get(key)
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise CheckpointError(f"config.json does not name the parts for {key}")
    return found


def read_weighing(path: Path, inputs: str, parts: tuple[str, ...]) -> Weighing:
    """`parts`: all of them but the form."""
    given = named_arrays(path, [f"{inputs}.{name}" for name in _ARRAYS])
    arrays = {name: np.asarray(given[f"{inputs}.{name}"], np.float64) for name in _ARRAYS}
    made = Weighing((*parts, *FORM), **arrays)
    width = len(made.parts)
    fits = made.weights.ndim == made.gate.ndim == 1 and len(made.weights) + len(made.gate) == width
    fits = fits and made.bias.shape == made.gate_bias.shape == ()
    fits = fits and made.mean.shape == made.spread.shape == made.usual.shape == (width,)
    if not fits or not all(np.isfinite(each).all() for each in arrays.values()):
        raise CheckpointError(f"{path}: the sizes of the weights for {inputs} do not fit, or they are not finite")
    if any((each < 0).any() for each in (made.weights, made.gate)) or (made.spread <= 0).any():
        raise CheckpointError(f"{path}: with the weights for {inputs} more of a part could lower the score")
    return made


def open_judge(source: str = CHECKPOINT, run: Run | None = None) -> Judge:
    """Opened once in a process."""
    return _open_judge(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_judge(source: str, cache: Path) -> Judge:
    checkpoint = open_checkpoint(source, "unified", Run(cache=cache))
    path = checkpoint.path(WEIGHTS)
    weighings: dict[str, Weighing] = {
        inputs: read_weighing(path, inputs, parts_of(checkpoint.config, inputs)) for inputs in INPUTS
    }
    checkpoint.check_probe(lambda inputs: probe_outputs(weighings, inputs), 1e-6)
    return Judge(checkpoint, weighings)


def probe_outputs(weighings: Mapping[str, Weighing], inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    return {name: weighings[name].scores(values) for name, values in inputs.items()}
