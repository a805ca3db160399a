"""`capeval features` as people call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from capeval.io.features import open_features

pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")


def capeval(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", "from capeval.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures" / "more").mkdir(parents=True)
    for i, name in enumerate(["a.png", "b.webp", "more/c.jpg"]):
        pixels = np.random.default_rng(i).integers(0, 256, (30, 20, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pictures" / name)
    return tmp_path / "pictures"


def test_a_store_is_made_and_grows(folder: Path, tmp_path: Path) -> None:
    done = capeval("features", folder, "-o", tmp_path / "x.features", "--regions")
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 pictures added\n" in done.stderr
    assert open_features(tmp_path / "x.features").regions(["c.jpg", "a"]).shape == (2, 64, 384)
    Image.new("RGB", (5, 5)).save(folder / "d.png")
    done = capeval("features", folder, "-o", tmp_path / "x.features", "--regions")
    assert "1 pictures added, 3 were there already" in done.stderr
    done = capeval("features", folder, "-o", tmp_path / "x.features")
    assert done.returncode == 1
    assert "the store has regions" in done.stderr


def test_bad_pictures(folder: Path, tmp_path: Path) -> None:
    (folder / "bad.jpg").write_bytes(b"GIF89a and then nothing")
    done = capeval("features", folder, "-o", tmp_path / "x.features")
    assert done.returncode == 1
    assert "bad.jpg" in done.stderr
    assert "--on-error skip" in done.stderr
    assert "Traceback" not in done.stderr
    done = capeval("features", folder, "-o", tmp_path / "x.features", "--on-error", "skip")
    assert done.returncode == 0
    assert "left out: " in done.stderr
    assert ", 1 left out" in done.stderr
    assert open_features(tmp_path / "x.features").ids == ["a", "b", "c"]


def test_only_bad_pictures_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "bad.jpg").write_bytes(b"no")
    done = capeval("features", tmp_path / "pictures", "-o", tmp_path / "x", "--on-error", "skip")
    assert done.returncode == 1
    assert "none of the pictures" in done.stderr


def test_wrong_usage(folder: Path, tmp_path: Path) -> None:
    assert capeval("features", folder).returncode == 2
    done = capeval("features", folder, "-o", tmp_path / "x", "--encoder", "lite00")
    assert done.returncode == 1
    assert "Did you mean lite0?" in done.stderr
    assert capeval("features", tmp_path / "none", "-o", tmp_path / "x").returncode == 1


def test_help_has_examples() -> None:
    assert "capeval features photos/ -o photos.features" in capeval("features", "--help").stdout
