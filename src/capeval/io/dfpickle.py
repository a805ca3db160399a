"""Document frequencies that Python programs pickled, read without executing anything.

Programs that train captioners with CIDEr-D as a reward keep them as `{"document_frequency": {("a", "dog"): 12.0, ...},
"ref_len": 113287}`. A pickle is a program for a small machine, which can be told to import and call anything. This
reader knows only the instructions that put together dicts, tuples, texts and numbers; of names it knows
`collections.defaultdict` and what one is made with, and makes a dict of it. Every other instruction is an error.
"""

from __future__ import annotations

import codecs
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DataError
from capeval.io.dftable import DfTable, table_from_counts

_MAX_FILE = 1 << 31
_MAX_TEXT = 1 << 16
_MAX_ORDER = 8
# The images of the one table that was published without their number: COCO's validation set of 2014.
_COCO_VAL, _COCO_VAL_IMAGES = "coco-val", 40504

_MARK, _DEFAULTDICT, _TYPE = object(), object(), object()
_GLOBALS = {
    (b"collections", b"defaultdict"): _DEFAULTDICT,
    (b"__builtin__", b"float"): _TYPE,
    (b"__builtin__", b"int"): _TYPE,
    (b"builtins", b"float"): _TYPE,
    (b"builtins", b"int"): _TYPE,
}


def is_pickle(path: Path) -> bool:
    """Whether a file begins as pickles of dicts do; a table of ours does not."""
    try:
        with path.open("rb") as stream:
            head = stream.read(12)
    except OSError:
        return False
    return head[:1] in (b"\x80", b"(", b"}") or head == b"ccollections"


def read_pickled_table(path: Path) -> DfTable:
    """The table in a pickle; DataError if it is anything but a table."""
    try:
        if path.stat().st_size > _MAX_FILE:
            raise ValueError(f"it is larger than the {_MAX_FILE >> 30} GiB that a table may have")
        found = _Machine(path.read_bytes()).run()
        images, counts = _parts(found, path)
        return _table(images, counts)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=str(path)) from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise DataError(
            f"not a pickled table of document frequencies: {error}. Wanted is a dict with `document_frequency` (tuples "
            "of words -> numbers) and `ref_len` (the number of images)",
            file=str(path),
        ) from error


def _parts(found: Any, path: Path) -> tuple[int, dict[Any, Any]]:
    if not isinstance(found, dict):
        raise ValueError("it has no dict")
    if "document_frequency" in found and "ref_len" in found:
        images, counts = found["ref_len"], found["document_frequency"]
    elif path.stem.startswith(_COCO_VAL):
        images, counts = _COCO_VAL_IMAGES, found
    else:
        raise ValueError("it does not say of how many images it is")
    if not isinstance(counts, dict) or not counts:
        raise ValueError("it has no n-grams")
    if not isinstance(images, int | float) or not 1 <= images < 2**31 or images != int(images):
        raise ValueError(f"its number of images is {images!r}")
    return int(images), counts


def _table(images: int, counts: dict[Any, Any]) -> DfTable:
    n = 0
    for gram, count in counts.items():
        if type(gram) is not tuple or not 1 <= len(gram) <= _MAX_ORDER or any(type(word) is not str for word in gram):
            raise ValueError(f"{gram!r:.80} is not an n-gram")
        if type(count) not in (int, float) or not math.isfinite(count) or not 0 <= count < 2**31 or count != int(count):
            raise ValueError(f"{gram!r:.80} comes with {count!r} images")
        n = max(n, len(gram))
    number: dict[str, int] = {}
    # An n-gram of one image weighs as much as one of none: no table of ours has it.
    frequent = [(gram, count) for gram, count in counts.items() if count > 1]
    grams = np.full((len(frequent), n), -1, np.int32)
    for row, (gram, _) in enumerate(frequent):
        grams[row, : len(gram)] = [number.setdefault(word, len(number)) for word in gram]
    df = np.array([count for _, count in frequent], np.int32)
    return table_from_counts(images, n, "none", False, list(number), grams, df)


