"""Scoring runs that are killed go on, and give the same bytes: a few of the kills that tools/kill_stream.py can do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
TOOL = Path(__file__).resolve().parents[2] / "tools" / "kill_stream.py"


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="runs are forks")
def test_kills_at_random_moments_change_no_byte(tmp_path: Path) -> None:
    line = [sys.executable, str(TOOL), "--kills", "12", "--folder", str(tmp_path / "kills"), "--seed", "3"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 kills over" in done.stdout
