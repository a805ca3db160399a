"""The package as a whole: what importing it costs, and who may import what."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import capeval

SOURCE = Path(capeval.__file__).resolve().parent
HEAVY = ["numpy", "rich", "click", "torch", "pandas", "matplotlib", "pyarrow", "msgspec", "httpx"]


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_pulls_in_nothing_heavy() -> None:
    assert modules_after("import capeval").isdisjoint(HEAVY)


def test_errors_can_be_caught_without_numpy() -> None:
    assert modules_after("from capeval import DataError, UnknownName").isdisjoint(HEAVY)


def test_scoring_does_not_load_what_it_does_not_need() -> None:
    loaded = modules_after("import capeval; capeval.score(['a'], [['a']], ['bleu', 'rouge'])")
    assert loaded.isdisjoint({"torch", "pandas", "matplotlib", "pyarrow", "rich", "click"})


def test_public_names() -> None:
    for name in capeval.__all__:
        assert getattr(capeval, name) is not None
    assert set(capeval.__all__) == set(dir(capeval))
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        capeval.scores  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    assert capeval.__version__ == version("capeval")


def test_the_package_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(capeval).attempted > 0
    assert doctest.testmod(capeval).failed == 0


def imported(path: Path) -> set[str]:
    """The top packages that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


# For those who use torchmetrics, which is torch; nothing of ours imports it.
ADAPTER = SOURCE / "compat" / "torchmetrics.py"


def importers(package: str) -> set[str]:
    """The parts of capeval that import a package."""
    files = [path for path in SOURCE.rglob("*.py") if path != ADAPTER and package in imported(path)]
    return {path.relative_to(SOURCE).parts[0] for path in files}


def test_only_models_and_training_import_torch() -> None:
    assert importers("torch") <= {"models", "train"}


def test_only_reports_import_matplotlib() -> None:
    assert importers("matplotlib") <= {"report"}


def test_only_the_command_line_imports_click() -> None:
    assert importers("click") <= {"cli"}


def test_only_downloads_import_httpx() -> None:
    assert importers("httpx") <= {"io"}


def test_nothing_unpickles_or_evaluates() -> None:
    for path in SOURCE.rglob("*.py"):
        assert "pickle" not in imported(path), path
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert not {call.id for call in calls if isinstance(call, ast.Name)} & {"eval", "exec"}, path
