"""Locks between processes, and file systems that have none."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import filelock
import pytest

from capeval.errors import CapevalError, DataError
from capeval.io.cache import built_once
from capeval.io.locks import locked
from capeval.run import Run

HOLDS = """
import sys, time
from pathlib import Path
from capeval.io.locks import locked

with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path / "x"], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    with child.stdout as lines:
        assert lines.readline() == "locked\n"
        with pytest.raises(DataError, match="another process"), locked(tmp_path / "x", wait=False):
            pass
        child.kill()
        child.wait()
    with locked(tmp_path / "x") as is_locked:
        assert is_locked


@pytest.mark.parametrize("problem", [OSError(errno.ENOLCK, "no locks"), NotImplementedError()])
def test_where_there_are_no_locks_the_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise problem

    monkeypatch.setattr(filelock.FileLock, "acquire", fail)
    with locked(tmp_path / "x") as is_locked:
        assert not is_locked
    built_once(tmp_path / "file", Path.is_file, lambda stream: None)
    assert (tmp_path / "file").is_file()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"), locked(tmp_path / "file" / "x"):
        pass


def test_the_size_of_the_feature_cache_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Run().feature_cache_bytes == 8_000_000_000
    monkeypatch.setenv("CAPEVAL_FEATURE_CACHE_GB", "0.5")
    assert Run().feature_cache_bytes == 500_000_000
    monkeypatch.setenv("CAPEVAL_FEATURE_CACHE_GB", "much")
    with pytest.raises(CapevalError, match="CAPEVAL_FEATURE_CACHE_GB is 'much'"):
        Run()
