"""What a checkpoint says of its training beside the config."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from capeval.train.task import Model, Task


def facts_of(task: Task[Model]) -> dict[str, Any]:
    """What the task declares, and its own facts."""
    facts = {} if task.encoder is None else {"encoder": task.encoder}
    facts |= task.facts()
    return facts | ({"trained_on": trained_on(task.sources)} if task.sources else {})


def trained_on(sources: Iterable[str]) -> list[str]:
    """The training pictures of data sets, in the words in which benchmarks say what they hold."""
    return [f"images:{source}-train" for source in dict.fromkeys(sources)]


def digest_of(*arrays: npt.NDArray[Any] | None) -> str:
    """Tells what is trained on from anything else."""
    state = hashlib.sha256()
    for each in arrays:
        state.update(b"" if each is None else f"{each.dtype} {each.shape}".encode() + np.ascontiguousarray(each).data)
    return state.hexdigest()[:16]
