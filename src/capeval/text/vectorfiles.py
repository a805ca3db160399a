"""Reading files of word vectors as others make them: GloVe, word2vec (text or binary), fastText; packed or not."""

from __future__ import annotations

import codecs
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from capeval.errors import DataError
from capeval.io.files import unpacking
from capeval.text.vectortable import MAX_DIMENSIONS, Chunk
from capeval.types import Floats

_log = logging.getLogger(__name__)

_MAX_LINE = 1 << 20
_MAX_WORD = 10_000
_CHUNK = 1024
_BUFFER = 1 << 16
_CONTROL = bytes({*range(32)} - {*b"\t\n\r"})


@contextmanager
def opened_vectors(source: str) -> Iterator[io.BufferedReader]:
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


def first_look(stream: io.BufferedReader, source: str) -> _Found:
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
    if not 1 <= dimensions <= MAX_DIMENSIONS:
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


def usable_chunks(found: _Found, source: str) -> Iterator[Chunk]:
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
