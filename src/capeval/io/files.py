"""Opening files: gzip, byte order marks, standard input and output, and writing that never leaves half a file."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from capeval.errors import DataError, MissingExtra

PathLike = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20
_STRETCH = 1 << 26
_MAX_FOLD = 100
"""How many times larger a stretch of unpacked data may be than it was packed. Captions shrink 3 to 40 times, even where
all of them are the same; deflate can do 1,032 times, so that 4 MB become 4 GB."""
_FORMATS = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def is_standard_stream(path: PathLike) -> bool:
    """Whether the path is `-`: standard input when reading, standard output when writing."""
    return os.fspath(path) == "-"


def source_name(path: PathLike) -> str:
    """What error messages call the file."""
    return "<stdin>" if is_standard_stream(path) else os.fspath(path)


def format_from_name(path: PathLike) -> str | None:
    """The format the extension stands for (`.gz` aside), or None where it says nothing."""
    name = os.fspath(path).lower().removesuffix(".gz")
    return _FORMATS.get(Path(name).suffix)


def read_bytes(path: PathLike) -> bytes:
    """All bytes of a file or of standard input, unpacked when they are gzip, whatever the file is called."""
    try:
        data = sys.stdin.buffer.read() if is_standard_stream(path) else Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", file=source_name(path)) from None
    except IsADirectoryError:
        raise DataError("this is a directory, a file is needed", file=source_name(path)) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=source_name(path)) from error
    if not data.startswith(_GZIP_MAGIC):
        return data
    with unpacking(io.BytesIO(data), source_name(path)) as stream:
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))


@contextmanager
def opened(path: PathLike) -> Iterator[io.BufferedReader]:
    """A text file or standard input as a stream of bytes: unpacked when it is gzip, without a byte order mark."""
    source = source_name(path)
    try:
        file = cast(io.BufferedReader, sys.stdin.buffer) if is_standard_stream(path) else open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise DataError("there is no such file", file=source) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=source) from error
    with file, unpacked(file, source) as stream:
        yield after_mark(stream)


@contextmanager
def unpacked(file: io.BufferedReader, source: str) -> Iterator[io.BufferedReader]:
    """The content of a stream, unpacked when it is gzip."""
    if file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        with unpacking(file, source) as stream:
            yield stream
    else:
        yield file


def after_mark(stream: io.BufferedReader) -> io.BufferedReader:
    """The stream behind its byte order mark, if it has one."""
    if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    return stream


@contextmanager
def unpacking(packed: IO[bytes], source: str) -> Iterator[io.BufferedReader]:
    """The content of a gzip file as a stream; DataError where it is damaged, or made to fill the memory."""
    try:
        with io.BufferedReader(cast(Any, _Gunzip(packed, source)), _CHUNK) as stream:
            yield stream
    except EOFError:
        raise DataError("the gzip data is truncated", file=source) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip data is broken: {error}", file=source) from error


class _Gunzip(io.RawIOBase):
    def __init__(self, packed: IO[bytes], source: str) -> None:
        self._packed, self._source = packed, source
        self._stream = gzip.GzipFile(fileobj=packed)
        self._begin, self._size = packed.tell(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._size += len(data)
        if self._size >= _STRETCH:
            self._check_stretch()
        return len(data)

    def _check_stretch(self) -> None:
        """By stretches, so that little is unpacked before it shows, and no other data in the file can hide it."""
        place = self._packed.tell()
        if self._size > _MAX_FOLD * (place - self._begin):
            raise DataError(
                f"the gzip data unpacks to more than {_MAX_FOLD} times its size, as no captions do: it may be made to "
                "fill the memory. If it is right, unpack it with `gzip -d` and give the unpacked file",
                file=self._source,
            )
        self._begin, self._size = place, 0


def utf8_without_bom(data: bytes, source: str) -> bytes:
    """The same text as UTF-8, without a byte order mark. One of UTF-16, as Windows writes it, tells how to read it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(data) % 2 == 0:
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            pass  # told below, as what it is not
    if not data.isascii():
        _check_utf8(data, source)
    return data.removeprefix(codecs.BOM_UTF8)


def _check_utf8(data: bytes, source: str) -> None:
    # In pieces, since one wide character would make a decoded copy four times as large as the file.
    view, position = memoryview(data), 0
    while position < len(data):
        is_last = position + _CHUNK >= len(data)
        try:
            position += codecs.utf_8_decode(view[position : position + _CHUNK], "strict", is_last)[1]
        except UnicodeDecodeError as error:
            offset = position + error.start
            line = data.count(b"\n", 0, offset) + 1
            message = (
                f"not UTF-8: byte {offset} (counted from 0) is 0x{data[offset]:02x}, {error.reason}. If it is Latin-1, "
                "`iconv -f latin1 -t utf-8` changes it"
            )
            raise DataError(message, file=source, line=line) from None


@contextmanager
def writing(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary stream to `path`, packed when the name ends in `.gz`. The file appears whole or not at all."""
    # /dev/stdout by its name: opened as a file it would begin anew, or, where it is a pipe, not be there.
    if is_standard_stream(path) or os.fspath(path) == "/dev/stdout":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _replacing(path) as stream:
        if os.fspath(path).lower().endswith(".gz"):
            # No name and no time inside, so that the same rows give the same bytes.
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield stream


@contextmanager
def _replacing(path: PathLike) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))  # a link stays a link
    is_special = target.exists() and not target.is_file()  # /dev/null must not be replaced by a file
    written = target if is_special else target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        stream = written.open("wb" if is_special else "xb")
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error
    try:
        with stream:
            yield stream
        if not is_special:
            os.replace(written, target)
    except BaseException as error:
        if not is_special:
            written.unlink(missing_ok=True)
        # Who reads from a pipe may stop when it has seen enough: that is no fault of the file.
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise DataError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error
        raise


def import_pyarrow() -> tuple[Any, Any]:
    """The modules `pyarrow` and `pyarrow.parquet`, loaded only when a Parquet file is at hand."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra("Reading and writing Parquet", "parquet") from None
