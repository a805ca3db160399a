"""ONNX Runtime keeps to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from capeval.errors import DataError
from capeval.runtime.session import open_session
try:
    open_session(b"no model")
except DataError as problem:
    print(problem)
"""


def test_nothing_is_left_in_the_home_of_the_user(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    # On servers that build and test it is silent by itself, so those are not told of here.
    known = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "LOCALAPPDATA")}
    environment = {name: os.environ[name] for name in known if name in os.environ} | home
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "not a model that can be opened" in done.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
