"""Arrays that were computed before, in a folder: what decides an array is part of its name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capeval.io.cache import make_directory
from capeval.io.files import writing
from capeval.types import Array


def kept_array(folder: Path, name: str, decides: Sequence[Any], make: Callable[[], Array]) -> Array:
    """The array that an earlier call made from the same, or what `make` gives, which is kept for the next call.

    `decides` is everything that the array depends on, as JSON can hold it; `name` only tells people what a file is.
    """
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:24]
    path = folder / f"{re.sub(r'[^A-Za-z0-9_.]+', '-', name).strip('-')[:60]}-{digest}.npy"
    try:
        found: Array = np.load(path, allow_pickle=False)
        return found
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError):
        path.unlink(missing_ok=True)  # damaged
    made = make()
    make_directory(folder)
    with writing(path) as stream:
        np.save(stream, made, allow_pickle=False)
    return made
