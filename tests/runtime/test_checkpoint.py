"""Checkpoints as scoring reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.errors import CheckpointError, Unavailable, UnknownName
from capeval.io.cache import sha256_of
from capeval.run import Run
from capeval.runtime.checkpoint import CONFIG, PROBE, installed_checkpoints, open_checkpoint, read_probe


def write(folder: Path, **changes: Any) -> Path:
    (folder / "words.txt").write_bytes(b"a\nb\n")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(folder / PROBE, **{"input.x": x, "output.y": x.sum(1)})
    files = {name: sha256_of(folder / name) for name in ("words.txt", PROBE)}
    content = {"format": 1, "model": "toy", "config": {"width": 2}, "facts": {"encoder": "e"}, "files": files}
    content = {name: value for name, value in (content | changes).items() if value is not None}
    (folder / CONFIG).write_text(json.dumps(content))
    return folder


def right(inputs: Any) -> dict[str, Any]:
    return {"y": inputs["x"].sum(1)}


def test_a_good_one(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write(tmp_path), "toy")
    assert checkpoint.config == {"width": 2}
    assert checkpoint.facts == {"encoder": "e"}
    assert checkpoint.path("words.txt").read_bytes() == b"a\nb\n"
    checkpoint.check_probe(right)


def test_the_digest_goes_by_what_decides_scores(tmp_path: Path) -> None:
    digest = open_checkpoint(write(tmp_path), "toy").digest
    assert digest == open_checkpoint(write(tmp_path, facts={"encoder": "other"}), "toy").digest
    assert digest != open_checkpoint(write(tmp_path, config={"width": 3}), "toy").digest


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda inputs: {"y": inputs["x"].sum(1) + 0.01}, "differs by 0.01"),
        (lambda inputs: {"y": inputs["x"].sum(1) * np.nan}, "differs by nan"),
        (lambda inputs: {"y": inputs["x"]}, "form of its probe"),
        (lambda inputs: {"z": inputs["x"].sum(1)}, "form of its probe"),
    ],
)
def test_outputs_that_are_not_those_of_the_probe(run: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=message):
        open_checkpoint(write(tmp_path), "toy").check_probe(run)


def test_a_damaged_file(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "words.txt").write_bytes(b"a\nc\n")
    with pytest.raises(CheckpointError, match=r"words\.txt: damaged"):
        open_checkpoint(tmp_path, "toy")
    (tmp_path / "words.txt").unlink()
    with pytest.raises(CheckpointError, match=r"words\.txt is missing"):
        open_checkpoint(tmp_path, "toy")


def test_a_file_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.txt").write_bytes(b"x")
    write(tmp_path / "in", files={"../out.txt": sha256_of(tmp_path / "out.txt")})
    with pytest.raises(CheckpointError, match="missing"):
        open_checkpoint(tmp_path / "in", "toy")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": None}, "training of toy has not finished.*capeval train"),
        ({"model": "other"}, "a checkpoint of 'other', not of 'toy'"),
        ({"format": 99}, "format 99"),
        ({"config": None}, "not the config of a checkpoint"),
    ],
)
def test_configs_that_do_not_fit(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=message):
        open_checkpoint(write(tmp_path, **changes), "toy")


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint is here"):
        open_checkpoint(tmp_path, "toy")
    (tmp_path / CONFIG).write_text("{")
    with pytest.raises(CheckpointError, match="damaged"):
        open_checkpoint(tmp_path, "toy")
    with pytest.raises(UnknownName, match="checkpoint"):
        open_checkpoint("captionr", "captioner")


def test_a_file_that_is_not_of_the_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there is no model\.onnx"):
        open_checkpoint(write(tmp_path), "toy").path("model.onnx")


@pytest.mark.parametrize("data", [b"", b"PK nonsense"])
def test_a_damaged_probe(data: bytes, tmp_path: Path) -> None:
    (tmp_path / PROBE).write_bytes(data)
    with pytest.raises(CheckpointError, match="probe cannot be read"):
        read_probe(tmp_path / PROBE)


def test_a_probe_with_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / PROBE, **{"input.x": np.array([{}], object), "output.y": np.zeros(1)})
    with pytest.raises(CheckpointError, match="probe cannot be read"):
        read_probe(tmp_path / PROBE)


@pytest.mark.parametrize("name", ["captioner", "lece", "lece-rc", "lece-reference"])
def test_our_own_are_whole(name: str) -> None:
    """Opening checks the hash of every file."""
    if name not in installed_checkpoints():
        pytest.skip("capeval-models is not installed")
    folder = installed_checkpoints()[name]
    model = json.loads((folder / CONFIG).read_text())["model"]
    checkpoint = open_checkpoint(name, model)
    assert {PROBE, "log.jsonl"} <= checkpoint.files.keys()
    assert all(path.stat().st_size < 25_000_000 for path in folder.iterdir())


def test_one_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine")
    monkeypatch.setenv("CAPEVAL_ASSETS", str(tmp_path))
    assert open_checkpoint("mine", "toy").folder == tmp_path / "mine"


def test_our_own_where_they_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of that name is not taken for it: `lece` means the critique whose scores were published."""
    monkeypatch.setattr("capeval.io.assets._companions", list)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lece").mkdir()
    write(tmp_path / "lece")
    with pytest.raises(Unavailable, match=r"pip install .*\[learned\]"):
        open_checkpoint("lece", "lece", Run(cache=tmp_path / "cache"))
