"""Parsed captions on disk, so that the references of a second system need no parsing.

One SQLite file in the cache directory: it takes several writers at once and survives a kill at any moment. It is kept
below a size; the oldest entries go first. `CAPEVAL_PARSE_CACHE=off` switches it off.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from capeval.scene.tuples import SceneTuple

MAX_BYTES = 1 << 29
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parses (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, tuples TEXT NOT NULL)
"""
_ASKED_AT_ONCE = 500


class ParseStore:
    """Tuples by caption. Whatever goes wrong with the file, parsing goes on: the store only saves work."""

    def __init__(self, version: str, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._version = version.encode()
        self._path = path
        self._max_bytes = max_bytes
        self.enabled = os.environ.get("CAPEVAL_PARSE_CACHE", "on").lower() not in ("off", "0", "false", "no")

    def find(self, captions: Sequence[str]) -> dict[str, list[SceneTuple]]:
        """Those of the captions that are known."""
        found: dict[str, list[SceneTuple]] = {}
        with suppress(sqlite3.Error, OSError, ValueError), self._connection() as connection:
            keys = {self._key(caption): caption for caption in captions}
            for some in _chunks(list(keys)):
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, tuples FROM parses WHERE key IN ({marks})", some)
                found |= {keys[key]: [tuple(each) for each in json.loads(text)] for key, text in rows}
        return found

    def add(self, parses: Mapping[str, Sequence[SceneTuple]]) -> None:
        rows = [(self._key(caption), json.dumps(tuples, ensure_ascii=False)) for caption, tuples in parses.items()]
        with suppress(sqlite3.Error, OSError), self._connection() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO parses (key, tuples) VALUES (?, ?)", rows)
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
        with closing(sqlite3.connect(self._path, timeout=30)) as connection:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(_SCHEMA)
            except sqlite3.DatabaseError as problem:
                if "not a database" in str(problem) or "malformed" in str(problem):
                    self._path.unlink(missing_ok=True)  # damaged: the next start makes it anew
                raise
            yield connection

    def _key(self, caption: str) -> bytes:
        return hashlib.blake2b(caption.encode(), digest_size=16, key=self._version[:64]).digest()


def _chunks(keys: list[bytes]) -> Iterator[list[bytes]]:
    for begin in range(0, len(keys), _ASKED_AT_ONCE):
        yield keys[begin : begin + _ASKED_AT_ONCE]
