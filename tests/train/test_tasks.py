"""The models that can be trained are found by their names. Needs no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from capeval.errors import MissingExtra, UnknownName
from capeval.train.tasks import task_named, task_names


def test_names() -> None:
    assert task_names() == [
        "accord", "captioner", "fluency", "lece", "meaning", "nneval", "parser", "scan", "sight", "sight-words", "uice",
        "uice-sem", "uice-syn", "unified",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="Did you mean captioner"):
        task_named("captoner")


@pytest.mark.parametrize("name", task_names())
def test_each_has_a_config_and_a_task(name: str) -> None:
    pytest.importorskip("torch")
    config, task = task_named(name)
    assert task.name == name
    assert config().seed == 0


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [each for each in sys.modules if each.startswith("capeval.train.tasks.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "capeval.train.task", raising=False)
    with pytest.raises(MissingExtra, match=r"\[train\]"):
        task_named("captioner")


def test_what_needs_no_torch_does_not_import_it() -> None:
    modules = ("data", "captions", "batching", "pictures", "facts", "tasks.parser.silver", "tasks.lece.examples")
    code = "import sys; sys.modules['torch'] = None; " + "; ".join(f"import capeval.train.{each}" for each in modules)
    subprocess.run([sys.executable, "-c", code], check=True)
