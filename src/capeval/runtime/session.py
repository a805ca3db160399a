"""ONNX Runtime, opened in one place: on the CPU, without chatter, the same numbers on every run."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from capeval.errors import DataError, MissingExtra
from capeval.io.files import PathLike

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

LARGEST = 1 << 31
"""Bytes; ONNX files cannot be larger, so such a file is something else."""
_ERRORS_ONLY = 3


def open_session(source: PathLike | bytes, threads: int = 1, *, sha256: str = "") -> InferenceSession:
    """A model file, or its bytes, ready to run. With `sha256`, a file that has another one is refused.

    Any number of Python threads may call the session's `run` at once.
    """
    # Before it is loaded: else it keeps a number of this machine in the user's cache, and tells its makers of itself.
    for variable in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):  # the name was another for a while
        os.environ.setdefault(variable, "1")
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("Running models", "learned") from None
    name = "the model" if isinstance(source, bytes) else str(source)
    data = source if isinstance(source, bytes) else read_model(source)
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise DataError("this is not the file it should be (its checksum differs). Install or copy it again", file=name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    options.use_deterministic_compute = True
    # Waiting threads sleep: spinning ones take the cores from those that decode pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # ONNX Runtime has no common base for what it raises
        raise DataError(f"this is not a model that can be opened: {_first_line(problem)}", file=name) from problem


def read_model(path: PathLike) -> bytes:
    """The bytes of a model file."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise DataError("this is too large for an ONNX file", file=str(path))
        return Path(path).read_bytes()
    except OSError as problem:
        raise DataError(f"cannot be read: {problem.strerror}", file=str(path)) from problem


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n")[0][:300]
