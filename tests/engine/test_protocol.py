"""Both engines have the functions of the protocol, with the same parameters; the compiled one is checked as built."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from capeval import engine
from capeval.engine import Engine, python

FUNCTIONS = sorted(name for name in vars(Engine) if not name.startswith("_"))


def parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def compiled_parameters(function: Any) -> list[str]:
    """Compiled functions tell their signature as text only."""
    (signature,) = [text for text, *_ in function.__nb_signature__]
    inner = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    return re.findall(r"(\w+): ", re.sub(r"\[[^\[\]]*\]", "", inner))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_python_engine_has_it(name: str) -> None:
    assert parameters(getattr(python, name)) == parameters(getattr(Engine, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_compiled_engine_has_it(compiled_engine: str, name: str) -> None:
    assert compiled_parameters(getattr(engine.load(), name)) == parameters(getattr(Engine, name))


def test_neither_has_more(compiled_engine: str) -> None:
    assert sorted(python.__all__) == FUNCTIONS
    assert sorted(name for name in vars(engine.load()) if not name.startswith("_")) == FUNCTIONS


def test_the_active_one(each_engine: str) -> None:
    assert engine.active() == each_engine
