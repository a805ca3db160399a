"""What the official parser found, on disk, so that the references of a second system need no parsing.

One SQLite file in the cache directory: it takes several writers at once and survives a kill at any moment. It is kept
below a size; the oldest entries go first. A damaged file is set aside under another name. `CAPEVAL_PARSE_CACHE=off`
switches the store off.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from capeval.engine.graph_types import Basic, SceneTuple, Token

MAX_BYTES = 1 << 29
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parses (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, dependencies BLOB NOT NULL, tuples BLOB NOT NULL
)
"""
_ASKED_AT_ONCE = 500

Dependencies = tuple[tuple[Token, ...], tuple[Basic, ...]]
"""Words with tags and lemmas, and the basic tree."""


class Parsed(NamedTuple):
    """All that is kept of a caption. Tuples follow from dependencies, but most often they alone are asked for."""

    dependencies: Dependencies
    tuples: list[SceneTuple]


class ParseStore:
    """Parses by caption. Whatever goes wrong with the file, parsing goes on: the store only saves work."""

    def __init__(
        self, version: str, path: Path, max_bytes: int = MAX_BYTES, note: Callable[[str], None] = lambda message: None
    ) -> None:
        self._version = version.encode()
        self._path = path
        self._max_bytes = max_bytes
        self._note = note
        self.enabled = os.environ.get("CAPEVAL_PARSE_CACHE", "on").lower() not in ("off", "0", "false", "no")

    def find_tuples(self, captions: Sequence[str]) -> dict[str, list[SceneTuple]]:
        """Those of the captions that are known."""
        return self._find("tuples", captions, msgspec.json.Decoder(list[SceneTuple]))

    def find_dependencies(self, captions: Sequence[str]) -> dict[str, Dependencies]:
        """Those of the captions that are known."""
        return self._find("dependencies", captions, msgspec.json.Decoder(Dependencies))

    def _find(self, column: str, captions: Sequence[str], decoder: msgspec.json.Decoder[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with suppress(sqlite3.Error, OSError), self._connection() as connection:
            keys = {self._key(caption): caption for caption in captions}
            for some in _chunks(list(keys)):
                marks = ",".join("?" * len(some))
                for key, text in connection.execute(f"SELECT key, {column} FROM parses WHERE key IN ({marks})", some):
                    with suppress(msgspec.DecodeError):
                        found[keys[key]] = decoder.decode(text)
        return found

    def add(self, parses: Mapping[str, Parsed]) -> None:
        encode = msgspec.json.encode
        rows = [(self._key(each), encode(found.dependencies), encode(found.tuples)) for each, found in parses.items()]
        with suppress(sqlite3.Error, OSError), self._connection() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO parses (key, dependencies, tuples) VALUES (?, ?, ?)", rows)
            self._trim(connection)

    def _trim(self, connection: sqlite3.Connection) -> None:
        pages, size, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
        )
        if (pages - free) * size > self._max_bytes:
            # The older half; the space is used again.
            connection.execute(
                "DELETE FROM parses WHERE number <= (SELECT (MIN(number) + MAX(number)) / 2 FROM parses)"
            )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not self.enabled:
            raise sqlite3.Error("switched off")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        opened = self._identity()
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                # Nobody waits for the disk: where the power fails the file may be lost, and that costs a parse.
                connection.execute("PRAGMA synchronous=OFF")
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.DatabaseError as problem:
            if "not a database" in str(problem) or "malformed" in str(problem):
                self._set_aside(opened)
            raise

    def _identity(self) -> int | None:
        return self._path.stat().st_ino if self._path.exists() else None

    def _set_aside(self, damaged: int | None) -> None:
        """The damaged file gets another name, and the next start makes a new one; unless another process did so."""
        if damaged is None or self._identity() != damaged:
            return
        number = 1
        while (other := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        self._path.rename(other)
        for ending in ("-wal", "-shm"):  # they belong to the damaged file, and would damage the next one
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + ending).rename(other.with_name(other.name + ending))
        self._note(f"the store of parses was damaged; it is kept as {other}, and a new one is begun")

    def _key(self, caption: str) -> bytes:
        return hashlib.blake2b(caption.encode(), digest_size=16, key=self._version[:64]).digest()


def _chunks(keys: list[bytes]) -> Iterator[list[bytes]]:
    for begin in range(0, len(keys), _ASKED_AT_ONCE):
        yield keys[begin : begin + _ASKED_AT_ONCE]
