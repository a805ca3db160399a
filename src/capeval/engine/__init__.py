"""Two engines with the same functions: plain Python with NumPy (`python`) and C++ (`_compiled`).

`CAPEVAL_ENGINE=python|compiled` chooses; without it the compiled one is taken where it was built.
`CAPEVAL_SIMD=auto|off`: off keeps the compiled one from vector instructions that not every machine has, to test what
it does without. It is read once in a process.
"""

from __future__ import annotations

import os

from capeval.engine.protocol import Engine
from capeval.errors import CapevalError

__all__ = ["NAMES", "Engine", "active", "load"]

NAMES = ("python", "compiled")
SIMD = ("auto", "off")


def load(name: str | None = None) -> Engine:
    """The engine: by name, else by the environment, else the fastest there is."""
    wanted = name or os.environ.get("CAPEVAL_ENGINE") or ""
    _check("CAPEVAL_ENGINE", wanted, NAMES)
    _check("CAPEVAL_SIMD", os.environ.get("CAPEVAL_SIMD") or "", SIMD)
    if wanted != "python":
        compiled = _compiled_engine()
        if compiled is not None:
            return compiled
        if wanted == "compiled":
            raise CapevalError(
                "the compiled engine was not built (no C++ compiler at install time?). Install a C++17 compiler and "
                "reinstall capeval, or use CAPEVAL_ENGINE=python"
            )
    return _python_engine()


def active() -> str:
    """Name of the engine that `load()` gives."""
    return "python" if load() is _python_engine() else "compiled"


def _check(variable: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in ("", *allowed):
        raise CapevalError(f"{variable} is {value!r}; it must be one of: {', '.join(allowed)}")


def _python_engine() -> Engine:
    from capeval.engine import python

    return python


def _compiled_engine() -> Engine | None:
    try:
        from capeval.engine import _compiled
    except ImportError:
        return None
    return _compiled
