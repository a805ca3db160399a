"""Two engines with the same functions: plain NumPy/Python (`reference`) and C++ (`_compiled`).

`CAPEVAL_ENGINE=python|compiled` chooses; without it the compiled one is taken where it was built.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Any

from capeval.errors import CapevalError

NAMES = ("python", "compiled")


def load(name: str | None = None) -> Any:
    """The engine module: by name, else by the environment, else the fastest there is."""
    wanted = name or os.environ.get("CAPEVAL_ENGINE") or ""
    if wanted not in ("", *NAMES):
        raise CapevalError(f"CAPEVAL_ENGINE is {wanted!r}; it must be one of: {', '.join(NAMES)}")
    if wanted != "python":
        compiled = _compiled_engine()
        if compiled is not None:
            return compiled
        if wanted == "compiled":
            raise CapevalError(
                "the compiled engine was not built (no C++ compiler at install time?). Install a C++17 compiler and "
                "reinstall capeval, or use CAPEVAL_ENGINE=python"
            )
    from capeval.engine import reference

    return reference


def active() -> str:
    """Name of the engine that `load()` gives."""
    return "python" if load().__name__.endswith(".reference") else "compiled"


def _compiled_engine() -> ModuleType | None:
    try:
        return import_module("capeval.engine._compiled")
    except ImportError:
        return None
