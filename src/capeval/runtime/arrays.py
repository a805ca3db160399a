"""Small networks' numbers: read from files, and what is done with them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError, without_pickle_advice
from capeval.types import Array


def named_arrays(path: Path, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """These arrays of an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: cannot be read: {without_pickle_advice(error)}") from None


def probability(logits: npt.NDArray[Any]) -> Array:
    """The logistic function in double precision."""
    given = np.asarray(logits, np.float64)
    small = np.exp(-np.abs(given))
    return np.where(given >= 0, 1 / (1 + small), small / (1 + small))
