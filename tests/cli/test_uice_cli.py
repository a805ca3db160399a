"""UICE on the command line: explained without references, trained from a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("onnxruntime")

from capeval.cli import cli


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_explain_needs_references_only_where_they_are_compared(small_uice: Path) -> None:
    done = run("explain", f"uice_syn(style={small_uice / 'syntax'})", "a dog runs on the beach")
    assert done.exit_code == 0, done.output
    assert "reference:" not in done.output
    assert "how human up to here" in done.output
    assert "(end)" in done.output
    done = run("explain", "meteor", "a dog")
    assert done.exit_code == 2
    assert "give one with -r" in done.output


def test_a_corpus_is_for_models_that_learn_a_style(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "c.txt").write_text("a dog runs on grass\n")
    done = run("train", "lece", "--corpus", tmp_path / "c.txt", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "learns from no corpus" in done.output
