"""The cache directory: where it is, that files in it appear whole, and that they are built once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import IO

import pytest

from capeval.errors import CapevalError, DataError
from capeval.io.cache import built_once, remembered, sha256_of
from capeval.run import cache_dir


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def is_good(path: Path) -> bool:
    return path.is_file() and path.read_bytes().startswith(b"good")


def write_good(stream: IO[bytes]) -> None:
    stream.write(b"good")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.setenv("CAPEVAL_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "capeval"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "home" / ".cache" / "capeval"
    monkeypatch.setenv("CAPEVAL_CACHE", "~/here")
    assert cache_dir() == tmp_path / "home" / "here"


def test_a_good_file_is_not_built_again(cache: Path) -> None:
    path = built_once(cache / "sub" / "file", is_good, write_good)
    assert path.read_bytes() == b"good"
    before = path.stat()
    assert built_once(path, is_good, lambda stream: pytest.fail("built again")) == path
    assert path.stat() == before


def test_a_damaged_file_is_built_again(cache: Path) -> None:
    path = built_once(cache / "file", is_good, write_good)
    path.write_bytes(b"bad")
    assert built_once(path, is_good, write_good).read_bytes() == b"good"


def test_a_failed_build_leaves_nothing(cache: Path) -> None:
    def fail(stream: IO[bytes]) -> None:
        stream.write(b"good")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built_once(cache / "file", is_good, fail)
    assert names(cache) == []


def test_leftovers_of_killed_processes_are_removed(cache: Path) -> None:
    cache.mkdir()
    (cache / ".file.0123abcd.tmp").write_bytes(b"half")
    built_once(cache / "file", is_good, write_good)
    assert names(cache) == ["file"]


def test_a_file_that_cannot_be_read_back_is_an_error(cache: Path) -> None:
    with pytest.raises(CapevalError, match="could not be read back"):
        built_once(cache / "file", lambda path: False, write_good)


def test_a_directory_that_cannot_be_made_names_the_variable(cache: Path) -> None:
    cache.write_text("a file is in the way")
    with pytest.raises(DataError, match="CAPEVAL_CACHE"):
        built_once(cache / "sub" / "file", is_good, write_good)


def test_an_answer_is_remembered_until_the_file_changes(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"one")
    asked = []

    def answer(path: Path) -> str:
        asked.append(path.read_bytes())
        return path.read_text()

    assert [remembered(path, "text", answer, cache_dir()) for _ in range(3)] == ["one"] * 3
    assert remembered(path, "another question", answer, cache_dir()) == "one"
    path.write_bytes(b"other")
    assert remembered(path, "text", answer, cache_dir()) == "other"
    assert asked == [b"one", b"one", b"other"]
    for note in (cache / "known").iterdir():
        note.write_bytes(b"")
    assert remembered(path, "text", answer, cache_dir()) == "other"


def test_an_answer_is_given_where_it_cannot_be_kept(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file is in the way")
    assert remembered(cache, "text", lambda path: "yes", cache_dir()) == "yes"


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abc??")
    assert sha256_of(path, without_last=2).startswith(
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_of_many_processes_one_builds(cache: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from capeval.io.cache import built_once

        def build(stream):
            print("building", flush=True)
            time.sleep(0.3)
            stream.write(b"good")

        path = Path(sys.argv[1])
        assert built_once(path, lambda p: p.is_file(), build).read_bytes() == b"good"
        """
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(cache / "file")], stdout=subprocess.PIPE, env=os.environ)
        for _ in range(10)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 10
    assert b"".join(outputs).count(b"building") == 1
    assert names(cache) == ["file"]
