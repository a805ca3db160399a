"""Features that are kept for the next time: one store in the cache directory, for all encoders and processes.

It goes by the content of pictures and is kept below a size. Whoever writes holds a lock, so that a damaged store can be
given another name while nobody writes to it. It is never deleted: hours of work may be in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import TypeVar

from capeval.errors import DataError
from capeval.io.cache import ADVICE, make_directory
from capeval.io.featurestore import DamagedStore, Encoded, Numbers, Store, delete_oldest, insert, used_bytes
from capeval.io.locks import locked
from capeval.run import Run

T = TypeVar("T")
_ROOM = 0.05
"""More is deleted than must be, so that it is not done at every step."""


class FeatureCache:
    """Features by the hashes of pictures; damage is mended where it shows."""

    def __init__(self, encoder: str, run: Run) -> None:
        self.path, self._encoder, self._run = run.cache / "features" / "pictures.features", encoder, run
        self._store = Store(self.path)

    def read(self, kind: str, hashes: Collection[bytes]) -> dict[bytes, Numbers]:
        """Of those pictures that are there."""

        def found() -> dict[bytes, Numbers]:
            return self._store.read(self._encoder, kind, hashes) if hashes and self._is_there() else {}

        try:
            return found()
        except DamagedStore:
            # Only under the lock is it certain: somebody may be writing, or have set it aside already.
            with self._lock():
                return self._mended(found)
        except DataError:
            if self._is_there():
                raise
            return {}  # set aside this very moment

    def add(self, pictures: Sequence[Encoded], keep: Collection[bytes]) -> None:
        """On disk when this returns. The oldest others make room, but none of those in `keep`."""
        make_directory(self.path.parent)

        def write() -> None:
            with self._store.writing() as connection:
                insert(connection, self._encoder, pictures)
                excess = used_bytes(connection) - self._run.feature_cache_bytes
                if excess > 0:
                    delete_oldest(connection, excess + int(_ROOM * self._run.feature_cache_bytes), keep)

        with self._lock():
            self._mended(write)

    def _is_there(self) -> bool:
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise DataError(f"cannot be read: {problem.strerror}. {ADVICE}", file=str(self.path)) from problem

    def _lock(self) -> AbstractContextManager[bool]:
        return locked(self.path, advice=f". {ADVICE}")

    def _mended(self, work: Callable[[], T]) -> T:
        """What `work` gives, without the damaged store if there is one."""
        try:
            return work()
        except DamagedStore:
            self._set_aside()
            return work()

    def _set_aside(self) -> None:
        free = (self.path.with_name(f"{self.path.name}.damaged-{number}") for number in count(1))
        aside = next(name for name in free if not name.exists())
        journal = Path(f"{self.path}-journal")
        if journal.exists():  # what a killed process left belongs to the damaged store; it must not meet the new one
            os.replace(journal, f"{aside}-journal")
        os.replace(self.path, aside)
        self._run.progress.note(f"{self.path} is damaged. It was renamed to {aside.name}; a new one is made.")
