from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from capeval.errors import DataError
from capeval.scene.official.fetch import fetch_grammar
from capeval.scene.official.grammar import MEMBER, grammar_path, load_grammar

FILLER = bytes(range(256)) * 1200


@dataclass
class Site:
    """A server with one file, and how it behaves."""

    content: bytes = b""
    has_ranges: bool = True
    breaks: list[int] = field(default_factory=list)
    """For each answer in turn, after how many bytes the connection breaks."""
    status: int = 200
    sent: int = 0
    requests: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def site() -> Iterator[Site]:
    behaviour = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            behaviour.requests.append(asked)
            # Taken before the answer begins: the client may ask again as soon as it has seen the headers.
            limit = behaviour.breaks.pop(0) if behaviour.breaks else None
            part = re.fullmatch(r"bytes=(\d+)-(\d*)", asked) if behaviour.has_ranges else None
            size = len(behaviour.content)
            begin, end = (int(part[1]), min(size, int(part[2] or size) + 1)) if part else (0, size)
            self.send_response(206 if part and behaviour.status == 200 else behaviour.status)
            if part:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            body = behaviour.content[begin:end][:limit]
            try:
                self.wfile.write(body)
                behaviour.sent += len(body)
            except OSError:
                pass  # the client has seen enough

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    behaviour.url = f"http://127.0.0.1:{server.server_port}/models.zip"
    yield behaviour
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class Unseekable(io.BytesIO):
    """Makes `zipfile` write sizes after the data, as Java's jar tool does."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def seek(self, *arguments: int) -> int:
        raise OSError


def archive(members: dict[str, bytes], packing: int, stream: type[io.BytesIO] = io.BytesIO) -> bytes:
    target = stream()
    with zipfile.ZipFile(target, "w", packing) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return target.getvalue()


def jar(grammar: bytes, packing: int = zipfile.ZIP_DEFLATED, stream: type[io.BytesIO] = io.BytesIO) -> bytes:
    members = {"META-INF/MANIFEST.MF": b"Version: 1\n", "first.bin": FILLER, MEMBER: grammar, "last.bin": FILLER}
    return archive(members, packing, stream)


def fetch(site: Site, **options: bool) -> Path:
    return fetch_grammar(site.url, allow_other=True, pause=0.0, **options)


KINDS: dict[str, Callable[[bytes], bytes]] = {
    "jar": jar,
    "stored jar": lambda grammar: jar(grammar, zipfile.ZIP_STORED),
    "streamed jar": lambda grammar: jar(grammar, stream=Unseekable),
    "archive with a stored jar": lambda grammar: archive(
        {"readme.txt": FILLER, "corenlp/x-models.jar": jar(grammar)}, zipfile.ZIP_STORED
    ),
    "archive with a packed jar": lambda grammar: archive(
        {"readme.txt": FILLER, "corenlp/x-models.jar": jar(grammar, stream=Unseekable)}, zipfile.ZIP_DEFLATED
    ),
    "streamed archive with a packed jar": lambda grammar: archive(
        {"readme.txt": FILLER, "corenlp/x-models.jar": jar(grammar)}, zipfile.ZIP_DEFLATED, Unseekable
    ),
}


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_archive(site: Site, tiny_original: bytes, kind: str, has_ranges: bool) -> None:
    site.content, site.has_ranges = KINDS[kind](tiny_original), has_ranges
    assert fetch(site) == grammar_path()
    assert load_grammar().states


def test_plain_file(site: Site, tiny_original: bytes) -> None:
    site.content = tiny_original
    site.url = site.url.replace("models.zip", "englishPCFG.ser.gz")
    assert fetch(site).is_file()


def test_only_the_needed_part_travels(site: Site, tiny_original: bytes) -> None:
    noise = bytes((i * i * 7919 >> 7) & 255 for i in range(3_000_000))
    site.content = archive({"noise": noise, MEMBER: tiny_original, "more": noise}, zipfile.ZIP_STORED)
    fetch(site)
    assert site.sent < 400_000


def test_progress(site: Site, tiny_original: bytes) -> None:
    site.content, site.has_ranges = jar(tiny_original), False
    seen: list[tuple[int, int | None]] = []
    fetch_grammar(site.url, progress=lambda done, total: seen.append((done, total)), allow_other=True, pause=0.0)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][1] == len(site.content)


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("kind", ["jar", "archive with a packed jar"])
def test_broken_connections_are_taken_up_again(site: Site, tiny_original: bytes, kind: str, has_ranges: bool) -> None:
    site.content, site.has_ranges = KINDS[kind](tiny_original), has_ranges
    site.breaks = [10**9, 100, 700, 1500, 2000] if has_ranges else [10**9, 700, 1500, 2500]
    fetch(site)
    assert not site.breaks
    assert load_grammar().states


def test_resuming_asks_for_the_rest(site: Site, tiny_original: bytes) -> None:
    site.content = tiny_original
    site.url = site.url.replace("models.zip", "englishPCFG.ser.gz")
    site.breaks = [700, 400]
    fetch(site)
    assert site.requests == ["", "bytes=700-", "bytes=1100-"]


def test_a_connection_that_always_breaks(site: Site, tiny_original: bytes) -> None:
    site.content, site.breaks = jar(tiny_original), [10**9] + [0] * 50
    with pytest.raises(DataError, match="the connection failed"):
        fetch(site)
    assert not grammar_path().exists()


@pytest.mark.parametrize("has_ranges", [True, False])
def test_damage_is_noticed(site: Site, tiny_original: bytes, has_ranges: bool) -> None:
    whole = jar(tiny_original)
    site.has_ranges = has_ranges
    at = whole.index(MEMBER.encode()) + len(MEMBER) + 40
    for content in (b"", b"not an archive", whole[: at + 100], whole[:at] + b"\0" * 50 + whole[at + 50 :]):
        site.content = content
        with pytest.raises(DataError):
            fetch(site)
        assert not grammar_path().exists()


def test_wrong_checksum(site: Site, tiny_original: bytes) -> None:
    site.content = jar(tiny_original)
    with pytest.raises(DataError, match="sha256"):
        fetch_grammar(site.url, pause=0.0)
    assert not grammar_path().exists()


def test_archive_without_a_grammar(site: Site) -> None:
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for site.has_ranges in (True, False):
            site.content = archive({"a": FILLER}, packing)
            with pytest.raises(DataError, match=r"no edu/.* is in it"):
                fetch(site)


def test_missing_page_is_not_tried_again(site: Site) -> None:
    site.status = 404
    with pytest.raises(DataError, match="404"):
        fetch(site)
    assert len(site.requests) == 1


def test_other_addresses_are_refused() -> None:
    for url in ("file:///etc/passwd", "ftp://example.org/x", "models.jar"):
        with pytest.raises(DataError, match="only http"):
            fetch_grammar(url)
