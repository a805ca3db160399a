"""The cache of features under fire: many processes that are killed at random."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STRESS = Path(__file__).with_name("stress_featurecache.py")


# About 30 seconds: the longest tests of this room.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")
@pytest.mark.parametrize("options", [["--kills", "200"], ["--kills", "50", "--limit", "1000000"]])
def test_twenty_processes_that_are_killed_at_random(tmp_path: Path, options: list[str]) -> None:
    """Never a wrong vector, never a lost store."""
    done = subprocess.run(
        [sys.executable, STRESS, tmp_path / "cache", *options],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # who forks should have one thread
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert " kills in " in done.stdout
