"""Document-frequency tables: in how many images' references each n-gram occurs.

CIDEr weighs an n-gram by idf = log(N) - log(max(1, df)). An n-gram seen with one image weighs the same as one never
seen, so a table holds only those with df >= 2. Then whatever is stored, its beginning and its end are stored as well,
being at least as frequent. The file format lives on that.

The file
--------
1. A line `capeval-df 1 DIGEST`. DIGEST is the sha256, in hex, of line 2 and the body before compression: it depends
   on what the table says, not on the compressor.
2. A line of JSON: `images`, `tokenizer`, `stem`, `vocabulary` (its length in bytes) and `sizes` (how many n-grams
   there are of order 1, 2, ... n).
3. The body, compressed with zlib:
   - the vocabulary, sorted, UTF-8, joined by newlines. Word i is also the n-gram number i of order 1;
   - for each order k: how many children each n-gram of order k-1 has (not for k = 1), the children's ranks (not for
     k = 1), and the df of each n-gram of order k. The n-grams of one order are sorted by their words.

A child of "a b c" is an n-gram "a b c d". Its rank says which child of "b c" the n-gram "b c d" is. Few words follow
"b c", so ranks are small numbers where positions in the vocabulary would be large ones, and compress much better.
Each column of numbers is stored as its lowest bytes, then its second lowest, up to the fourth: the upper ones are
nearly all zero and cost nothing once compressed.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import lt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError, UnknownName
from capeval.io.files import PathLike, writing
from capeval.io.shipped import shipped
from capeval.types import Ints, Longs

_MAGIC = "capeval-df"
_VERSION = "1"
_MAX_ORDER = 8
_MAX_LINE = 4096
_MAX_BODY = 1 << 29  # bytes before compression: some 40 million n-grams
_MAX_INT = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DfTable:
    """N-grams that occur with at least two of `images` images, sorted by order, then by words."""

    images: int
    n: int
    """The highest order."""
    tokenizer: str
    """A table only fits text that was tokenised the same way."""
    stem: bool
    vocabulary: list[str]
    """Sorted. Word i is row i of `grams`."""
    grams: Ints
    """[M, n], positions in the vocabulary, padded with -1."""
    df: Ints
    """[M]"""
    digest: str
    """Names the contents, for signatures: equal tables have equal digests."""

    def counts(self, vocabulary: Sequence[str], grams: Ints) -> Longs:
        """With how many images each of `grams`, positions in `vocabulary` padded with -1, occurs; 0 if unknown."""
        number, slots, bits = self._index
        # One entry more than words: index -1, the padding of short n-grams, stays -1.
        column_of = np.array([*(number.get(word, -1) for word in vocabulary), -1], np.int32)
        found = np.zeros(len(grams), np.int64)
        rows = column_of[grams[:, : self.n] if grams.shape[1] >= self.n else _padded(grams, self.n)]
        # Only n-grams whose words are all known, and that are not longer than those of the table.
        left = np.flatnonzero(_orders(rows) == _orders(grams))
        rows = rows[left]
        place = _home(rows, bits)
        while len(left):
            entry = slots[place]
            is_taken = entry >= 0
            is_found = is_taken & _same(self.grams[entry], rows)
            found[left[is_found]] = self.df[entry[is_found]]
            on = np.flatnonzero(is_taken & ~is_found)
            left, rows, place = left[on], rows[on], place[on] + 1
        return found

    @cached_property
    def _index(self) -> tuple[dict[str, int], Ints, int]:
        """The number of each word, and a hash table of the n-grams: slots that hold a row of `grams`, or -1.

        An n-gram is in the slot that its words lead to, or behind it with no free slot between. There are two to the
        power of the last number of slots to be led to.
        """
        bits = max(4, (2 * len(self.grams)).bit_length())
        home = _home(self.grams, bits)
        order = np.argsort(home, kind="stable")
        step = np.arange(len(order))
        place = np.maximum.accumulate(home[order] - step) + step if len(order) else step
        slots = np.full(max(1 << bits, int(place.max(initial=0)) + 1) + 1, -1, np.int32)
        slots[place] = order
        return {word: i for i, word in enumerate(self.vocabulary)}, slots, bits


def _home(grams: Ints, bits: int) -> Longs:
    """The slot that the words of each n-gram lead to."""
    mixed = np.zeros(len(grams), np.uint64)
    for column in grams.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


def table_from_counts(
    images: int, n: int, tokenizer: str, stem: bool, vocabulary: Sequence[str], grams: Ints, df: Ints
) -> DfTable:
    """A table from counts in any order; n-grams with df < 2 and unused words are dropped.

    `grams` [G, n] are positions in `vocabulary` padded with -1, each n-gram once, of all orders 1..n. `df` [G] says
    with how many of the `images` images each occurs.
    """
    grams, df = grams[df > 1], df[df > 1]
    used: list[int] = np.unique(grams[grams >= 0]).tolist()
    used.sort(key=vocabulary.__getitem__)
    words = [vocabulary[i] for i in used]
    place = np.full(len(vocabulary) + 1, -1, np.int32)  # padding, position -1, finds the extra one at the end
    place[used] = np.arange(len(used))
    grams = place[grams]
    rows = np.lexsort((*grams.T[::-1], _orders(grams)))
    grams, df = grams[rows], df[rows].astype(np.int32)
    header, body = _encode(images, n, tokenizer, stem, words, grams, df)
    return DfTable(images, n, tokenizer, stem, words, grams, df, _digest(header, body))


def write_table(path: PathLike, table: DfTable) -> None:
    """Write a table so that a reader sees the old file or the whole new one, never a part."""
    if os.fspath(path).endswith(".gz"):
        raise DataError("a table is compressed already. Choose a name without `.gz`.", file=os.fspath(path))
    header, body = _encode(table.images, table.n, table.tokenizer, table.stem, table.vocabulary, table.grams, table.df)
    try:
        with writing(path) as file:
            file.write(_first_line(header, body) + header + zlib.compress(body, 9))
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error


def read_table(path: PathLike) -> DfTable:
    """Read a table; DataError if the file is not exactly what `write_table` writes."""
    try:
        with open(path, "rb") as file:
            first, line, packed = file.readline(_MAX_LINE), file.readline(_MAX_LINE), file.read(_MAX_BODY + 1)
    except OSError as error:
        advice = "Give a table made with `capeval df`, or the name of a built-in one."
        raise DataError(f"cannot be read ({error.strerror}). {advice}", file=os.fspath(path)) from error
    _check_format(first, os.fspath(path))
    try:
        header = _parse_header(line)
        body = _decompress(packed, header.body_size())
        if first != _first_line(line, body):
            raise ValueError("its contents do not match its checksum")
        vocabulary, grams, df = _decode(header, body)
    except (ValueError, RecursionError, zlib.error) as error:
        advice = "Copy it again, or make it again with `capeval df`."
        raise DataError(f"the document-frequency table is damaged: {error}. {advice}", file=os.fspath(path)) from error
    n, digest = len(header.sizes), _digest(line, body)
    return DfTable(header.images, n, header.tokenizer, header.stem, vocabulary, grams, df, digest)


def builtin_table(name: str) -> Path:
    """Where the table of that name, such as `coco-val2014`, is installed."""
    known = {path.stem: path for path in shipped("df").glob("*.df")}
    if name not in known:
        raise UnknownName("document-frequency table", name, known)
    return known[name]


@dataclass(frozen=True)
class _Header:
    """The second line of the file."""

    images: int
    tokenizer: str
    stem: bool
    vocabulary: int
    sizes: list[int]

    def columns(self) -> list[int]:
        """How long each column of numbers in the body is."""
        longer = [[above, size, size] for above, size in zip(self.sizes, self.sizes[1:])]
        return sum(longer, [self.sizes[0]])

    def body_size(self) -> int:
        return self.vocabulary + 4 * sum(self.columns())


def _parse_header(line: bytes) -> _Header:
    facts = json.loads(line)
    if not line.endswith(b"\n") or not isinstance(facts, dict) or set(facts) != set(_Header.__annotations__):
        raise ValueError("its header is incomplete")
    header = _Header(**facts)
    if not isinstance(header.tokenizer, str) or not isinstance(header.stem, bool):
        raise ValueError("its header does not say how the text was tokenised")
    if not isinstance(header.sizes, list) or not 1 <= len(header.sizes) <= _MAX_ORDER:
        raise ValueError(f"its orders are not 1 to {_MAX_ORDER}")
    numbers = [header.images, header.vocabulary, *header.sizes]
    if any(type(number) is not int or not 0 <= number <= _MAX_INT for number in numbers):
        raise ValueError("a number in its header is impossible")
    if header.body_size() > _MAX_BODY:
        raise ValueError(f"it is larger than the {_MAX_BODY >> 20} MiB a table may have")
    return header


def _check_format(first: bytes, path: str) -> None:
    magic, version, *_ = [*first.decode("ascii", "replace").split(" "), ""]
    if magic != _MAGIC:
        raise DataError("not a document-frequency table. Make one with `capeval df`.", file=path)
    if version != _VERSION:
        advice = "Make the table again with `capeval df`, or update capeval."
        raise DataError(f"its format is {version!r}, this capeval reads {_VERSION!r}. {advice}", file=path)


def _decompress(packed: bytes, size: int) -> bytes:
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(packed, size + 1)  # never more than one byte too many, whatever the file claims
    if len(body) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError("it was cut short, or something was added to it")
    return body


def _encode(
    images: int, n: int, tokenizer: str, stem: bool, vocabulary: list[str], grams: Ints, df: Ints
) -> tuple[bytes, bytes]:
    """The header line and the body of the file; ValueError if the parts do not make a table."""
    if any(not word or "\n" in word for word in vocabulary):
        raise ValueError("a word is empty or holds a line break")
    orders = _orders(grams)
    sizes = [int(np.sum(orders == order)) for order in range(1, n + 1)]
    words = "\n".join(vocabulary).encode("utf-8", "surrogatepass")
    line = json.dumps(asdict(_Header(images, tokenizer, stem, len(words), sizes))).encode() + b"\n"
    parts = [words, _planes(df[orders == 1])]
    known = [np.arange(len(vocabulary), dtype=np.int64)]
    suffix = np.zeros(len(vocabulary), np.int64)
    starts = np.array([0])
    for order in range(2, n + 1):
        rows = grams[orders == order, :order].astype(np.int64)
        parent = _locate(known, rows[:, :-1])
        shelf = starts[suffix[parent]]
        suffix = _locate(known, rows[:, 1:])
        children = np.bincount(parent, minlength=sizes[order - 2])
        parts += [_planes(children), _planes(suffix - shelf), _planes(df[orders == order])]
        starts = np.cumsum(children) - children
        known.append(parent * len(vocabulary) + rows[:, -1])
    body = b"".join(parts)
    # Reading it back is the surest check that nothing unsorted, doubled or out of bounds is ever written.
    again = _decode(_parse_header(line[:_MAX_LINE]), body)
    if again[0] != vocabulary or not np.array_equal(again[1], grams) or not np.array_equal(again[2], df):
        raise ValueError("the n-grams are not sorted, or are not what their counts say")
    return line, body


def _locate(known: list[Longs], grams: Longs) -> Longs:
    """The position of each n-gram among those of its order; all must be there."""
    node, is_known = _find(known, grams)
    if not is_known.all():
        raise ValueError("an n-gram is there without its beginning or its end")
    return node


def _find(known: list[Longs], grams: Longs) -> tuple[Longs, npt.NDArray[np.bool_]]:
    """The position of each n-gram among those of its order, and whether it is there at all.

    `known` has for each order the n-grams as sorted numbers, made from the position of the n-gram without its last
    word, and that word.
    """
    words = len(known[0])
    node, is_known = np.zeros(len(grams), np.int64), np.ones(len(grams), bool)
    for column, keys in zip(grams.T, known):
        wanted = node * words + column
        node = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1)).astype(np.int64)
        is_known &= (column >= 0) & (keys[node] == wanted) if len(keys) else False
    return node, is_known


def _decode(header: _Header, body: bytes) -> tuple[list[str], Ints, Ints]:
    words, n = header.sizes[0], len(header.sizes)
    vocabulary = body[: header.vocabulary].decode("utf-8", "surrogatepass").split("\n") if words else []
    if len(vocabulary) != words or not all(map(lt, vocabulary, vocabulary[1:])):
        raise ValueError("its vocabulary is not sorted")
    columns = iter(_columns(body[header.vocabulary :], header.columns()))
    grams = np.arange(words, dtype=np.int32)[:, None]
    suffix = np.zeros(words, np.int64)  # where, in the order below, the n-gram without its first word is
    starts: Longs = np.array([0, words])  # where, in this order, the children of each n-gram of the order below begin
    rows, frequencies = [_padded(grams, n)], [next(columns)]
    for size in header.sizes[1:]:
        children, ranks = next(columns), next(columns)
        if np.any(children < 0) or children.sum(dtype=np.int64) != size:
            raise ValueError("its n-grams do not add up")
        parent = np.repeat(np.arange(len(children)), children)
        shelf = suffix[parent]
        suffix = starts[shelf] + ranks
        ascending = (np.diff(parent) > 0) | (np.diff(suffix) > 0)
        if np.any(ranks < 0) or np.any(suffix >= starts[shelf + 1]) or not ascending.all():
            raise ValueError("its n-grams are not sorted")
        grams = np.column_stack([grams[parent], grams[suffix, -1]])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(children, dtype=np.int64)])
        rows.append(_padded(grams, n))
        frequencies.append(next(columns))
    df = np.concatenate(frequencies)
    if np.any(df < 2) or np.any(df > header.images):
        raise ValueError("a document frequency is impossible")
    return vocabulary, np.concatenate(rows), df


def _columns(data: bytes, lengths: list[int]) -> list[Ints]:
    columns, offset = [], 0
    for length in lengths:
        planes = np.frombuffer(data, np.uint8, 4 * length, offset).reshape(4, length)
        columns.append(np.ascontiguousarray(planes.T).view("<i4").reshape(length).astype(np.int32))
        offset += 4 * length
    return columns


def _planes(numbers: npt.NDArray[np.integer[Any]]) -> bytes:
    return np.ascontiguousarray(numbers, dtype="<i4").view(np.uint8).reshape(-1, 4).T.tobytes()


def _orders(grams: Ints) -> Longs:
    orders = np.zeros(len(grams), np.int64)
    for column in grams.T:  # few columns: adding them up is much faster than `sum` along the rows
        orders += column >= 0
    return orders


def _same(a: Ints, b: Ints) -> npt.NDArray[np.bool_]:
    same = np.ones(len(a), bool)
    for one, other in zip(a.T, b.T, strict=True):
        same &= one == other
    return same


def _padded(grams: Ints, n: int) -> Ints:
    return np.pad(grams, ((0, 0), (0, n - grams.shape[1])), constant_values=-1)


def _first_line(header: bytes, body: bytes) -> bytes:
    return f"{_MAGIC} {_VERSION} {_digest(header, body)}\n".encode()


def _digest(header: bytes, body: bytes) -> str:
    return hashlib.sha256(header + body).hexdigest()
