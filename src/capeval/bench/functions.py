"""Metrics of the user's own that are named as text: `module:function`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from capeval.errors import CapevalError
from capeval.types import Array, Dataset

_NAME = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")


class Imported:
    """A function under the name by which the user called it."""

    def __init__(self, name: str, function: Callable[[Dataset], Sequence[float] | Array]) -> None:
        self.__name__, self.function = name, function

    @property
    def trained_on(self) -> tuple[str, ...]:
        return tuple(getattr(self.function, "trained_on", ()))

    def __call__(self, dataset: Dataset) -> Sequence[float] | Array:
        return self.function(dataset)


def imported(text: str) -> Imported | None:
    """The function that `module:function` names, installed or in this folder; None for other text."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    module, name = match.groups()
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(import_module(module), name)
    except Exception as problem:  # whatever the user's module does wrong when it is imported
        raise CapevalError(f"{text} cannot be used as a metric: {problem!r}") from problem
    if not callable(function):
        raise CapevalError(f"{text} is no function: it must give one score for each row of a dataset")
    return Imported(text, function)


def source_of(function: Callable[..., object]) -> str | None:
    """The text of the module that has a function; None where there is none to read."""
    inner = function.function if isinstance(function, Imported) else function
    try:
        module = inspect.getsourcefile(inspect.unwrap(inner))
        return None if module is None else Path(module).read_text("utf-8", "replace")
    except (TypeError, OSError):
        return None
