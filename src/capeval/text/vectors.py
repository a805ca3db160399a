"""Word vectors: the table that comes with capeval, and any GloVe, word2vec or fastText file.

A file of vectors is read once, line by line, and turned into a table in the user's cache directory. A table is mapped
into memory and searched there, so that opening millions of vectors costs nothing and only the words that occur are
ever read.

The table
---------
1. 512 bytes: a line `capeval-vectors 1`, a line of JSON (see `_Header`), spaces.
2. The matrix, a row for each word: `float32`; or `int10`, whole numbers to be multiplied by the row's scale.
3. Only for `int10`: the scales, `float32`.
4. Only for `float32`: the row of each word in sorted order, `int32`. The rows of `int10` are sorted themselves.
5. Where the spelling of each word ends, in sorted order, `int32`.
6. The spellings in sorted order, UTF-8, one after the other.

All numbers are little-endian.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import logging
import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError, UnknownName
from capeval.io.cache import built_once
from capeval.io.files import PathLike, unpacking
from capeval.io.shipped import shipped
from capeval.run import Run
from capeval.types import Ints

Floats = npt.NDArray[np.float32]

_log = logging.getLogger(__name__)

_MAGIC = b"capeval-vectors 1\n"
_HEADER_SIZE = 512
_MAX_INT = 2**31 - 1
_MAX_DIMENSIONS = 10_000
_MAX_LINE = 1 << 20
_MAX_WORD = 10_000
_CHUNK = 1024
_BUFFER = 1 << 16
_PAIR_SHIFTS = np.array([0, 2, 4, 6], np.uint8)
_CONTROL = bytes({*range(32)} - {*b"\t\n\r"})


def load_vectors(source: str, run: Run | None = None) -> Vectors:
    """Vectors by the name of a built-in table or by the path of a file."""
    return _load_once(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _load_once(source: str, cache: Path) -> Vectors:
    builtin = {path.stem: path for path in shipped("vectors").glob("*.vectors")}
    if source in builtin:
        return open_table(builtin[source])
    if not Path(source).exists() and "/" not in source and not Path(source).suffix:
        raise UnknownName("word vectors (neither built in nor a file)", source, builtin)
    return open_table(source) if _is_table(source) else _cached(source, cache)


class Vectors:
    """A table of word vectors, mapped into memory."""

    def __init__(self, header: _Header, data: mmap.mmap) -> None:
        sections = header.sections()
        offsets = np.cumsum([_HEADER_SIZE, *(np.dtype(dtype).itemsize * size for dtype, size in sections)]).tolist()
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
        return _HEADER_SIZE + sum(np.dtype(dtype).itemsize * size for dtype, size in self.sections())


def open_table(path: PathLike) -> Vectors:
    """Maps a table into memory; DataError if it is not what `write_table` makes."""
    try:
        with open(path, "rb") as file:
            header = _parse_header(file.read(_HEADER_SIZE))
            if os.fstat(file.fileno()).st_size != header.file_size():
                raise ValueError("its size is not what its header says")
            vectors = Vectors(header, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=os.fspath(path)) from error
    except ValueError as error:
        raise DataError(f"the table of word vectors is damaged: {error}", file=os.fspath(path)) from None
    _check_index(vectors, header, os.fspath(path))
    return vectors


def _is_table(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from error


def _parse_header(data: bytes) -> _Header:
    if len(data) != _HEADER_SIZE or not data.startswith(_MAGIC):
        raise ValueError("its header is incomplete")
    facts = json.loads(data.removeprefix(_MAGIC))
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
    stream.write(bytes(_HEADER_SIZE))
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
    stream.write((_MAGIC + json.dumps(asdict(header)).encode()).ljust(_HEADER_SIZE - 1) + b"\n")


def _packed_size(dimensions: int) -> int:
    return dimensions + (dimensions + 3) // 4


def _packed(vectors: Floats) -> tuple[npt.NDArray[np.uint8], Floats]:
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


def _unpacked(packed: npt.NDArray[np.uint8], scale: Floats, dimensions: int) -> Floats:
    upper = packed[:, :dimensions].astype(np.int16) << 2
    pairs = packed[:, dimensions:, None] >> _PAIR_SHIFTS & 3
    numbers = upper + pairs.reshape(len(packed), pairs.shape[1] * 4)[:, :dimensions] - 512
    return numbers.astype(np.float32) * scale[:, None]


def _cached(source: str, cache: Path) -> Vectors:
    """The table made from a file of vectors; the file is read again only when its size or time has changed."""
    state = os.stat(source)
    facts = [os.path.realpath(source), str(state.st_size), str(state.st_mtime_ns), _MAGIC.decode()]
    key = hashlib.blake2b("\0".join(facts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    table = cache / "vectors" / f"{key}.vectors"

    def build(target: IO[bytes]) -> None:
        _log.info("%s: reading word vectors, once; the table will be %s", source, table)
        with _opened(source) as stream:
            found = _start(stream, source)
            write_table(target, found.dimensions, _usable(found, source))

    try:
        return open_table(built_once(table, _is_good, build))
    except OSError as error:
        raise DataError(f"the table of {source} cannot be written: {error.strerror}", file=str(table)) from error


def _is_good(table: Path) -> bool:
    try:
        open_table(table)
    except DataError:
        return False
    return True


@contextmanager
def _opened(source: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, unpacked when they are gzip, whatever the file is called."""
    with open(source, "rb") as file:
        if file.peek(2)[:2] == b"\x1f\x8b":
            with unpacking(file, source) as stream:
                yield stream
        else:
            yield file


