"""Files beside the result: one that cannot be written costs nobody the result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    captions = {str(i): f"a dog number {i}" for i in range(400)}
    (tmp_path / "c.json").write_text(json.dumps(captions))
    (tmp_path / "r.json").write_text(json.dumps({key: [text, "a dog"] for key, text in captions.items()}))
    return tmp_path


def score(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "capeval", "score", "c.json", "-r", "r.json", "-m", "rouge_l", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("option", ["--json", "--per-caption"])
def test_a_full_disk_leaves_the_table(folder: Path, option: str) -> None:
    done = score(folder, option, "/dev/full", "--format", "json")
    assert json.loads(done.stdout)["scores"]["rouge_l"] > 0.5
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (
        1,
        "Error: /dev/full: cannot be written: No space left on device",
    )


def test_an_ending_that_says_nothing_is_noted(folder: Path) -> None:
    done = score(folder, "--per-caption", "x.docx")
    assert "x.docx: .docx is no format of ours, so it becomes JSONL" in done.stderr
    assert json.loads((folder / "x.docx").read_text().splitlines()[0])["id"] == "0"
    assert "no format of ours" not in score(folder, "--per-caption", "x.csv.gz").stderr


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout on this system")
def test_rows_into_a_pipe_that_closes(folder: Path) -> None:
    command = f"{sys.executable} -m capeval score c.json -r r.json -m rouge_l --per-caption /dev/stdout | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["id"] == "0"
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr
