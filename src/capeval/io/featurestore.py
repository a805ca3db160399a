"""The feature store: one SQLite file of picture features, by the picture's content, encoder and kind of feature.

SQLite takes several writers at once and survives a kill at any moment. Between two transactions a store is one file
that can be copied anywhere. docs/feature-store.md describes the tables.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.io.files import PathLike

FORMAT = 2
HASH_BYTES = 16
KINDS: dict[str, np.dtype[Any]] = {"vector": np.dtype("<f2"), "regions": np.dtype("<f2"), "boxes": np.dtype("<f4")}
"""What there is of a picture, and the numbers it is kept in."""
BLOCK = 64
"""Pictures that are written together: each transaction waits for the disk."""

_SCHEMA = (
    "CREATE TABLE images (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL)",
    "CREATE TABLE features (number INTEGER PRIMARY KEY, hash BLOB NOT NULL, encoder TEXT NOT NULL, kind TEXT NOT NULL, "
    "height INTEGER NOT NULL, width INTEGER NOT NULL, checksum INTEGER NOT NULL, UNIQUE (hash, encoder, kind))",
    # Apart from their description, which is looked through without touching gigabytes of numbers.
    "CREATE TABLE numbers (number INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)
_SQLITE, _FORMAT_1 = b"SQLite format 3\0", b"CAPEVALF"
_MARK = b"CapF"  # SQLite's "application id", which says whose file it is
_PAGE = 1 << 14  # quickest for rows of 2 to 128 kB, among 4 to 32 kB
_ID_BYTES = 256
_ASKED_AT_ONCE = {"vector": 500, "regions": 32, "boxes": 500}
_PATIENCE = 120.0  # seconds, while another process commits
_NO_LOCKS = ("disk I/O error", "locking protocol")
_DAMAGE = ("no such table", "no such column", "Could not decode", "malformed", "unsupported file format")

Numbers = npt.NDArray[Any]


class DamagedStore(DataError):
    """What is there is no feature store, or not all of one. Never said of a newer format, nor where reading failed."""


class Encoded(NamedTuple):
    """The features of one picture; a store keeps those that are there."""

    hash: bytes
    """Of the picture's file."""
    vector: Numbers | None = None
    """[d]"""
    regions: Numbers | None = None
    """[n, d]; pictures may have different numbers of regions."""
    boxes: Numbers | None = None
    """[n, 4]: where each region is."""

    def parts(self) -> Iterator[tuple[str, Numbers]]:
        for kind, values in zip(KINDS, self[1:], strict=True):
            if values is not None:
                yield kind, np.atleast_2d(values).astype(KINDS[kind])


def is_store(path: PathLike) -> bool:
    """Whether a file says that it is a feature store, of whatever format."""
    head = _head(Path(path))
    return head.startswith(_FORMAT_1) or (head.startswith(_SQLITE) and head[68:72] == _MARK)


class Store:
    """A feature store. Each call opens the file anew, so any thread may make it, and no file stays locked."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with _explained(self.path), closing(_connect(self.path, "rw")) as connection:
            _check(connection, self.path)
            # SQLite itself takes the missing end of the last page for zeros.
            if self.path.stat().st_size < _pragma(connection, "page_count") * _pragma(connection, "page_size"):
                raise _damaged(self.path)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is kept, on disk, or nothing. A store that is not there yet is begun."""
        with _explained(self.path), closing(_connect(self.path, "rwc")) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE}")  # only a new file heeds it
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                    _begin(connection)
                _check(connection, self.path)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def images(self) -> dict[str, bytes]:
        """The hash of each image's picture, in the order in which they were added."""
        with self.reading() as connection:
            found = dict(connection.execute("SELECT id, hash FROM images ORDER BY place").fetchall())
        if not all(isinstance(each, bytes) for each in found.values()):
            raise _damaged(self.path)
        return found

    def encoders(self) -> list[str]:
        """Who made the features."""
        with self.reading() as connection:
            return [name for (name,) in connection.execute("SELECT DISTINCT encoder FROM features ORDER BY 1")]

    def sizes(self, encoder: str, kind: str) -> list[tuple[int, int]]:
        """The heights and widths that a kind of feature has."""
        asked = "SELECT DISTINCT height, width FROM features WHERE encoder = ? AND kind = ? ORDER BY 1, 2"
        with self.reading() as connection:
            return connection.execute(asked, (encoder, kind)).fetchall()

    def hashes(self, encoder: str, kind: str) -> set[bytes]:
        """The pictures whose features there are."""
        asked = "SELECT hash FROM features WHERE encoder = ? AND kind = ?"
        with self.reading() as connection:
            return {found for (found,) in connection.execute(asked, (encoder, kind))}

    def read(self, encoder: str, kind: str, hashes: Iterable[bytes]) -> dict[bytes, Numbers]:
        """Of those pictures that are there, [height, width] each, in the store's precision."""
        distinct, step = list(dict.fromkeys(hashes)), _ASKED_AT_ONCE[kind]
        found: dict[bytes, Numbers] = {}
        with self.reading() as connection:
            for start in range(0, len(distinct), step):
                some = distinct[start : start + step]
                rows = connection.execute(
                    "SELECT hash, height, width, checksum, data FROM features JOIN numbers USING (number) "
                    f"WHERE hash IN ({','.join('?' * len(some))}) AND encoder = ? AND kind = ?",
                    (*some, encoder, kind),
                )
                for digest, *facts in rows.fetchall():  # at once: a writer waits for those who are reading
                    found[digest] = self._numbers(kind, *facts)
        return found

    def _numbers(self, kind: str, height: int, width: int, checksum: int, data: bytes) -> Numbers:
        if len(data) != height * width * KINDS[kind].itemsize or zlib.crc32(data) != checksum:
            raise _damaged(self.path)
        return np.frombuffer(data, KINDS[kind]).reshape(height, width)

    def add(self, encoder: str, pictures: Iterable[Encoded], images: Mapping[str, bytes] | None = None) -> None:
        """On disk when this returns. What the store has of a picture stays; an image may get another picture."""
        for image in images or ():
            _check_id(image, str(self.path))
        with self.writing() as connection:
            insert(connection, encoder, pictures)
            connection.executemany(
                "INSERT INTO images (id, hash) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash",
                (images or {}).items(),
            )


def insert(connection: sqlite3.Connection, encoder: str, pictures: Iterable[Encoded]) -> None:
    for picture in pictures:
        for kind, values in picture.parts():
            data = values.tobytes()
            done = connection.execute(
                "INSERT OR IGNORE INTO features (hash, encoder, kind, height, width, checksum) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (picture.hash, encoder, kind, *values.shape, zlib.crc32(data)),
            )
            if done.rowcount:
                connection.execute("INSERT INTO numbers (number, data) VALUES (?, ?)", (done.lastrowid, data))


def used_bytes(connection: sqlite3.Connection) -> int:
    """Of the file; what was deleted does not count, since its place is used again."""
    pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
    return pages * _pragma(connection, "page_size")


def delete_oldest(connection: sqlite3.Connection, size: int, keep: Collection[bytes]) -> None:
    """Makes room for `size` bytes. Regions go before the small vectors; never those of the pictures in `keep`."""
    rows = connection.execute(
        "SELECT number, hash, kind, height * width FROM features ORDER BY kind = 'vector', number"
    )
    gone: list[tuple[int]] = []
    for number, digest, kind, count in rows:
        if size <= 0:
            break
        if digest not in keep:
            gone.append((number,))
            size -= count * KINDS[kind].itemsize
    rows.close()
    for table in ("numbers", "features"):
        connection.executemany(f"DELETE FROM {table} WHERE number = ?", gone)


def together(
    found: Mapping[bytes, Numbers], hashes: Sequence[bytes], kind: str, source: str
) -> npt.NDArray[np.float32]:
    """Vectors [n, d], or regions or boxes [n, r, ...] in the order of the hashes; all must have the same size."""
    shapes = sorted({each.shape for each in found.values()})
    if len(shapes) > 1:
        raise DataError(
            f"the {kind} of the pictures have different sizes, from {shapes[0]} to {shapes[-1]}: ask for one picture "
            "at a time",
            file=source,
        )
    result = np.empty((len(hashes), *shapes[0]), np.float32)
    for row, digest in enumerate(hashes):
        result[row] = found[digest]
    return result[:, 0] if kind == "vector" else result


def _begin(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {int.from_bytes(_MARK, 'big')}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Where the file system has no locks, without: then one process at a time may write."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        return _opened(address)
    except sqlite3.OperationalError as problem:
        if not any(text in str(problem) for text in _NO_LOCKS):
            raise
        return _opened(f"{address}&nolock=1")


def _opened(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, _PATIENCE, isolation_level=None, uri=True)
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # now the file is read
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses files of others and of other versions."""
    if _pragma(connection, "application_id") != int.from_bytes(_MARK, "big"):
        raise _damaged(path)
    version = _pragma(connection, "user_version")
    if version != FORMAT:
        what = "Update capeval, or give it another cache" if version > FORMAT else "Make it again"
        raise DataError(
            f"the feature store has format {version}; this capeval reads format {FORMAT}. {what}", file=str(path)
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        text = str(problem)
        if any(each in text for each in _DAMAGE):
            raise _damaged(path) from problem
        if "locked" in text:
            text = "other processes have been writing to it all the time. Try again"
        raise DataError(f"cannot be opened or written: {text}", file=str(path)) from problem
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:  # the latter for text, such as a column's name
        raise _damaged(path) from problem
    except OSError as problem:
        raise DataError(f"cannot be read: {problem.strerror}", file=str(path)) from problem


def _damaged(path: Path) -> DataError:
    head = _head(path)
    if head.startswith(_FORMAT_1):
        return DataError("the feature store was made by an older capeval: make it again", file=str(path))
    if head.startswith(_SQLITE) and (len(head) < 72 or head[68:72] == _MARK):
        return DamagedStore("the feature store is truncated or damaged: make it again", file=str(path))
    return DamagedStore("this is not a feature store; `capeval features` makes one", file=str(path))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(100)
    except OSError:
        return b""


def _check_id(key: str, name: str) -> None:
    raw = key.encode(errors="surrogateescape")
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise DataError(f"the id {key!r} is not UTF-8; rename the file", file=name) from None
    if not raw or len(raw) > _ID_BYTES or b"\0" in raw:
        raise DataError(f"the id {key[:40]!r} must have from 1 to {_ID_BYTES} bytes and no zero byte", file=name)
