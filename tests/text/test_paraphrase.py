"""The index of paraphrases: it says what the table says, and survives damage, crowds and sudden death."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import DataError, MissingExtra
from capeval.run import Run
from capeval.text import paraphrase
from capeval.text.paraphrase import Phrases, build_index, find_table, load_phrases

PAIRS = [("a man", "person"), ("a man", "a guy"), ("bike", "a two wheeled bike"), ("a man", "the man"), ("x", "ü")]
LOAD = "import sys; from pathlib import Path; from capeval.text.paraphrase import load_phrases; "
PROGRAM = (
    LOAD
    + """
from contextlib import contextmanager
from capeval.run import Progress, Run

class Told(Progress):
    @contextmanager
    def bar(self, what, total=None, unit=""):
        print("building", file=sys.stderr)
        yield lambda done: None

print(len(load_phrases(Path(sys.argv[1]), Run(progress=Told())).paraphrases))
"""
)


def write_table(path: Path, pairs: list[tuple[str, str]]) -> Path:
    text = "".join(f"0.25\n{phrase}\n{other}\n" for phrase, other in pairs)
    path.write_bytes(gzip.compress(text.encode(), 1, mtime=0))
    return path


def large_pairs(count: int) -> list[tuple[str, str]]:
    choose = random.Random(0)
    words = [f"w{i}" for i in range(500)]
    phrases = [" ".join(choose.choices(words, k=choose.randint(1, 5))) for _ in range(2 * count)]
    return list(zip(phrases[:count], phrases[count:]))


def pairs_of(phrases: Phrases) -> dict[str, list[str]]:
    """The table read back from the tree."""
    nodes = len(phrases.last_word)
    parent = np.full(nodes, -1)
    for node in range(nodes):
        parent[phrases.child_start[node] : phrases.child_start[node + 1]] = node

    def spelling(node: int) -> str:
        word = phrases.words[phrases.last_word[node]].decode()
        return word if parent[node] < 0 else f"{spelling(parent[node])} {word}"

    found = {}
    for node in range(nodes):
        targets = phrases.paraphrases[phrases.pair_start[node] : phrases.pair_start[node + 1]]
        if len(targets):
            found[spelling(node)] = [spelling(target) for target in targets]
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    paraphrase._OPEN.clear()
    return tmp_path / "cache"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "table.gz", PAIRS)


def index_of(cache: Path) -> Path:
    (index,) = (cache / "meteor").glob("*.phrases")
    return index


def test_the_index_has_the_table_in_order(table: Path, notes: Any) -> None:
    phrases = load_phrases(table, Run(progress=notes))
    assert pairs_of(phrases) == {
        "a man": ["person", "a guy", "the man"],
        "bike": ["a two wheeled bike"],
        "x": ["ü"],
    }
    assert notes.bars == ["Building METEOR's paraphrase index (once)"]
    paraphrase._OPEN.clear()
    assert pairs_of(load_phrases(table, Run(progress=notes))) == pairs_of(phrases)
    assert len(notes.bars) == 1


def test_numbers_of_words(table: Path) -> None:
    phrases = load_phrases(table)
    numbers = phrases.numbers_of(["bike", "nothing", "", "ü", "a word longer than all of them", "zzz"])
    assert [phrases.words[n].decode() if n >= 0 else None for n in numbers] == ["bike", None, None, "ü", None, None]
    assert len(phrases.numbers_of([])) == 0


word = st.sampled_from(["a", "b", "cc", "é", "'"])
phrase = st.lists(word, min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(phrase, phrase), min_size=1, max_size=30))
def test_any_table_is_read_back(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    expected: dict[str, list[str]] = {}
    for source, target in pairs:
        expected.setdefault(source, []).append(target)
    table = write_table(tmp_path_factory.mktemp("table") / "table.gz", pairs)
    assert pairs_of(build_index(table, Run())) == expected


def test_a_large_table_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path / "large.gz", large_pairs(3000))
    whole = build_index(table, Run())
    monkeypatch.setattr(paraphrase, "CHUNK", 1000)
    for one, other in zip(whole, build_index(table, Run())):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"not gzip", "cannot be unpacked"),
        (gzip.compress(b"0.1\na\nb\n" * 1000, mtime=0)[:-20], "cannot be unpacked"),
        (gzip.compress(b"0.1\na\nb\n0.2\nc\n", mtime=0), "ends within a pair"),
        (gzip.compress(b"0.1\na\n\n", mtime=0), "not a table"),
        (gzip.compress(b"", mtime=0), "not a table"),
        (gzip.compress(b"0.1\n" + b"x" * 300 + b"\ny\n", mtime=0), "not a table"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, cache: Path, data: bytes, message: str) -> None:
    table = tmp_path / "wrong.gz"
    table.write_bytes(data)
    with pytest.raises(DataError, match=message):
        load_phrases(table)
    assert not list(cache.rglob("*.phrases")) + list(cache.rglob("*.tmp"))


@pytest.mark.parametrize("damage", ["cut", "empty", "longer", "flipped", "header", "sizes"])
def test_a_damaged_index_is_built_again(table: Path, cache: Path, damage: str) -> None:
    expected = pairs_of(load_phrases(table))
    paraphrase._OPEN.clear()
    index = index_of(cache)
    data = bytearray(index.read_bytes())
    if damage == "cut":
        data = data[:-5]
    elif damage == "empty":
        data = bytearray()
    elif damage == "longer":
        data += b"x"
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
    elif damage == "header":
        data[0] ^= 1
    else:
        data[32:40] = (2**62).to_bytes(8, "little")
    index.write_bytes(data)
    assert pairs_of(load_phrases(table)) == expected


def test_another_table_has_another_index(table: Path, tmp_path: Path, cache: Path) -> None:
    load_phrases(table)
    paraphrase._OPEN.clear()
    write_table(table, PAIRS[:2])
    assert pairs_of(load_phrases(table)) == {"a man": ["person", "a guy"]}
    assert len(list((cache / "meteor").glob("*.phrases"))) == 2


def test_without_the_package_the_error_names_both_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda name: None)
    ways = r"METEOR\'s paraphrase table .* pip install .*\[meteor\].*, or .* `capeval data fetch meteor-table`"
    with pytest.raises(MissingExtra, match=ways):
        find_table()


def test_ten_processes_start_at_once(tmp_path: Path) -> None:
    table = write_table(tmp_path / "large.gz", large_pairs(5000))
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(table)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(10)
    ]
    outputs = [process.communicate(timeout=300) for process in started]
    assert [out for out, _ in outputs] == [b"5000\n"] * 10
    assert b"".join(err for _, err in outputs).count(b"building") == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_build_does_no_harm(tmp_path: Path, cache: Path) -> None:
    pairs = large_pairs(20_000)
    table = write_table(tmp_path / "large.gz", pairs)
    choose = random.Random(1)
    rounds = int(os.environ.get("CAPEVAL_KILL_ROUNDS", "3"))
    for _ in range(rounds):
        for index in cache.rglob("*.phrases"):
            index.unlink()
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(table)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        process.stderr.readline()  # the build has begun
        time.sleep(choose.random() * 0.4)
        process.kill()
        process.communicate()
        paraphrase._OPEN.clear()
        # Whatever is there now is either nothing or whole.
        found = load_phrases(table)
        assert len(found.paraphrases) == len(pairs)
        assert not list(cache.rglob("*.phrases.*.tmp"))
