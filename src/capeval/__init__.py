"""capeval tells how good an image caption is.

>>> import capeval
>>> result = capeval.score(["a cat on a mat"], [["a cat sits on a mat", "the cat is on the mat"]], metrics=["rouge_l"])
>>> round(result.scores["rouge_l"], 4)
0.8944
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from capeval.version import __version__

if TYPE_CHECKING:
    from capeval.api import compare, explain, ground, scene_graph, score, tokenize
    from capeval.errors import CapevalError, DataError, ExpressionError, MissingExtra, UnknownName
    from capeval.results import Result, join, load, save
    from capeval.stream import score_stream
    from capeval.types import Dataset, Info, Metric, Sample

# Loaded on first use, so that `import capeval` costs nothing.
_HOME = {
    "CapevalError": "errors",
    "DataError": "errors",
    "Dataset": "types",
    "ExpressionError": "errors",
    "Info": "types",
    "Metric": "types",
    "MissingExtra": "errors",
    "Result": "results",
    "Sample": "types",
    "UnknownName": "errors",
    "compare": "api",
    "explain": "api",
    "ground": "api",
    "join": "results",
    "load": "results",
    "save": "results",
    "scene_graph": "api",
    "score": "api",
    "score_stream": "stream",
    "tokenize": "api",
}

__all__ = [
    "CapevalError",
    "DataError",
    "Dataset",
    "ExpressionError",
    "Info",
    "Metric",
    "MissingExtra",
    "Result",
    "Sample",
    "UnknownName",
    "__version__",
    "compare",
    "explain",
    "ground",
    "join",
    "load",
    "save",
    "scene_graph",
    "score",
    "score_stream",
    "tokenize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'capeval' has no attribute {name!r}")
    return getattr(import_module(f"capeval.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
