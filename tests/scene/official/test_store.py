"""Parsed captions on disk: found again, bounded, and never in the way."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from capeval.scene.store import ParseStore

TUPLES = [("dog",), ("dog", "black"), ("dog", "beach", "run on")]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CAPEVAL_PARSE_CACHE", raising=False)
    return tmp_path / "deep" / "parses.sqlite"


def test_what_was_added_is_found_again(path: Path) -> None:
    ParseStore("v1", path).add({"a dog": TUPLES, "": [], "caf\u00e9 \U0001f600": [("caf\u00e9",)]})
    again = ParseStore("v1", path)
    assert again.find(["a dog", "a cat", ""]) == {"a dog": TUPLES, "": []}
    assert again.find(["caf\u00e9 \U0001f600"]) == {"caf\u00e9 \U0001f600": [("caf\u00e9",)]}


def test_another_version_of_the_parser_does_not_see_it(path: Path) -> None:
    ParseStore("v1", path).add({"a dog": TUPLES})
    assert ParseStore("v2", path).find(["a dog"]) == {}


def test_more_captions_than_one_question_takes(path: Path) -> None:
    store = ParseStore("v1", path)
    store.add({f"caption {i}": [(str(i),)] for i in range(1201)})
    found = store.find([f"caption {i}" for i in range(1300)])
    assert len(found) == 1201
    assert found["caption 1200"] == [("1200",)]


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_it_can_be_switched_off(path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("CAPEVAL_PARSE_CACHE", word)
    store = ParseStore("v1", path)
    store.add({"a dog": TUPLES})
    assert store.find(["a dog"]) == {}
    assert not path.exists()


def test_a_damaged_file_is_made_anew(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database " * 300)
    store = ParseStore("v1", path)
    assert store.find(["a dog"]) == {}
    store.add({"a dog": TUPLES})
    assert ParseStore("v1", path).find(["a dog"]) == {"a dog": TUPLES}


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ParseStore("v1", tmp_path / "file" / "parses.sqlite")
    store.add({"a dog": TUPLES})
    assert store.find(["a dog"]) == {}


def test_it_stays_below_its_size(path: Path) -> None:
    store = ParseStore("v1", path, max_bytes=200_000)
    for batch in range(20):
        store.add({f"caption {batch} {i}": TUPLES * 5 for i in range(200)})
    assert path.stat().st_size < 600_000
    assert store.find(["caption 19 199"])  # the newest stay
    assert not store.find(["caption 0 0"])


def _write(path: Path, writer: int) -> None:
    store = ParseStore("v1", path)
    for batch in range(5):
        store.add({f"caption {writer} {batch} {i}": TUPLES for i in range(50)})


def test_several_writers_at_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    wanted = [f"caption {writer} {batch} {i}" for writer in range(3) for batch in range(5) for i in range(50)]
    assert len(ParseStore("v1", path).find(wanted)) == len(wanted)
