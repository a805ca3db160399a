"""Reading files from servers over http: a broken connection is taken up again at the byte where it broke."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capeval.errors import DataError, MissingExtra

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 60.0
_TRIES = 5
_CHUNK = 1 << 16
_LARGEST_READ = 1 << 26
# As it is stored: ranges count the bytes of the file, not of a packed answer.
_HEADERS = {"User-Agent": "capeval", "Accept-Encoding": "identity"}


def download(url: str, target: Path, size: int, show: Callable[[int], None], pause: float = 1.0) -> None:
    """Fills a file of a known size; what it has already, from a call that was broken off, is not asked for again."""
    with connected(url, pause) as remote, target.open("ab") as file:
        place = file.tell()
        if place < size:
            for block in remote.blocks(place):
                place += file.write(block)
                if place > size:
                    break
                show(place)
    if place > size:
        target.unlink()
        raise DataError(f"the server sent more than the {size:,} bytes that the file has", file=url)


@contextmanager
def connected(url: str, pause: float = 1.0) -> Iterator[Remote]:
    """The file at an address. What goes wrong on the way becomes a DataError."""
    if not url.lower().startswith(("http://", "https://")):
        raise DataError("only http and https addresses can be fetched", file=url)
    try:
        import httpx
    except ImportError:
        raise MissingExtra("Fetching", "fetch") from None
    try:
        with httpx.Client(headers=_HEADERS, timeout=_TIMEOUT, follow_redirects=True) as client:
            yield Remote(client, url, pause)
    except httpx.HTTPStatusError as error:
        answer = f"{error.response.status_code} {error.response.reason_phrase}"
        raise DataError(f"the server refuses it: {answer}. Is the address right?", file=url) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DataError(f"the connection failed: {error}. Try again, or give another address", file=url) from error


class Remote:
    """A file on a server. `pause` is the time in seconds before a second try; it doubles with each more."""

    def __init__(self, client: httpx.Client, url: str, pause: float) -> None:
        self.client, self.url, self.pause = client, url, pause
        self.size = 0
        self.received = 0
        self.show: Callable[[int], None] = lambda received: None

    def has_ranges(self) -> bool:
        """Whether the server sends parts of the file; finds the file's size too."""
        list(self.blocks(0, 1))
        return self.size > 0

    def blocks(self, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from one place to another, over as many connections as it takes."""
        import httpx

        place, failures = begin, 0
        while end is None or place < end:
            try:
                with self._open(place, end) as response:
                    # A server without ranges begins anew: what was read already is passed over.
                    skip = 0 if response.status_code == httpx.codes.PARTIAL_CONTENT else place
                    for block in response.iter_raw():
                        fresh = block[skip:] if end is None else block[skip : skip + end - place]
                        skip = max(0, skip - len(block))
                        if not fresh:
                            continue
                        place, failures = place + len(fresh), 0
                        self.received += len(fresh)
                        self.show(self.received)
                        yield fresh
                        if place == end:
                            return
                    if end is None and not skip:
                        return
                    raise httpx.RemoteProtocolError("the file ended too early")
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                failures += 1
                if failures == _TRIES or not _may_pass(error, self.received):
                    raise
            time.sleep(self.pause * 2 ** (failures - 1))

    @contextmanager
    def _open(self, begin: int, end: int | None) -> Iterator[httpx.Response]:
        asked = {"Range": f"bytes={begin}-{'' if end is None else end - 1}"} if begin or end is not None else {}
        with self.client.stream("GET", self.url, headers=asked) as response:
            response.raise_for_status()
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
            self.size = int(total) if total.isdigit() else 0
            yield response

    def window(self, begin: int = 0, size: int | None = None) -> io.BufferedReader:
        """A part of the file as a file of its own, of which only what is read travels; the server must have ranges."""
        whole = self.size if size is None else size
        return io.BufferedReader(_Window(self, begin, whole), _CHUNK)


def _may_pass(error: Exception, received: int) -> bool:
    """Whether another try may help: a server may be busy or break off, but what is not there stays away."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.is_server_error
    return received > 0 or not isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol)


class _Window(io.RawIOBase):
    def __init__(self, remote: Remote, begin: int, size: int) -> None:
        self.remote, self.begin, self.size = remote, begin, size
        self.place = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        if place < 0:
            raise OSError("a place before the beginning")
        self.place = place
        return place

    def readinto(self, buffer: Any) -> int:
        size = max(0, min(len(buffer), self.size - self.place))
        if size > _LARGEST_READ:
            raise DataError("damaged: a part is larger than it can be", file=self.remote.url)
        begin = self.begin + self.place
        if size:
            buffer[:size] = b"".join(self.remote.blocks(begin, begin + size))
        self.place += size
        return size
