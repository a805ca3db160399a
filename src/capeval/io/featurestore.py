"""The feature store: one file of picture features that is memory-mapped and grows block by block.

A header of 4,096 bytes, then blocks of 64 rows. A block is a column of ids, one of content hashes, one of vectors, and
where wanted one of regions. The header's row count is raised after the rows are on disk, so a process that is killed
leaves a store with all rows but its last ones. docs/feature-store.md tells every byte.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.io.files import PathLike

MAGIC = b"CAPEVALF"
VERSION = 1
HEADER = 4096
BLOCK = 64
ID_BYTES = 256
HASH_BYTES = 16
_COUNT = struct.Struct("<Q")
_COUNT_AT = 16
_START = struct.Struct("<8sII")  # magic, version, length of the description
_MOST = 1 << 24  # of numbers a picture; more is no feature

Floats = npt.NDArray[np.float32]


class DamagedStore(DataError):
    """What is there is no feature store, or not all of one. Never said of a newer format, nor where reading failed."""


@dataclass(frozen=True)
class Layout:
    """What each row of a store holds."""

    encoder: str
    dim: int
    regions: int = 0
    """How many a picture has; 0 for none."""
    boxes: tuple[tuple[float, ...], ...] = ()
    """The place of each region, the same for every picture: x0, y0, x1, y1."""

    @cached_property
    def block(self) -> np.dtype[Any]:
        columns: list[tuple[Any, ...]] = [
            ("id", f"S{ID_BYTES}", (BLOCK,)),
            ("hash", "u1", (BLOCK, HASH_BYTES)),
            ("vector", "<f2", (BLOCK, self.dim)),
        ]
        if self.regions:
            columns.append(("regions", "<f2", (BLOCK, self.regions, self.dim)))
        return np.dtype(columns)

    def size(self, rows: int) -> int:
        """Of the file, in bytes."""
        return HEADER + -(-rows // BLOCK) * self.block.itemsize


def is_store(path: PathLike) -> bool:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(stream: IO[bytes], name: str) -> tuple[Layout, int]:
    """The layout of a store and how many rows it has; a file that is no store, or not all of it, is refused."""
    stream.seek(0)
    head = stream.read(HEADER)
    if not head.startswith(MAGIC):
        raise DamagedStore("this is not a feature store; `capeval features` makes one", file=name)
    if len(head) < HEADER:
        raise DamagedStore("the feature store is truncated: make it again", file=name)
    _, version, length = _START.unpack_from(head)
    if version != VERSION:
        newer = "Update capeval, or give it another cache" if version > VERSION else "Make it again"
        raise DataError(
            f"the feature store has format {version}; this capeval reads format {VERSION}. {newer}", file=name
        )
    start = _COUNT_AT + _COUNT.size
    try:
        layout = _layout(json.loads(head[start : start + length].decode()))
    except (ValueError, TypeError, KeyError):
        raise DamagedStore("the header of the feature store is damaged: make it again", file=name) from None
    (rows,) = _COUNT.unpack_from(head, _COUNT_AT)
    size = stream.seek(0, os.SEEK_END)
    if rows > size or size < layout.size(rows):
        raise DamagedStore(
            f"the feature store is truncated: {size:,} bytes for {rows:,} rows. Make it again", file=name
        )
    return layout, rows


def _layout(found: dict[str, Any]) -> Layout:
    boxes = tuple(tuple(float(value) for value in box) for box in found["boxes"])
    layout = Layout(str(found["encoder"]), int(found["dim"]), int(found["regions"]), boxes)
    sane = 0 < layout.dim <= _MOST and layout.regions >= 0 and layout.regions * layout.dim <= _MOST
    if not sane or (boxes and (len(boxes) != layout.regions or {len(box) for box in boxes} != {4})):
        raise ValueError("sizes that cannot be")
    return layout


class Store:
    """A store to read from: its rows are looked up by id and come from the memory map."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as stream:
                self.layout, self.rows = read_header(stream, str(path))
        except OSError as problem:
            raise DataError(f"cannot be read: {problem.strerror}", file=str(path)) from problem
        blocks = -(-self.rows // BLOCK)
        kind = self.layout.block
        self._blocks: Any = (
            np.memmap(self.path, kind, "r", HEADER, (blocks,)) if blocks else np.empty(0, kind)
        )  # an empty file part cannot be mapped

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each id; a later row with the same id replaces an earlier one."""
        try:
            return {raw.decode(): row for row, raw in enumerate(self._column("id").tolist())}
        except UnicodeDecodeError:
            raise DamagedStore("the feature store is damaged: make it again", file=str(self.path)) from None

    @cached_property
    def hashes(self) -> dict[str, bytes]:
        """The content hash of each id's picture."""
        column = np.ascontiguousarray(self._column("hash"))
        return {key: column[row].tobytes() for key, row in self.place.items()}

    def _column(self, name: str) -> Any:
        column = self._blocks[name]
        return column.reshape(-1, *column.shape[2:])[: self.rows]

    def read(self, column: str, rows: npt.NDArray[np.intp]) -> Floats:
        block, offset = np.divmod(rows, BLOCK)
        return np.asarray(self._blocks[column][block, offset], np.float32)


def set_aside(path: Path) -> Path | None:
    """Gives a damaged store another name, once no other process writes to it; None if it turns out to be fine."""
    try:
        stream = path.open("r+b")
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise DataError(f"cannot be opened: {problem.strerror}", file=str(path)) from problem
    with stream:
        lock(stream, str(path), wait=True)
        if not _is_still(stream, path):
            return None
        try:
            Store(path).place  # noqa: B018  (reads the header and all ids)
        except DamagedStore:
            free = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
            aside = next(name for name in free if not name.exists())
            os.replace(path, aside)
            return aside
    return None


def lock(stream: IO[bytes], name: str, *, wait: bool) -> None:
    """For this process alone, until the stream is closed."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataError("another process is writing to this store; wait for it", file=name) from None
    except OSError:  # some network file systems have no locks
        return


def _is_still(stream: IO[bytes], path: Path) -> bool:
    """Whether the file of that name is the one that was opened: it may have been set aside since."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


class StoreWriter:
    """Adds rows to a store; `with` closes the file.

    Only one process may write to a store at a time: others are refused, or wait where they are told to.
    """

    def __init__(self, path: PathLike, layout: Layout, *, wait: bool = False) -> None:
        self.path = Path(path)
        self._stream = self._open(wait)
        try:
            if self._stream.seek(0, os.SEEK_END) < HEADER and not is_store(path):
                self._begin(layout)
            self.layout, self.rows = read_header(self._stream, str(path))
            _refuse_other(self.layout, layout, str(path))
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _open(self, wait: bool) -> IO[bytes]:
        """The file, locked. While it was waited for it may have been set aside: then the new one is opened."""
        while True:
            try:
                stream = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
            except OSError as problem:
                raise DataError(f"cannot be written: {problem.strerror}", file=str(self.path)) from problem
            try:
                lock(stream, str(self.path), wait=wait)
                if _is_still(stream, self.path):
                    return stream
            except BaseException:
                stream.close()
                raise
            stream.close()

    def _begin(self, layout: Layout) -> None:
        if self._stream.seek(0, os.SEEK_END):
            raise DataError("this file is not a feature store and is not overwritten", file=str(self.path))
        text = json.dumps(asdict(layout), separators=(",", ":")).encode()
        head = _START.pack(MAGIC, VERSION, len(text)) + _COUNT.pack(0) + text
        if len(head) > HEADER:
            raise DataError("the description of the encoder is too long", file=str(self.path))
        self._stream.write(head.ljust(HEADER, b"\0"))

    def add(
        self, ids: Sequence[str], hashes: Sequence[bytes], vectors: Floats, regions: npt.NDArray[Any] | None = None
    ) -> None:
        """Rows for pictures; on disk when this returns."""
        columns: dict[str, npt.NDArray[Any]] = {
            "id": np.array([_id_bytes(each, str(self.path)) for each in ids], f"S{ID_BYTES}"),
            "hash": np.frombuffer(b"".join(hashes), np.uint8).reshape(len(ids), HASH_BYTES),
            "vector": vectors.astype("<f2"),
        }
        if self.layout.regions:
            if regions is None:
                raise ValueError("this store wants regions")
            columns["regions"] = regions.astype("<f2")
        done = 0
        while done < len(ids):
            block, offset = divmod(self.rows + done, BLOCK)
            part = min(BLOCK - offset, len(ids) - done)
            self._write(block, offset, {name: each[done : done + part] for name, each in columns.items()})
            done += part
        os.fsync(self._stream.fileno())
        self.rows += len(ids)
        self._stream.seek(_COUNT_AT)
        self._stream.write(_COUNT.pack(self.rows))

    def _write(self, block: int, offset: int, columns: dict[str, npt.NDArray[Any]]) -> None:
        kind = self.layout.block
        self._stream.truncate(HEADER + (block + 1) * kind.itemsize)  # also drops what a killed process left
        for name, values in columns.items():
            start = HEADER + block * kind.itemsize + kind.fields[name][1]  # type: ignore[index]
            self._stream.seek(start + offset * values[:1].nbytes)
            _write_all(self._stream, memoryview(values.tobytes()), str(self.path))


def _write_all(stream: IO[bytes], data: memoryview, name: str) -> None:
    while data:
        try:
            data = data[stream.write(data) :]
        except OSError as problem:
            raise DataError(f"cannot be written: {problem.strerror}", file=name) from problem


def _id_bytes(key: str, name: str) -> bytes:
    raw = key.encode(errors="surrogateescape")
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise DataError(f"the id {key!r} is not UTF-8; rename the file", file=name) from None
    if not raw or len(raw) > ID_BYTES or b"\0" in raw:
        raise DataError(f"the id {key[:40]!r} must have from 1 to {ID_BYTES} bytes and no zero byte", file=name)
    return raw


def _refuse_other(there: Layout, wanted: Layout, name: str) -> None:
    if there.encoder != wanted.encoder or there.dim != wanted.dim:
        raise DataError(
            f"the store was made by encoder {there.encoder}, not by {wanted.encoder}. Write to another file", file=name
        )
    if there.regions != wanted.regions:
        has = "regions" if there.regions else "no regions"
        raise DataError(f"the store has {has}, which is not what is asked for. Write to another file", file=name)
