"""Reading MATLAB files of version 5: text, numbers, cells and structs, which is all that captions come in.

The format is described in MathWorks' "MAT-File Format" (level 5). A file is a list of elements; each has a type, a
length and its bytes, padded to a multiple of 8. Files are untrusted: lengths are checked before they are believed.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from capeval.errors import DataError
from capeval.io.files import PathLike, read_bytes

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le", 18: "utf-32-le"}
_CELL, _STRUCT, _CHAR, _FIRST_NUMBER, _LAST_NUMBER = 1, 2, 4, 6, 15
_MAX_UNPACKED = 1 << 28
_MAX_DEPTH = 50


def read_mat(path: PathLike) -> dict[str, Any]:
    """The variables of a file: cells as arrays of objects, structs as arrays of dicts, text as `str`."""
    data = read_bytes(path)
    if len(data) < _HEADER or data[126:128] != b"IM":
        raise DataError("not a little-endian MATLAB 5 file", file=str(path))
    try:
        return dict(_named_matrix(kind, body) for kind, body in _elements(memoryview(data)[_HEADER:]))
    except (ValueError, struct.error, zlib.error, StopIteration, UnicodeDecodeError) as problem:
        raise DataError(f"damaged MATLAB file: {problem}", file=str(path)) from problem


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        begin = at + 8
        if kind >> 16:  # up to four bytes stand in the tag itself
            kind, size, begin = kind & 0xFFFF, kind >> 16, at + 4
        if begin + size > len(data):
            raise ValueError("an element is longer than the file")
        yield kind, data[begin : begin + size]
        at = max(at + 8, begin + size)
        if kind != _COMPRESSED:
            at += -at % 8


def _named_matrix(kind: int, body: memoryview, depth: int = 0) -> tuple[str, Any]:
    if kind == _COMPRESSED:
        unpack = zlib.decompressobj()
        data = unpack.decompress(body, _MAX_UNPACKED)
        if unpack.unconsumed_tail:
            raise ValueError("a variable is too large")
        kind, body = next(_elements(memoryview(data)))
    if kind != _MATRIX or depth > _MAX_DEPTH:
        raise ValueError(f"an element of kind {kind} where a matrix is needed")
    if not len(body):
        return "", np.zeros((0, 0))
    parts = _elements(body)
    flags, sizes, name = (bytes(next(parts)[1]) for _ in range(3))
    shape = tuple(int(size) for size in np.frombuffer(sizes, "<i4"))
    return name.decode("ascii"), _value(flags[0], shape, parts, depth)


def _value(sort: int, shape: tuple[int, ...], parts: Iterator[tuple[int, memoryview]], depth: int) -> Any:
    if sort == _CELL:
        return _filled(shape, [_named_matrix(*part, depth + 1)[1] for part in parts])
    if sort == _STRUCT:
        return _filled(shape, _structs(parts, math.prod(shape), depth))
    if sort == _CHAR:
        kind, body = next(parts)
        text = bytes(body).decode(_TEXTS[kind])
        # Characters are stored column by column; only text of one row reads straight on.
        return text if shape[0] <= 1 else ["".join(text[row :: shape[0]]) for row in range(shape[0])]
    if _FIRST_NUMBER <= sort <= _LAST_NUMBER:
        kind, body = next(parts)
        return np.frombuffer(body, "<" + _NUMBERS[kind]).astype(np.float64).reshape(shape, order="F")
    raise ValueError(f"a variable of class {sort}, which is neither text, numbers, a cell nor a struct")


def _structs(parts: Iterator[tuple[int, memoryview]], count: int, depth: int) -> list[Any]:
    width = int(np.frombuffer(next(parts)[1], "<i4")[0])
    packed = bytes(next(parts)[1])
    names = [packed[at : at + width].split(b"\0")[0].decode("ascii") for at in range(0, len(packed), width)]
    values = [_named_matrix(*part, depth + 1)[1] for part in parts]
    return [dict(zip(names, values[i * len(names) : (i + 1) * len(names)])) for i in range(count)]


def _filled(shape: tuple[int, ...], values: list[Any]) -> Any:
    cells = np.empty(len(values), object)
    cells[:] = values
    return cells.reshape(shape, order="F")
