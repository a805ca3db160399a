"""Parsed captions on disk: found again, bounded, and never in the way."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capeval.scene import Token
from capeval.scene.store import Parsed, ParseStore

TUPLES = [("dog",), ("dog", "black"), ("dog", "beach", "run on")]
TOKENS = (Token("a", "DT", "a"), Token("dogs", "NNS", "dog"))
DOG = Parsed((TOKENS, ((2, 1, "det"), (0, 2, "root"))), TUPLES)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CAPEVAL_PARSE_CACHE", raising=False)
    return tmp_path / "deep" / "parses.sqlite"


def test_what_was_added_is_found_again(path: Path) -> None:
    empty, other = Parsed(((), ()), []), Parsed(DOG.dependencies, [("caf\u00e9",)])
    ParseStore("v1", path).add({"a dog": DOG, "": empty, "caf\u00e9 \U0001f600": other})
    again = ParseStore("v1", path)
    assert again.find_tuples(["a dog", "a cat", ""]) == {"a dog": TUPLES, "": []}
    assert again.find_tuples(["caf\u00e9 \U0001f600"]) == {"caf\u00e9 \U0001f600": [("caf\u00e9",)]}
    dependencies = again.find_dependencies(["a dog", "a cat", ""])
    assert dependencies == {"a dog": DOG.dependencies, "": ((), ())}
    assert isinstance(dependencies["a dog"][0][0], Token)


def test_another_version_of_the_parser_does_not_see_it(path: Path) -> None:
    ParseStore("v1", path).add({"a dog": DOG})
    assert ParseStore("v2", path).find_tuples(["a dog"]) == {}


def test_more_captions_than_one_question_takes(path: Path) -> None:
    store = ParseStore("v1", path)
    store.add({f"caption {i}": DOG._replace(tuples=[(str(i),)]) for i in range(1201)})
    found = store.find_tuples([f"caption {i}" for i in range(1300)])
    assert len(found) == 1201
    assert found["caption 1200"] == [("1200",)]


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_it_can_be_switched_off(path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("CAPEVAL_PARSE_CACHE", word)
    store = ParseStore("v1", path)
    store.add({"a dog": DOG})
    assert store.find_tuples(["a dog"]) == {}
    assert not path.exists()


def test_a_damaged_file_is_set_aside(path: Path) -> None:
    """It may be somebody's: it gets another name, and that is said."""
    said: list[str] = []
    for number, content in ((1, b"this is no database " * 300), (2, b"nor is this" * 300)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        store = ParseStore("v1", path, note=said.append)
        assert store.find_tuples(["a dog"]) == {}
        kept = path.with_name(f"{path.name}.damaged-{number}")
        assert kept.read_bytes() == content
        assert str(kept) in said[-1]
        store.add({"a dog": DOG})
        assert ParseStore("v1", path).find_tuples(["a dog"]) == {"a dog": TUPLES}
    assert len(said) == 2


def test_damage_inside_is_noticed_too(path: Path) -> None:
    store = ParseStore("v1", path)
    store.add({f"caption {i}": DOG for i in range(2000)})
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)  # the first page, with the header, is whole
    path.write_bytes(data)
    assert store.find_tuples([f"caption {i}" for i in range(2000)]) == {}
    assert path.with_name(f"{path.name}.damaged-1").read_bytes() == data
    store.add({"a dog": DOG})
    assert store.find_tuples(["a dog"]) == {"a dog": TUPLES}


def test_a_damaged_entry_is_parsed_again(path: Path) -> None:
    store = ParseStore("v1", path)
    store.add({"a dog": DOG, "a cat": DOG})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE parses SET tuples = '[[1' WHERE number = 1")
    assert store.find_tuples(["a dog", "a cat"]) == {"a cat": TUPLES}
    store.add({"a dog": DOG})
    assert store.find_tuples(["a dog", "a cat"]) == {"a dog": TUPLES, "a cat": TUPLES}


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ParseStore("v1", tmp_path / "file" / "parses.sqlite")
    store.add({"a dog": DOG})
    assert store.find_tuples(["a dog"]) == {}


def test_it_stays_below_its_size(path: Path) -> None:
    store = ParseStore("v1", path, max_bytes=200_000)
    for batch in range(20):
        store.add({f"caption {batch} {i}": DOG._replace(tuples=TUPLES * 5) for i in range(200)})
    assert path.stat().st_size < 600_000
    assert store.find_tuples(["caption 19 199"])  # the newest stay
    assert not store.find_tuples(["caption 0 0"])


def _write(path: Path, writer: int) -> None:
    store = ParseStore("v1", path)
    for batch in range(5):
        store.add({f"caption {writer} {batch} {i}": DOG for i in range(50)})


def test_several_writers_at_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    wanted = [f"caption {writer} {batch} {i}" for writer in range(3) for batch in range(5) for i in range(50)]
    assert len(ParseStore("v1", path).find_tuples(wanted)) == len(wanted)
