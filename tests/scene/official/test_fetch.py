from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capeval.errors import DataError, MissingExtra
from capeval.run import Run
from capeval.scene.official.fetch import fetch_grammar
from capeval.scene.official.grammar import MEMBER, grammar_path, load_grammar

pytest.importorskip("httpx")
FILLER = bytes(range(256)) * 1200


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))


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


def fetch(site: Any, **options: bool) -> Path:
    return fetch_grammar(f"{site.url}/models.zip", allow_other=True, pause=0.0, **options)


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
def test_every_kind_of_archive(site: Any, tiny_original: bytes, kind: str, has_ranges: bool) -> None:
    site.content, site.has_ranges = KINDS[kind](tiny_original), has_ranges
    assert fetch(site) == grammar_path()
    assert load_grammar().states


def fetch_plain(site: Any) -> Path:
    return fetch_grammar(f"{site.url}/englishPCFG.ser.gz", allow_other=True, pause=0.0)


def test_plain_file(site: Any, tiny_original: bytes) -> None:
    site.content = tiny_original
    assert fetch_plain(site).is_file()


def test_only_the_needed_part_travels(site: Any, tiny_original: bytes) -> None:
    noise = bytes((i * i * 7919 >> 7) & 255 for i in range(3_000_000))
    site.content = archive({"noise": noise, MEMBER: tiny_original, "more": noise}, zipfile.ZIP_STORED)
    fetch(site)
    assert site.sent < 400_000


def test_progress(site: Any, tiny_original: bytes, notes: Any, tmp_path: Path) -> None:
    site.content, site.has_ranges = jar(tiny_original), False
    run = Run(progress=notes, cache=tmp_path / "elsewhere")
    path = fetch_grammar(f"{site.url}/models.zip", run, allow_other=True, pause=0.0)
    assert path == grammar_path(run.cache)
    assert notes.bars == ["fetching"]
    assert notes.shown == sorted(notes.shown)
    assert notes.shown[-1] > len(tiny_original)


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("kind", ["jar", "archive with a packed jar"])
def test_broken_connections_are_taken_up_again(site: Any, tiny_original: bytes, kind: str, has_ranges: bool) -> None:
    site.content, site.has_ranges = KINDS[kind](tiny_original), has_ranges
    site.breaks = [10**9, 100, 700, 1500, 2000] if has_ranges else [10**9, 700, 1500, 2500]
    fetch(site)
    assert not site.breaks
    assert load_grammar().states


def test_resuming_asks_for_the_rest(site: Any, tiny_original: bytes) -> None:
    site.content = tiny_original
    site.breaks = [700, 400]
    fetch_plain(site)
    assert site.requests == ["", "bytes=700-", "bytes=1100-"]


def test_a_connection_that_always_breaks(site: Any, tiny_original: bytes) -> None:
    site.content, site.breaks = jar(tiny_original), [10**9] + [0] * 50
    with pytest.raises(DataError, match="the connection failed"):
        fetch(site)
    assert not grammar_path().exists()


@pytest.mark.parametrize("has_ranges", [True, False])
def test_damage_is_noticed(site: Any, tiny_original: bytes, has_ranges: bool) -> None:
    whole = jar(tiny_original)
    site.has_ranges = has_ranges
    at = whole.index(MEMBER.encode()) + len(MEMBER) + 40
    for content in (b"", b"not an archive", whole[: at + 100], whole[:at] + b"\0" * 50 + whole[at + 50 :]):
        site.content = content
        with pytest.raises(DataError):
            fetch(site)
        assert not grammar_path().exists()


def test_wrong_checksum(site: Any, tiny_original: bytes) -> None:
    site.content = jar(tiny_original)
    with pytest.raises(DataError, match="sha256"):
        fetch_grammar(f"{site.url}/models.zip", pause=0.0)
    assert not grammar_path().exists()


def test_archive_without_a_grammar(site: Any) -> None:
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for site.has_ranges in (True, False):
            site.content = archive({"a": FILLER}, packing)
            with pytest.raises(DataError, match=r"no edu/.* is in it"):
                fetch(site)


def test_missing_page_is_not_tried_again(site: Any) -> None:
    site.status = 404
    with pytest.raises(DataError, match="404"):
        fetch(site)
    assert len(site.requests) == 1


def test_other_addresses_are_refused() -> None:
    for url in ("file:///etc/passwd", "ftp://example.org/x", "models.jar"):
        with pytest.raises(DataError, match="only http"):
            fetch_grammar(url)


@pytest.mark.parametrize("has_ranges", [True, False])
def test_redirects_are_followed(site: Any, tiny_original: bytes, has_ranges: bool) -> None:
    site.content, site.has_ranges, site.redirects = jar(tiny_original), has_ranges, 2
    fetch(site)
    assert load_grammar().states


def test_a_busy_server_is_asked_again(site: Any, tiny_original: bytes) -> None:
    site.content, site.troubles = jar(tiny_original), [503, 500]
    fetch(site)
    assert load_grammar().states


def test_a_name_that_only_looks_like_the_jar(site: Any, tiny_original: bytes) -> None:
    site.content = archive({"a-models.jar.txt": FILLER, "x-models.jar": jar(tiny_original)}, zipfile.ZIP_DEFLATED)
    for site.has_ranges in (True, False):
        fetch(site)
        assert load_grammar().states


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"\[fetch\]"):
        fetch_grammar()
