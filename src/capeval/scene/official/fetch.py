"""Fetching the SPICE grammar: 1.9 MB out of a jar, or out of Stanford's archive that holds the jar.

Where the server answers range requests, only the needed parts travel. Where it does not, or where the jar is packed
inside the archive, the stream is read up to the grammar and nothing else is kept. A broken connection is taken up
again at the byte where it broke.
"""

from __future__ import annotations

import http.client
import io
import struct
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from capeval.errors import DataError
from capeval.scene.official.grammar import MEMBER, store_grammar

ARCHIVE_URL = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
NOTICE = (
    "The grammar englishPCFG of Stanford CoreNLP 3.6.0 is the work of the Stanford NLP Group, under the GNU General "
    "Public License, version 3 or later (https://nlp.stanford.edu/software/lex-parser.html). It is kept in your cache "
    "and is not part of capeval."
)

Progress = Callable[[int, "int | None"], None]
"""Called with the bytes received so far and, where it is known, how many there may be at most."""

_TIMEOUT = 60.0
_TRIES = 5
_CHUNK = 1 << 16
_MAX_GRAMMAR = 1 << 25
_MAX_DIRECTORY = 1 << 26
_BROKEN = (OSError, http.client.HTTPException)  # urllib's errors are OSErrors


class Stream(Protocol):
    """What is read from front to back."""

    def read(self, size: int) -> bytes: ...


def fetch_grammar(
    url: str | None = None, *, progress: Progress | None = None, allow_other: bool = False, pause: float = 1.0
) -> Path:
    """Fetches the grammar and puts it into the cache; returns where it is.

    The address may be that of a CoreNLP 3.6.0 models jar, of an archive that holds one, or of englishPCFG.ser.gz.
    `pause` is the time in seconds before a broken connection is tried again; it doubles each time.
    """
    address = url or ARCHIVE_URL
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise DataError(
            "only http and https addresses can be fetched; for a file use `capeval data import`", file=address
        )
    remote = _Remote(address, progress or (lambda done, total: None), pause)
    try:
        original = _fetch(remote)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        if remote.failure is not None:  # `zipfile` takes a file that cannot be read for one that is no archive
            raise _failed(address, remote.failure) from None
        raise DataError(f"what the server sent is damaged: {error}", file=address) from None
    except _BROKEN as error:
        raise _failed(address, error) from error
    if original is None:
        raise DataError(f"no {MEMBER} is in it; a models jar of CoreNLP 3.6.0 is needed", file=address)
    return store_grammar(original, address, allow_other=allow_other)


def _failed(address: str, error: Exception) -> DataError:
    return DataError(f"the connection failed: {error}. Try again, or give another address", file=address)


def _fetch(remote: _Remote) -> bytes | None:
    if urllib.parse.urlsplit(remote.url).path.endswith(".ser.gz"):
        return _limited(remote.stream())
    if remote.has_ranges():
        return _by_ranges(remote)
    return _find_in_stream(remote.stream())


def _by_ranges(remote: _Remote) -> bytes | None:
    with zipfile.ZipFile(io.BufferedReader(_Window(remote, 0, remote.size), _CHUNK)) as archive:
        names = {entry.filename: entry for entry in archive.infolist()}
        if MEMBER in names:
            return _read_member(archive, names[MEMBER])
        jars = [entry for name, entry in names.items() if _is_models_jar(name)]
    for entry in jars:
        begin = _data_offset(remote, entry)
        if entry.compress_type == zipfile.ZIP_STORED:
            window = io.BufferedReader(_Window(remote, begin, entry.compress_size), _CHUNK)
            with zipfile.ZipFile(window) as jar:
                return _read_member(jar, jar.getinfo(MEMBER)) if MEMBER in jar.namelist() else None
        # Packed within the archive: there is no way into the middle, so it is unpacked from its beginning.
        return _find_in_stream(_Inflated(remote.stream(begin)))
    return None


def _read_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > _MAX_GRAMMAR:
        raise zipfile.BadZipFile(f"{entry.filename} is too large for a grammar")
    return archive.read(entry)


def _data_offset(remote: _Remote, entry: zipfile.ZipInfo) -> int:
    header = remote.read_range(entry.header_offset, 30)
    name, extra = struct.unpack("<HH", header[26:30])
    return int(entry.header_offset + 30 + name + extra)


