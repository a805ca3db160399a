"""Errors of the library in the words of the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import capeval
from capeval.cli.progress import Terminal
from capeval.cli.remedies import OPTIONS, in_words
from capeval.errors import REMEDIES, CapevalError, DataError, Unavailable

SOURCE = Path(capeval.__file__).resolve().parent
# The pages of `capeval serve` tell who started it what to type.
NOT_FOR_LIBRARIES = ("cli", "web")


def test_the_command_line_has_a_word_for_every_remedy() -> None:
    assert OPTIONS.keys() == REMEDIES.keys()


def test_python_and_the_command_line_give_their_own_advice() -> None:
    problem = Unavailable("bleu compares with references, and there are none", remedy="references")
    assert str(problem) == "bleu compares with references, and there are none. Give them as `references`"
    assert in_words(problem) == "bleu compares with references, and there are none. Give them with -r"
    asked = DataError("no score.", file="s.csv", ids=["1"], remedy="score_ids")
    assert in_words(asked).startswith("s.csv: no score. Ids: '1'. `capeval bench rows NAME`")
    assert in_words(CapevalError("it is so")) == "it is so"


def test_what_is_left_out_is_noted_with_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().left_out("lece", Unavailable("lece looks at pictures, and there are none", remedy="pictures"))
    assert "there are none. Give a folder of pictures with --images" in capsys.readouterr().err


def test_the_library_names_no_option() -> None:
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]+\b(?!:)")
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in NOT_FOR_LIBRARIES or path.name == "markup.py":
            continue  # the names of colours in a style sheet look like options
        tree = ast.parse(path.read_text("utf-8"))
        is_text = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in is_text:
                found += [f"{path.name}: {each}" for each in option.findall(node.value)]
    assert not found