Numbers = list[float] | Floats
Entry = tuple[int, bytes, Numbers]
"""Line of the file (0 in a binary one), word, vector."""


class _Found(NamedTuple):
    dimensions: int
    entries: Iterator[Entry]


def _start(stream: io.BufferedReader, source: str) -> _Found:
    """Tells the formats apart: word2vec and fastText begin with a line of two whole numbers, GloVe does not."""
    first = _line(stream, 1, source).removeprefix(codecs.BOM_UTF8)
    fields = first.split()
    if len(fields) == 2 and all(field.isdigit() and len(field) < 11 for field in fields):
        count, dimensions = map(int, fields)
        _check_dimensions(dimensions, source)
        is_binary = bool(stream.peek(_BUFFER).translate(None, bytes({*range(256)} - {*_CONTROL})))
        read = _binary_entries if is_binary else _text_entries
        return _Found(dimensions, _exactly(count, read(stream, dimensions, source), source))
    dimensions = len(fields) - 1
    _check_dimensions(dimensions, source)
    rest = _text_entries(stream, dimensions, source)
    return _Found(dimensions, chain([_text_entry(1, first, dimensions, source)], rest))


def _check_dimensions(dimensions: int, source: str) -> None:
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        message = f"this is no file of word vectors: they would have {dimensions} dimensions"
        raise DataError(message, file=source, line=1)


def _line(stream: io.BufferedReader, number: int, source: str) -> bytes:
    line = stream.readline(_MAX_LINE)
    if len(line) == _MAX_LINE:
        raise DataError("this is no file of word vectors: the line is too long", file=source, line=number)
    return line


def _text_entries(stream: io.BufferedReader, dimensions: int, source: str) -> Iterator[Entry]:
    number = 2
    while line := _line(stream, number, source):
        if not line.isspace():
            yield _text_entry(number, line, dimensions, source)
        number += 1


def _text_entry(number: int, line: bytes, dimensions: int, source: str) -> Entry:
    fields = line.split()
    # A few words of GloVe 840B have spaces in them, so all that stands before the numbers is the word.
    word = fields[:-dimensions]
    if not word or (len(word) > 1 and _is_number(word[-1])):
        message = f"a word and {dimensions} numbers were expected, not {len(fields)} fields"
        raise DataError(message, file=source, line=number)
    try:
        return number, b" ".join(word), list(map(float, fields[-dimensions:]))
    except ValueError:
        wrong = next(field for field in fields[-dimensions:] if not _is_number(field))
        raise DataError(f"{ascii(wrong)[1:]} is not a number", file=source, line=number) from None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _binary_entries(stream: io.BufferedReader, dimensions: int, source: str) -> Iterator[Entry]:
    while word := _binary_word(stream, source):
        data = stream.read(4 * dimensions)
        if len(data) < 4 * dimensions:
            raise DataError(f"the file ends within the vector of {ascii(word)[1:]}", file=source)
        yield 0, word, np.frombuffer(data, "<f4")


def _binary_word(stream: io.BufferedReader, source: str) -> bytes:
    """The bytes up to the next space; nothing at the end of the file."""
    word = bytearray()
    while (byte := stream.read(1)) not in (b" ", b""):
        word += byte
        if len(word) > _MAX_WORD:
            raise DataError("this is no word2vec file: a word never ends", file=source)
    return bytes(word).lstrip(b"\n")


def _exactly(count: int, entries: Iterator[Entry], source: str) -> Iterator[Entry]:
    found = 0
    for entry in entries:
        found += 1
        if found > count:
            break
        yield entry
    if found != count:
        more = "more" if found > count else f"only {found}"
        raise DataError(f"the first line promises {count} words, but there are {more}", file=source)


def _usable(found: _Found, source: str) -> Iterator[Chunk]:
    """The entries in chunks, each word once; says how many were left out and why."""
    seen: set[bytes] = set()
    not_utf8 = repeated = 0
    while entries := list(islice(found.entries, _CHUNK)):
        matrix = _matrix(entries, source)
        kept = []
        for place, (_, word, _) in enumerate(entries):
            if word in seen:
                repeated += 1
            elif not _is_utf8(word):
                not_utf8 += 1  # no caption has such a word
            else:
                seen.add(word)
                kept.append(place)
        yield [entries[place][1] for place in kept], matrix[kept]
    if not seen:
        raise DataError("there are no word vectors in this file", file=source)
    if not_utf8 or repeated:
        message = "%s: left out %d words that are not UTF-8, and %d that occur twice (the first vector counts)"
        _log.warning(message, source, not_utf8, repeated)


def _matrix(entries: list[Entry], source: str) -> Floats:
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is reported
        matrix = np.array([numbers for _, _, numbers in entries], np.float32)
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        line, word, _ = entries[int(np.argmin(finite))]
        raise DataError(f"the vector of {ascii(word)[1:]} is not finite", file=source, line=line or None)
    return matrix


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
