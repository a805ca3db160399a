"""What every file form of shards has: a reader of blocks of rows, and a writer that takes them with scores."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from capeval.errors import DataError
from capeval.io.files import unpacked
from capeval.stream.folder import Writing, open_input
from capeval.types import Array, Flags

BLOCK_ROWS = 20_000
BLOCK_BYTES = 64 << 20
"""A block has no more rows than the first, and about as many as take the second: rows may hold pictures."""


class Rows(Protocol):
    """A block of rows as their file has them."""

    begin: int
    """The number of the first in its shard."""

    @property
    def broken(self) -> Mapping[int, str]:
        """What is wrong with rows that cannot be read at all. They are no part of what is written."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> Sequence[Any]:
        """Its values, None where a row has none."""


class Writer(Protocol):
    def write(self, rows: Any, scores: Mapping[str, Array], keep: Flags) -> None:
        """The rows of one block that are to be kept, with their scores; NaN is a score that does not exist."""

    def close(self) -> None: ...


class Reader(Protocol):
    @property
    def header(self) -> Sequence[str]: ...
    @property
    def binary(self) -> frozenset[str]:
        """The columns that hold pictures themselves."""

    def blocks(self) -> Iterator[Any]: ...

    def writer(self, stream: Writing, labels: Sequence[str]) -> Writer: ...


@contextmanager
def opened(path: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, unpacked when they are gzip; DataError where they cannot be read."""
    try:
        with (
            open_input(path) as raw,
            io.BufferedReader(raw, 1 << 20) as file,
            unpacked(file, path) as stream,
        ):
            yield stream
    except OSError as problem:
        raise DataError(f"cannot be read: {problem.strerror or problem}", file=path) from problem


def refuse_repeated(header: Sequence[str], labels: Sequence[str], path: str) -> None:
    again = [name for name in labels if name in header]
    if again:
        raise DataError(
            f"there is a column {again[0]!r} already, and scores of that name are to be added. Rename the column, or "
            "leave the metric out",
            file=path,
        )


def defined(value: float) -> float | None:
    return None if math.isnan(value) else value