class _Machine:
    """Runs the instructions of a pickle, of protocol 0 to 5, that make dicts, tuples, texts and numbers."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps = self.data, self._steps()
        while True:
            code = data[self.place]
            self.place += 1
            if code == 0x2E:  # STOP
                if len(self.stack) != 1:
                    raise ValueError("it ends too early")
                return self.stack[0]
            if code not in steps:
                raise ValueError(
                    f"it has the instruction {chr(code)!r} at byte {self.place - 1}, which tables do not need"
                )
            steps[code]()

    def _steps(self) -> dict[int, Callable[[], None]]:
        push, pop = self.stack.append, self.stack.pop
        named = {
            b"\x80": lambda: self._take(1),  # PROTO
            b"\x95": lambda: self._take(8),  # FRAME
            b"(": lambda: push(_MARK),
            b"0": lambda: pop(),
            b"}": lambda: push({}),
            b")": lambda: push(()),
            b"d": self._dict,
            b"t": lambda: push(_flat(self._to_mark())),
            b"\x85": lambda: self._tuple(1),
            b"\x86": lambda: self._tuple(2),
            b"\x87": lambda: self._tuple(3),
            b"s": lambda: self._set([pop(-2), pop()]),
            b"u": lambda: self._set(self._to_mark()),
            # Numbers.
            b"G": lambda: push(struct.unpack(">d", self._take(8))[0]),
            b"F": lambda: push(float(self._line())),
            b"I": lambda: push(int(self._line())),
            b"L": lambda: push(int(self._line().rstrip(b"L"))),
            b"J": lambda: push(self._number(4, signed=True)),
            b"K": lambda: push(self._number(1)),
            b"M": lambda: push(self._number(2)),
            b"\x8a": lambda: push(int.from_bytes(self._take(self._number(1)), "little", signed=True)),
            # Texts: those of Python 2 are bytes, which programs of Python 3 read as Latin-1.
            b"X": lambda: push(self._take(self._text_size(4)).decode("utf-8", "surrogatepass")),
            b"\x8c": lambda: push(self._take(self._number(1)).decode("utf-8", "surrogatepass")),
            b"V": lambda: push(self._line().decode("raw-unicode-escape")),
            b"U": lambda: push(self._take(self._number(1)).decode("latin-1")),
            b"T": lambda: push(self._take(self._text_size(4)).decode("latin-1")),
            b"S": lambda: push(_unquoted(self._line()).decode("latin-1")),
            # What was made before.
            b"q": lambda: self._remember(self._number(1)),
            b"r": lambda: self._remember(self._number(4)),
            b"p": lambda: self._remember(int(self._line())),
            b"\x94": lambda: self._remember(len(self.memo)),
            b"h": lambda: push(self.memo[self._number(1)]),
            b"j": lambda: push(self.memo[self._number(4)]),
            b"g": lambda: push(self.memo[int(self._line())]),
            # Names, of which there are few, and the making of a defaultdict.
            b"c": lambda: push(_known(self._line(), self._line())),
            b"\x93": self._stack_global,
            b"R": self._reduce,
        }
        return {name[0]: step for name, step in named.items()}

    def _take(self, size: int) -> bytes:
        part = self.data[self.place : self.place + size]
        if len(part) != size:
            raise ValueError("it was cut short")
        self.place += size
        return part

    def _line(self) -> bytes:
        end = self.data.index(b"\n", self.place, self.place + _MAX_TEXT)
        line = self.data[self.place : end]
        self.place = end + 1
        return line

    def _number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self._take(size), "little", signed=signed)

    def _text_size(self, size: int) -> int:
        length = self._number(size)
        if length > _MAX_TEXT:
            raise ValueError(f"it has a text of {length} bytes")
        return length

    def _to_mark(self) -> list[Any]:
        begin = len(self.stack) - 1
        while self.stack[begin] is not _MARK:
            begin -= 1
            if begin < 0:
                raise ValueError("an end without its beginning")
        values = self.stack[begin + 1 :]
        del self.stack[begin:]
        return values

    def _tuple(self, size: int) -> None:
        values = _flat(self.stack[-size:])
        if len(values) != size:
            raise ValueError("a tuple of less than it needs")
        self.stack[-size:] = [values]

    def _dict(self) -> None:
        values = self._to_mark()
        self.stack.append({})
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(values) % 2:
            raise ValueError("entries without a dict")
        target.update(zip(values[::2], values[1::2]))

    def _remember(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def _stack_global(self) -> None:
        module, name = self.stack[-2:]
        self.stack[-2:] = [_known(module.encode(), name.encode())]

    def _reduce(self) -> None:
        what, arguments = self.stack[-2:]
        if what is not _DEFAULTDICT or arguments not in ((), (_TYPE,)):
            raise ValueError("it calls something")
        self.stack[-2:] = [{}]


def _flat(values: list[Any]) -> tuple[Any, ...]:
    """Tuples in tuples may be as deep as somebody likes, and then break what walks through them."""
    if any(type(value) not in (str, int, float) and value is not _TYPE for value in values):
        raise ValueError("a tuple of other things than words")
    return tuple(values)


def _known(module: bytes, name: bytes) -> object:
    if (module, name) not in _GLOBALS:
        raise ValueError(f"it names {module.decode('latin-1')}.{name.decode('latin-1')}, which tables do not need")
    return _GLOBALS[module, name]


def _unquoted(line: bytes) -> bytes:
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise ValueError("a text without quotes")
    text: bytes = codecs.escape_decode(line[1:-1])[0]
    return text