def _is_models_jar(name: str) -> bool:
    return name.endswith("-models.jar")


def _limited(stream: Stream) -> bytes:
    parts, size = [], 0
    while chunk := stream.read(_CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > _MAX_GRAMMAR:
            raise EOFError("more data than a grammar can have")
    return b"".join(parts)


# --- a server ---


class _Remote:
    """A file on a server. Reads survive broken connections."""

    def __init__(self, url: str, progress: Progress, pause: float) -> None:
        self.url, self.progress, self.pause = url, progress, pause
        self.size = 0
        self.received = 0
        self.failure: Exception | None = None

    def has_ranges(self) -> bool:
        """Whether the server sends parts of the file; finds the file's size too."""
        with self.open(0, 1) as response:
            if response.status != 206:
                return False
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
            self.size = int(total) if total.isdigit() else 0
            return self.size > 0

    def open(self, begin: int, end: int | None) -> http.client.HTTPResponse:
        """The response with bytes `begin` to `end`, or with the whole file where the server knows no ranges."""
        request = urllib.request.Request(self.url, headers={"User-Agent": "capeval", "Accept-Encoding": "identity"})
        if begin or end is not None:
            request.add_header("Range", f"bytes={begin}-{'' if end is None else end - 1}")
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
        assert isinstance(response, http.client.HTTPResponse)
        return response

    def read_range(self, begin: int, size: int) -> bytes:
        if size > _MAX_DIRECTORY:
            raise zipfile.BadZipFile("a part is larger than it can be")
        pieces = _Pieces(self, begin, begin + size)
        return b"".join(iter(lambda: pieces.read(_CHUNK), b""))

    def stream(self, begin: int = 0) -> Stream:
        return _Pieces(self, begin, None)

    def count(self, size: int) -> None:
        self.received += size
        self.progress(self.received, self.size or None)


class _Pieces:
    """Bytes from one place to another, by as many connections as it takes."""

    def __init__(self, remote: _Remote, begin: int, end: int | None) -> None:
        self.remote, self.place, self.end = remote, begin, end
        self.response: http.client.HTTPResponse | None = None
        self.expected: int | None = end
        self.failures = 0

    def read(self, size: int) -> bytes:
        while True:
            try:
                chunk = self._read_once(size)
            except urllib.error.HTTPError as error:
                if error.code < 500:  # the server means it
                    raise
                self._recover(error)
            except _BROKEN as error:
                self._recover(error)
            else:
                self.failures = 0 if chunk else self.failures
                return chunk

    def _read_once(self, size: int) -> bytes:
        if self.expected is not None:
            size = min(size, self.expected - self.place)
        if size <= 0:
            return b""
        response = self.response or self._connect()
        chunk = response.read(size)
        if not chunk and self.expected is not None:
            raise ConnectionError(f"the connection ended at byte {self.place} of {self.expected}")
        self.place += len(chunk)
        self.remote.count(len(chunk))
        return chunk

    def _connect(self) -> http.client.HTTPResponse:
        response = self.remote.open(self.place, self.end)
        is_partial = response.status == 206
        length = response.headers.get("Content-Length", "")
        if self.end is None and length.isdigit():
            self.expected = int(length) + (self.place if is_partial else 0)
            self.remote.size = self.remote.size or self.expected
        if not is_partial:
            self._skip(response)
        self.response = response
        return response

    def _skip(self, response: http.client.HTTPResponse) -> None:
        """A server without ranges begins anew: what was read already is passed over."""
        left = self.place
        while left and (chunk := response.read(min(left, _CHUNK))):
            left -= len(chunk)
        if left:
            raise ConnectionError("the connection ended before the place where it broke the last time")

    def _recover(self, error: Exception) -> None:
        if self.response is not None:
            self.response.close()
        self.response = None
        self.failures += 1
        if self.failures >= _TRIES:
            self.remote.failure = error
            raise error
        time.sleep(self.remote.pause * 2 ** (self.failures - 1))


class _Window(io.RawIOBase):
    """A part of a remote file as a file of its own, for `zipfile`."""

    def __init__(self, remote: _Remote, begin: int, size: int) -> None:
        self.remote, self.begin, self.size = remote, begin, size
        self.place = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        if self.place < 0:
            raise OSError("a place before the beginning")
        return self.place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = max(0, min(len(buffer), self.size - self.place))
        if size:
            buffer[:size] = self.remote.read_range(self.begin + self.place, size)
        self.place += size
        return size


# --- archives from front to back ---


class _Inflated:
    """What a packed stream holds."""

    def __init__(self, packed: Stream) -> None:
        self.packed, self.inflater = packed, zlib.decompressobj(-zlib.MAX_WBITS)

    def read(self, size: int) -> bytes:
        while not self.inflater.eof:
            source = self.inflater.unconsumed_tail or self.packed.read(_CHUNK)
            if not source:
                raise EOFError("the packed data ends too early")
            if found := self.inflater.decompress(source, size):
                return found
        return b""


class _Peekable:
    """A stream that takes back what was read too far."""

    def __init__(self, source: Stream) -> None:
        self.source, self.kept = source, b""

    def read(self, size: int) -> bytes:
        if self.kept:
            found, self.kept = self.kept[:size], self.kept[size:]
            return found
        return self.source.read(size)

    def read_exactly(self, size: int) -> bytes:
        parts = []
        while size:
            chunk = self.read(min(size, _CHUNK))
            if not chunk:
                raise EOFError("the archive ends too early")
            parts.append(chunk)
            size -= len(chunk)
        return b"".join(parts)

    def give_back(self, data: bytes) -> None:
        self.kept = data + self.kept


class _Member:
    """The content of one member, read from the archive's stream; leaves the stream at the next member."""

    def __init__(self, archive: _Peekable, method: int, size: int | None, has_descriptor: bool) -> None:
        self.archive, self.left, self.has_descriptor = archive, size, has_descriptor
        if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError(f"a member is packed by method {method}")
        if method == zipfile.ZIP_STORED and size is None:
            raise NotImplementedError("a stored member without its size")
        self.inflater = zlib.decompressobj(-zlib.MAX_WBITS) if method == zipfile.ZIP_DEFLATED else None

    def read(self, size: int) -> bytes:
        if self.inflater is None:
            assert self.left is not None
            chunk = self.archive.read(min(size, self.left)) if self.left else b""
            if self.left and not chunk:
                raise EOFError("the archive ends too early")
            self.left -= len(chunk)
            return chunk
        while not self.inflater.eof:
            packed = self.inflater.unconsumed_tail or self.archive.read(_CHUNK)
            if not packed:
                raise EOFError("the archive ends too early")
            found = self.inflater.decompress(packed, size)
            if self.inflater.eof:
                self.archive.give_back(self.inflater.unused_data)
            if found:
                return found
        return b""

    def skip(self) -> None:
        if self.left is not None and self.inflater is not None:
            left = self.left
            while left:  # no need to unpack what is passed over
                left -= len(self.archive.read_exactly(min(left, _CHUNK)))
        else:
            while self.read(_CHUNK):
                pass
        if self.has_descriptor:
            start = self.archive.read_exactly(4)
            rest = self.archive.read_exactly(12 if start == b"PK\x07\x08" else 8)
            # Of a member beyond 4 GB the sizes take 8 bytes each; none is near that here.
            following = self.archive.read(4)
            self.archive.give_back(following)
            if following[:2] not in (b"PK", b""):
                raise NotImplementedError(f"a member is too large ({len(rest)} bytes of sizes)")


def _members(stream: Stream) -> Iterator[tuple[str, _Member]]:
    """Names and contents of an archive's members, in their order."""
    archive = _Peekable(stream)
    while archive.read_exactly(4) == b"PK\x03\x04":
        _, flags, method, _, _, _, packed, _, name_size, extra_size = struct.unpack("<5H3I2H", archive.read_exactly(26))
        name = archive.read_exactly(name_size).decode("utf-8", "replace")
        archive.read_exactly(extra_size)
        if flags & 1:
            raise NotImplementedError("the archive is encrypted")
        size_follows = bool(flags & 8)
        member = _Member(archive, method, None if size_follows and not packed else packed, size_follows)
        yield name, member
        member.skip()


def _find_in_stream(stream: Stream) -> bytes | None:
    """The grammar in an archive, or in a models jar inside of it."""
    for name, member in _members(stream):
        if name == MEMBER:
            return _limited(member)
        if _is_models_jar(name):
            return _find_in_stream(member)
    return None
