"""Word vectors in a file that is mapped into memory and searched there.

1. 512 bytes: a line `capeval-vectors 1`, a line of JSON (see `_Header`), spaces.
2. The matrix, a row for each word: `float32`; or `int10`, whole numbers to be multiplied by the row's scale.
3. Only for `int10`: the scales, `float32`.
4. Only for `float32`: the row of each word in sorted order, `int32`. The rows of `int10` are sorted themselves.
5. Where the spelling of each word ends, in sorted order, `int32`.
6. The spellings in sorted order, UTF-8, one after the other.

All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import IO

import numpy as np

from capeval.errors import DataError
from capeval.io.files import PathLike
from capeval.types import Bytes, Floats, Ints

MAGIC = b"capeval-vectors 1\n"
HEADER_SIZE = 512
_MAX_INT = 2**31 - 1
MAX_DIMENSIONS = 10_000
_PAIR_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


class Vectors:
    """A table of word vectors, mapped into memory."""

    def __init__(self, header: _Header, data: mmap.mmap) -> None:
        sections = header.sections()
        offsets = np.cumsum([HEADER_SIZE, *(np.dtype(dtype).itemsize * size for dtype, size in sections)]).tolist()
        arrays = [np.frombuffer(data, dtype, size, offset) for (dtype, size), offset in zip(sections, offsets)]
        self._matrix = arrays[0].reshape(header.words, -1) if header.words else arrays[0].reshape(0, header.dimensions)
        self._scale = arrays[1]
        self._row = arrays[2] if header.kind == "float32" else np.arange(header.words)
        self._end = arrays[3]
        self._words = _SortedWords(data, offsets[4], self._end)
        self.dimensions, self.digest = header.dimensions, header.digest

    def __len__(self) -> int:
        return len(self._matrix)

    def rows_of(self, words: Sequence[str]) -> Ints:
        """The row of each word, -1 for an unknown one."""
        return np.array([self._find(word.encode("utf-8", "surrogatepass")) for word in words], np.int32)

    def take(self, rows: Ints) -> Floats:
        """The vectors in the given rows."""
        chosen = self._matrix[rows]
        return _unpacked(chosen, self._scale[rows], self.dimensions) if len(self._scale) else chosen.astype(np.float32)

    def _find(self, word: bytes) -> int:
        place = bisect_left(self._words, word)
        return int(self._row[place]) if place < len(self) and self._words[place] == word else -1


class _SortedWords:
    """The spellings of a table as a sequence, for `bisect`."""

    def __init__(self, data: mmap.mmap, start: int, end: Ints) -> None:
        self._data, self._start, self._end = data, start, end

    def __len__(self) -> int:
        return len(self._end)

    def __getitem__(self, place: int) -> bytes:
        first = int(self._end[place - 1]) if place else 0
        return self._data[self._start + first : self._start + int(self._end[place])]


@dataclass(frozen=True)
class _Header:
    """What the JSON line of a table says."""

    words: int
    dimensions: int
    kind: str
    spellings: int
    """How many bytes all words take."""
    digest: str
    """Hash of words and numbers, for signatures."""

    def sections(self) -> list[tuple[str, int]]:
        """Type and size of what follows the header."""
        packed = self.kind == "int10"
        return [
            ("u1", self.words * _packed_size(self.dimensions)) if packed else ("<f4", self.words * self.dimensions),
            ("<f4", self.words if packed else 0),
            ("<i4", 0 if packed else self.words),
            ("<i4", self.words),
            ("u1", self.spellings),
        ]

    def file_size(self) -> int:
        return HEADER_SIZE + sum(np.dtype(dtype).itemsize * size for dtype, size in self.sections())


def open_table(path: PathLike) -> Vectors:
    """Maps a table into memory; DataError if it is not what `write_table` makes."""
    try:
        with open(path, "rb") as file:
            header = _parse_header(file.read(HEADER_SIZE))
            if os.fstat(file.fileno()).st_size != header.file_size():
                raise ValueError("its size is not what its header says")
            vectors = Vectors(header, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=os.fspath(path)) from error
    except ValueError as error:
        raise DataError(f"the table of word vectors is damaged: {error}", file=os.fspath(path)) from None
    _check_index(vectors, header, os.fspath(path))
    return vectors


def is_table(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from error


def _parse_header(data: bytes) -> _Header:
    if len(data) != HEADER_SIZE or not data.startswith(MAGIC):
        raise ValueError("its header is incomplete")
    facts = json.loads(data.removeprefix(MAGIC))
    if not isinstance(facts, dict) or set(facts) != set(_Header.__annotations__):
        raise ValueError("its header is incomplete")
    header = _Header(**facts)
    if header.kind not in ("float32", "int10") or not isinstance(header.digest, str):
        raise ValueError("its header is wrong")
    for number in (header.words, header.dimensions, header.spellings):
        if type(number) is not int or not 0 <= number <= _MAX_INT:
            raise ValueError("a number in its header is impossible")
    return header


def _check_index(vectors: Vectors, header: _Header, source: str) -> None:
    rows, ends = vectors._row, vectors._end
    if len(rows) and (rows.min() < 0 or rows.max() >= len(rows) or ends[0] < 0 or ends[-1] != header.spellings):
        raise DataError("the table of word vectors is damaged: its words have no rows", file=source)
    if np.any(ends[1:] < ends[:-1]):
        raise DataError("the table of word vectors is damaged: its words are not in order", file=source)


Chunk = tuple[list[bytes], Floats]
"""Some words and their vectors, one row each."""


def write_table(stream: IO[bytes], dimensions: int, chunks: Iterable[Chunk], kind: str = "float32") -> None:
    """Writes distinct words and their vectors to a stream that can be wound back; for `int10` they must be sorted."""
    words: list[bytes] = []
    scales = [np.empty(0, np.float32)]
    digest = hashlib.sha256()
    stream.write(bytes(HEADER_SIZE))
    for chunk_words, vectors in chunks:
        words += chunk_words
        if kind == "int10":
            packed, scale = _packed(vectors)
            numbers = packed.tobytes()
            scales.append(scale)
        else:
            numbers = vectors.astype("<f4").tobytes()
        digest.update(numbers)
        stream.write(numbers)
    order = sorted(range(len(words)), key=words.__getitem__)
    spellings = b"".join(words[row] for row in order)
    if max(len(words), len(spellings)) > _MAX_INT:
        raise DataError("there are too many words for one table")
    if kind == "int10" and order != list(range(len(words))):
        raise ValueError("the words are not sorted")
    rows = np.array(order if kind == "float32" else [], "<i4")
    ends = np.cumsum([len(words[row]) for row in order]).astype("<i4")
    for array in (np.concatenate(scales).astype("<f4"), rows, ends):
        digest.update(array.tobytes())
        stream.write(array.tobytes())
    digest.update(spellings)
    stream.write(spellings)
    header = _Header(len(words), dimensions, kind, len(spellings), digest.hexdigest())
    stream.seek(0)
    stream.write((MAGIC + json.dumps(asdict(header)).encode()).ljust(HEADER_SIZE - 1) + b"\n")


def _packed_size(dimensions: int) -> int:
    return dimensions + (dimensions + 3) // 4


def _packed(vectors: Floats) -> tuple[Bytes, Floats]:
    """Each vector as numbers from 1 to 1023 (512 is 0), and the scale of the vector.

    A row holds the upper eight bits of all numbers, then the lower two, four pairs in a byte.
    """
    largest = np.abs(vectors).max(axis=1)
    # Numbers so small that a step could not be told from 0 are 0.
    is_zero = largest < 511 * np.finfo(np.float32).tiny
    scale = np.where(is_zero, 1, largest / 511).astype(np.float32)
    numbers = np.rint(vectors / scale[:, None]).astype(np.int16) + 512
    pairs = np.pad(numbers & 3, ((0, 0), (0, -numbers.shape[1] % 4))).reshape(len(numbers), -1, 4)
    packed = np.hstack([numbers >> 2, (pairs << _PAIR_SHIFTS).sum(axis=2)])
    return packed.astype(np.uint8), scale


def _unpacked(packed: Bytes, scale: Floats, dimensions: int) -> Floats:
    upper = packed[:, :dimensions].astype(np.int16) << 2
    pairs = packed[:, dimensions:, None] >> _PAIR_SHIFTS & 3
    numbers = upper + pairs.reshape(len(packed), pairs.shape[1] * 4)[:, :dimensions] - 512
    return numbers.astype(np.float32) * scale[:, None]
