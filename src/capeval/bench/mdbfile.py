"""Reading small LMDB files, such as the captions that came with UMIC: the keys and values of the main database.

The layout is that of LMDB 0.9 on 64-bit machines (little-endian): two meta pages, of which the one with the higher
transaction counts; then a tree of branch and leaf pages. Values that lie on pages of their own, databases within the
database and several values of one key are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from capeval.errors import DataError
from capeval.io.files import read_bytes

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_HEADER = 16
"""Bytes before the places of the nodes of a page."""
_BRANCH, _LEAF, _META = 0x01, 0x02, 0x08
_DEEPEST = 32
_NO_PAGE = 2**64 - 1


def read_mdb(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The keys in their order, each with its value."""
    data = memoryview(read_bytes(path))
    try:
        size, root = _newest(data)
        if root != _NO_PAGE:
            yield from _nodes(data, size, root, 0)
    except (struct.error, IndexError, ValueError) as problem:
        raise DataError(f"no LMDB file that can be read here: {problem}", file=str(path)) from None


def _newest(data: memoryview) -> tuple[int, int]:
    """The size of pages, and the first page of the main database."""
    (size,) = struct.unpack_from("<I", data, _HEADER + 24)
    if not 256 <= size <= 65536:
        raise ValueError("wrong size of pages")
    found = []
    for page in (0, 1):
        at = page * size
        (flags,) = struct.unpack_from("<H", data, at + 10)
        magic, version = struct.unpack_from("<II", data, at + _HEADER)
        if not flags & _META or (magic, version) != (_MAGIC, _VERSION):
            raise ValueError("wrong signature")
        # After the signature: address, size of the map, two databases of 48 bytes, last page, transaction.
        (root,) = struct.unpack_from("<Q", data, at + _HEADER + 24 + 48 + 40)
        (transaction,) = struct.unpack_from("<Q", data, at + _HEADER + 24 + 96 + 8)
        found.append((transaction, root))
    return size, max(found)[1]


def _nodes(data: memoryview, size: int, page: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
    if depth > _DEEPEST:
        raise ValueError("the tree of pages has no end")
    at = page * size
    if at + size > len(data):
        raise ValueError(f"page {page} is missing")
    flags, lower = struct.unpack_from("<HH", data, at + 10)
    for place in range((lower - _HEADER) // 2):
        (offset,) = struct.unpack_from("<H", data, at + _HEADER + 2 * place)
        low, high, more, key_size = struct.unpack_from("<HHHH", data, at + offset)
        begin = at + offset + 8
        if flags & _BRANCH:
            yield from _nodes(data, size, low | high << 16 | more << 32, depth + 1)
        elif not flags & _LEAF or more:
            raise ValueError("a kind of page or value that is not read here")
        else:
            end = begin + key_size
            yield bytes(data[begin:end]), bytes(data[end : end + (low | high << 16)])
