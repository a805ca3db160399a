"""Files by path or address (`s3://bucket/shard.parquet`) through pyarrow's file systems, written whole or not at all.

A file is written under another name and moved when it is complete. Where moving is not one step, as on S3, its target
still appears at once.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DataError
from capeval.io.files import import_pyarrow
from capeval.types import Array

TEMPORARY = ".capeval-tmp"


class CannotWrite(DataError):
    """The disk is full, or the place may not be written: no shard can be, so all work stops."""


def is_address(path: str) -> bool:
    return "://" in path


def without_query(path: str) -> str:
    """An address may say behind a question mark how its server is reached: `?region=...&endpoint_override=...`."""
    return path.partition("?")[0] if is_address(path) else path


def below(folder: str, name: str) -> str:
    """The path or address of a file in a folder."""
    start = without_query(folder)
    return f"{start.rstrip('/')}/{name}{folder[len(start) :]}"


def file_system(path: str) -> tuple[Any, str]:
    """Who holds it, and its path there."""
    import_pyarrow()
    from pyarrow import fs

    if not is_address(path):
        return fs.LocalFileSystem(), os.path.abspath(path)
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    except Exception as problem:  # each file system has errors of its own
        raise DataError(f"cannot be opened: {problem}", file=path) from problem


def open_input(path: str) -> Any:
    """A file to read, with `seek`."""
    system, place = file_system(path)
    try:
        return system.open_input_file(place)
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except OSError as problem:
        raise DataError(f"cannot be read: {problem.strerror or problem}", file=path) from problem


def facts_of(path: str) -> list[int] | None:
    """Size, and time of the last change in nanoseconds; None where there is no such file."""
    system, place = file_system(path)
    info = system.get_file_info(place)
    return [int(info.size), int(info.mtime_ns or 0)] if info.is_file else None


def expanded(path: str) -> list[str]:
    """The files in a folder, or that a pattern at an address names, in the order of their names; else the path."""
    from fnmatch import fnmatchcase

    from pyarrow import fs

    system, place = file_system(path)
    pattern = ""
    if not is_address(path) and not os.path.exists(path) and any(sign in path for sign in "*?["):
        return sorted(glob.glob(path))  # where no shell has done so
    if is_address(path) and any(sign in place for sign in "*["):
        place, _, pattern = place.rpartition("/")
    elif system.get_file_info(place).type != fs.FileType.Directory:
        return [path]
    start = path.replace(f"/{pattern}", "") if pattern else path
    try:
        names = [info.base_name for info in system.get_file_info(fs.FileSelector(place)) if info.is_file]
    except OSError as problem:
        raise DataError(f"cannot be read: {problem}", file=path) from problem
    wanted = [name for name in names if (fnmatchcase(name, pattern) if pattern else not name.startswith((".", "_")))]
    return [below(start, name) for name in sorted(wanted)]


class Writing(io.RawIOBase):
    """What goes into a file, counted and hashed."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._hash, self.size = stream, hashlib.sha256(), 0
        self._given_up = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._given_up:
            return len(view)
        self._stream.write(view)
        self._hash.update(view)
        self.size += len(view)
        return len(view)

    def tell(self) -> int:
        return self.size

    def give_up(self) -> None:
        """The file is not to be: what writers still want to say when they are closed is lost."""
        self._given_up = True

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


class Folder:
    """A folder that files are written into."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._system, self._place = file_system(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return Folder, (self.path,)

    def make(self) -> None:
        with self._explained(self.path):
            self._system.create_dir(self._place, recursive=True)

    def inside(self, name: str) -> Folder:
        return Folder(below(self.path, name))

    def facts(self, name: str) -> list[int] | None:
        return facts_of(below(self.path, name))

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        """A stream to a file that appears whole or not at all."""
        target = f"{self._place}/{name}"
        temporary = f"{self._place}/.{name}.{os.getpid()}-{os.urandom(3).hex()}{TEMPORARY}"
        with self._explained(below(self.path, name)):
            stream = self._system.open_output_stream(temporary)
            try:
                with stream:
                    yield Writing(stream)
                self._system.move(temporary, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._system.delete_file(temporary)
                raise

    def write_json(self, name: str, data: Any) -> None:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
        with self.writing(name) as stream:
            stream.write(text.encode() + b"\n")

    def read_json(self, name: str) -> Any:
        """None where there is none, or none that can be read."""
        with contextlib.suppress(OSError, ValueError), self._system.open_input_file(f"{self._place}/{name}") as stream:
            return json.loads(stream.read())
        return None

    def write_array(self, name: str, array: np.ndarray[Any, Any]) -> None:
        with self.writing(name) as stream:
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)

    def read_array(self, name: str) -> np.ndarray[Any, Any]:
        """Mapped into memory where the file is on this machine, so that it need not fit."""
        from pyarrow import fs

        if isinstance(self._system, fs.LocalFileSystem):
            found: np.ndarray[Any, Any] = np.load(f"{self._place}/{name}", mmap_mode="r", allow_pickle=False)
            return found
        with self._system.open_input_file(f"{self._place}/{name}") as stream:
            return np.lib.format.read_array(io.BytesIO(stream.read()), allow_pickle=False)

    def read_rows(self, name: str, width: int) -> Array:
        """Rows of so many numbers, as `<f8`, one after the other; mapped into memory where that can be."""
        from pyarrow import fs

        if not (self.facts(name) or [0])[0]:
            return np.empty((0, width))
        if isinstance(self._system, fs.LocalFileSystem):
            return np.memmap(f"{self._place}/{name}", "<f8", "r").reshape(-1, width)
        with self._system.open_input_file(f"{self._place}/{name}") as stream:
            return np.frombuffer(stream.read(), "<f8").reshape(-1, width)

    @contextmanager
    def local(self, name: str) -> Iterator[str]:
        """A file of this machine with the content of one of this folder's."""
        from pyarrow import fs

        if isinstance(self._system, fs.LocalFileSystem):
            yield f"{self._place}/{name}"
            return
        with tempfile.TemporaryDirectory() as place, self._system.open_input_file(f"{self._place}/{name}") as stream:
            Path(place, name).write_bytes(stream.read())
            yield str(Path(place, name))

    def delete(self, name: str) -> None:
        with contextlib.suppress(OSError):
            self._system.delete_file(f"{self._place}/{name}")

    def remove_leftovers(self) -> None:
        """Of runs that were killed."""
        from pyarrow import fs

        for info in self._system.get_file_info(fs.FileSelector(self._place, allow_not_found=True)):
            if info.base_name.endswith(TEMPORARY):
                self.delete(info.base_name)

    @contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            why = problem.strerror or str(problem).splitlines()[0]
            raise CannotWrite(f"cannot be written: {why}", file=path) from problem
