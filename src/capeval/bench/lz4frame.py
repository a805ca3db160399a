"""Unpacking LZ4 frames of a few kilobytes, for files that were published so. Checksums are not looked at."""

from __future__ import annotations

import struct

_MAGIC = 0x184D2204
_LARGEST = 1 << 20
"""Of what is unpacked; a file that makes more was not meant for this."""


def unpack(frame: bytes) -> bytes:
    """ValueError for anything else than a frame."""
    try:
        return _frame(frame)
    except (struct.error, IndexError):
        raise ValueError("a broken LZ4 frame") from None


def _frame(frame: bytes) -> bytes:
    magic, flags = struct.unpack_from("<IB", frame)
    if magic != _MAGIC or flags >> 6 != 1 or flags & 1:
        raise ValueError("no LZ4 frame, or one with a dictionary")
    at = 7 + (8 if flags & 8 else 0)  # the size of what is packed may be told first
    found = bytearray()
    while size := struct.unpack_from("<I", frame, at)[0]:
        length, is_plain = size & 0x7FFFFFFF, size >> 31
        block = frame[at + 4 : at + 4 + length]
        if len(block) < length:
            raise ValueError("a broken LZ4 frame")
        if is_plain:
            found += block
        else:
            _block(block, found)
        if len(found) > _LARGEST:
            raise ValueError("an LZ4 frame that is too large")
        at += 4 + length + (4 if flags & 16 else 0)
    return bytes(found)


def _block(block: bytes, found: bytearray) -> None:
    """Literal bytes and copies of what was found before, in turn; a block ends with literals."""
    at = 0
    while True:
        token = block[at]
        count, at = _length(block, at + 1, token >> 4)
        found += block[at : at + count]
        at += count
        if at >= len(block):
            return
        (back,) = struct.unpack_from("<H", block, at)
        count, at = _length(block, at + 2, token & 15)
        if not 0 < back <= len(found) or len(found) > _LARGEST:
            raise ValueError("a broken LZ4 frame")
        for _ in range(count + 4):
            found.append(found[-back])


def _length(block: bytes, at: int, count: int) -> tuple[int, int]:
    """Four bits, and bytes more as long as all bits of the last are set."""
    if count < 15:
        return count, at
    while block[at] == 255:
        count, at = count + 255, at + 1
    return count + block[at], at + 1
