"""The user's cache directory: files that are built once and shared by all processes.

A file is published by renaming a finished one, so a process that is killed leaves nothing that looks like a result.
A lock only saves work: where the system has none, several processes build the same file and the last one stays.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from capeval.errors import CapevalError, DataError
from capeval.io.files import writing
from capeval.io.locks import locked

ADVICE = "Set CAPEVAL_CACHE to a directory that can be written"


def built_once(path: Path, is_good: Callable[[Path], bool], build: Callable[[IO[bytes]], None]) -> Path:
    """The file at `path`, built if it is missing or damaged. Of several processes one builds, the others wait."""
    if is_good(path):
        return path
    make_directory(path.parent)
    with locked(path, advice=f". {ADVICE}") as is_alone:
        if is_good(path):
            return path
        if is_alone:
            _remove_leftovers(path)
        with writing(path) as stream:
            build(stream)
            stream.flush()
            os.fsync(stream.fileno())
    if not is_good(path):
        raise CapevalError(f"{path} could not be read back after it was written. Is the disk full or broken?")
    return path


def remembered(path: Path, question: str, answer: Callable[[Path], str], cache: Path) -> str:
    """What `answer` says about a file's content; asked again only when the file's size or time has changed."""
    status = path.stat()
    key = f"{question}\n{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{status.st_ino}"
    note = cache / "known" / hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:32]
    with suppress(OSError, ValueError):
        text = note.read_text(encoding="ascii")
        if text.endswith("\n"):
            return text[:-1]
    text = answer(path)
    # Only a convenience: where it cannot be written, the question is asked again.
    with suppress(OSError, CapevalError):
        note.parent.mkdir(parents=True, exist_ok=True)
        with writing(note) as stream:
            stream.write(f"{text}\n".encode("ascii"))
    return text


def sha256_of(path: Path, *, without_last: int = 0) -> str:
    """The sha256 of a file, in hexadecimal, without its last bytes where asked."""
    digest, left = hashlib.sha256(), path.stat().st_size - without_last
    with path.open("rb") as stream:
        while left > 0 and (block := stream.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}. {ADVICE}", file=str(path)) from error


def _remove_leftovers(path: Path) -> None:
    """Half-written files of processes that were killed; the lock says that none of them is still alive."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            leftover.unlink()
