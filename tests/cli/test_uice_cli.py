"""UICE on the command line: explained without references, trained from a corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("onnxruntime")

from capeval.cli import cli
from capeval.runtime.checkpoint import installed_checkpoints


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


def test_without_references_and_pictures_it_says_which_part_is_given(small_uice: Path, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[{"image_id": 1, "caption": "a dog runs on the beach"}]')
    own = ",".join(f"{key}={small_uice / name}" for key, name in (("semantics", "semantics"), ("checkpoint", "fusion")))
    done = run("score", tmp_path / "c.json", "-m", f"uice(style={small_uice / 'syntax'},{own})", "--format", "json")
    assert done.exit_code == 0, done.output
    assert "uice cannot be computed: uice_sem looks at pictures, and there are none. uice_syn" in done.stderr
    assert [name.partition("(")[0] for name in json.loads(done.stdout)["scores"]] == ["uice_syn"]


@pytest.mark.skipif("uice-sem" not in installed_checkpoints(), reason="capeval-models without UICE is installed")
def test_explain_shows_both_parts(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (64, 64), "green").save(tmp_path / "grass.png")
    done = run("explain", "uice", "two dogs on the green grass", "--image", tmp_path / "grass.png")
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.output.splitlines() if line.startswith("uice")] == [
        "uice", "uice_sem", "uice_syn",  # the whole, and a line for each part
        "uice_sem", "uice_sem", "uice_syn(style=photo)", "uice_syn",  # then each part under its name
    ]  # fmt: skip
    assert "what it adds" in done.output
    assert "█" in done.output


def test_a_corpus_is_for_models_that_learn_a_style(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "c.txt").write_text("a dog runs on grass\n")
    done = run("train", "lece", "--corpus", tmp_path / "c.txt", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "learns from no corpus" in done.output
