"""Word vectors: the table that is shipped, the file formats, and files with faults."""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from capeval.errors import DataError, UnknownName
from capeval.io.shipped import shipped
from capeval.text import vectorfiles
from capeval.text import vectors as module
from capeval.text.vectors import load_vectors
from capeval.text.vectortable import HEADER_SIZE, Vectors, open_table, write_table

WORDS = ["the", "dog", "café", "a-b"]
NUMBERS = np.array([[1.5, -2.0, 0.25], [0.0, 1e-3, 7.0], [3.0, 3.0, 3.0], [-1.0, 0.5, 0.125]], np.float32)


def as_glove() -> bytes:
    return b"".join(f"{word} {' '.join(map(str, row))}\n".encode() for word, row in zip(WORDS, NUMBERS.tolist()))


def as_word2vec_text() -> bytes:
    return b"4 3\n" + as_glove().replace(b"\n", b" \n")  # the original program ends lines with a space


def as_word2vec_binary(newline: bytes = b"\n") -> bytes:
    rows = [word.encode() + b" " + row.astype("<f4").tobytes() + newline for word, row in zip(WORDS, NUMBERS)]
    return b"4 3\n" + b"".join(rows)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    module._load_once.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def vectors_of(tmp_path: Path) -> Callable[[bytes], Vectors]:
    def load(data: bytes, name: str = "some.txt") -> Vectors:
        (tmp_path / name).write_bytes(data)
        return load_vectors(str(tmp_path / name))

    return load


def look_up(vectors: Vectors, words: list[str]) -> np.ndarray:
    rows = vectors.rows_of(words)
    assert (rows >= 0).all()
    return vectors.take(rows)


@pytest.mark.parametrize(
    "data",
    [
        as_glove(),
        as_glove().rstrip(b"\n"),
        as_glove() + b"\n\n",
        as_glove().replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + as_glove(),
        as_glove().replace(b" ", b"\t"),
        as_word2vec_text(),
        as_word2vec_binary(),
        as_word2vec_binary(b""),
        gzip.compress(as_glove(), mtime=0),
        gzip.compress(as_word2vec_text(), mtime=0),
        gzip.compress(as_word2vec_binary(), mtime=0),
    ],
    ids=[
        "glove",
        "no-last-newline",
        "blank-lines",
        "crlf",
        "bom",
        "tabs",
        "word2vec",
        "binary",
        "binary-tight",
        "glove-gz",
        "word2vec-gz",
        "binary-gz",
    ],
)
def test_formats(vectors_of: Callable[[bytes], Vectors], data: bytes) -> None:
    vectors = vectors_of(data)
    assert (len(vectors), vectors.dimensions) == (4, 3)
    np.testing.assert_array_equal(look_up(vectors, WORDS), NUMBERS)
    assert vectors.rows_of(["do", "dogs", "", "zebra", "\udc80"]).tolist() == [-1] * 5


def test_all_formats_have_the_same_digest(tmp_path: Path) -> None:
    digests = set()
    for place, data in enumerate(
        [as_glove(), as_word2vec_text(), as_word2vec_binary(), gzip.compress(as_glove(), mtime=0)]
    ):
        (tmp_path / f"{place}").with_suffix(".txt").write_bytes(data)
        digests.add(load_vectors(str(tmp_path / f"{place}.txt")).digest)
    assert len(digests) == 1


def test_another_number_is_another_digest(vectors_of: Callable[..., Vectors]) -> None:
    assert vectors_of(as_glove()).digest != vectors_of(as_glove().replace(b"7.0", b"8.0"), "other.txt").digest


def test_more_words_than_fit_one_chunk(vectors_of: Callable[[bytes], Vectors]) -> None:
    lines = [f"w{i} {i} {-i}" for i in range(3000)]
    vectors = vectors_of("\n".join(lines).encode())
    np.testing.assert_array_equal(look_up(vectors, ["w0", "w1023", "w1024", "w2999"])[:, 0], [0, 1023, 1024, 2999])


def test_a_word_may_have_spaces(vectors_of: Callable[[bytes], Vectors]) -> None:
    vectors = vectors_of(b"x 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    np.testing.assert_array_equal(look_up(vectors, [". . .", "at name@domain.com"]), [[3, 4], [5, 6]])


def test_words_left_out_are_counted(vectors_of: Callable[[bytes], Vectors], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        vectors = vectors_of(b"dog 1 2\n\xff\xfe 3 4\ndog 5 6\ndog 7 8\ncat 9 9\n")
    assert len(vectors) == 2
    np.testing.assert_array_equal(look_up(vectors, ["dog", "cat"]), [[1, 2], [9, 9]])
    assert "1 words that are not UTF-8, and 2 that occur twice" in caplog.text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"dog 1 2\ncat 1\n", "line 2: a word and 2 numbers were expected, not 2 fields"),
        (b"dog 1 2\ncat 1 2 3\n", "line 2: a word and 2 numbers were expected, not 4 fields"),
        (b"dog 1 2\n1 2\n", "line 2: a word and 2 numbers"),
        (b"dog 1 2\ncat 1 two\n", "line 2: 'two' is not a number"),
        (b"dog 1 2\ncat 1 nan\n", "line 2: the vector of 'cat' is not finite"),
        (b"dog 1 2\n\ncat 1 1e99\n", "line 3: the vector of 'cat' is not finite"),
        (b"dog\n", "line 1: this is no file of word vectors"),
        (b"", "line 1: this is no file of word vectors"),
        (b"5 0\n", "they would have 0 dimensions"),
        (b"5 99999999\n", "they would have 99999999 dimensions"),
        (b"0 3\n", "there are no word vectors"),
        (b"x" * 2_000_000, "line 1: .*too long"),
        (b"a 1\n" + b"x" * 2_000_000, "line 2: .*too long"),
        (b"3 2\ndog 1 2\ncat 1 2\n", "promises 3 words, but there are only 2"),
        (b"1 2\ndog 1 2\ncat 1 2\n", "promises 1 words, but there are more"),
        (as_word2vec_binary()[:-3], "ends within the vector of 'a-b'"),
        (as_word2vec_binary().replace(b"4 3\n", b"5 3\n"), "promises 5 words, but there are only 4"),
        (as_word2vec_binary().replace(b"4 3\n", b"3 3\n"), "promises 3 words, but there are more"),
        (b"1 1\n" + b"\1" * 20_000, "a word never ends"),
        (b"1 1\nx " + struct.pack("<f", float("inf")), "the vector of 'x' is not finite"),
        (gzip.compress(as_glove(), mtime=0)[:-12], "gzip data is truncated"),
        (gzip.compress(as_glove(), mtime=0)[:20] + b"\0" * 40, "gzip data is (broken|truncated)"),
        (b'{"json": [1, 2]}', "not a number"),
    ],
)
def test_faults(vectors_of: Callable[[bytes], Vectors], cache: Path, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        vectors_of(data)
    assert not [path for path in cache.rglob("*") if path.suffix in (".vectors", ".tmp")]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_vectors(str(tmp_path / "none.txt"))
    with pytest.raises(UnknownName, match="glove-100d"):
        load_vectors("glove-10d")


def test_a_file_is_read_once_and_again_when_it_changes(
    vectors_of: Callable[[bytes], Vectors], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors_of(as_glove())
    (table,) = cache.rglob("*.vectors")
    module._load_once.cache_clear()
    reader = vectorfiles.first_look
    with monkeypatch.context() as patch:
        patch.setattr(vectorfiles, "first_look", lambda *_: pytest.fail("read again"))
        source = next(cache.parent.glob("*.txt"))
        assert len(load_vectors(str(source))) == 4
    assert vectorfiles.first_look is reader
    module._load_once.cache_clear()
    assert len(vectors_of(as_glove() + b"new 1 2 3\n")) == 5
    assert {table} < set(cache.rglob("*.vectors"))


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"capeval-vectors 1\n{}"])
def test_a_damaged_table_in_the_cache_is_made_again(
    vectors_of: Callable[[bytes], Vectors], cache: Path, damage: bytes
) -> None:
    vectors_of(as_glove())
    (table,) = cache.rglob("*.vectors")
    table.write_bytes(damage)
    module._load_once.cache_clear()
    np.testing.assert_array_equal(look_up(vectors_of(as_glove()), WORDS), NUMBERS)


def test_a_cache_that_cannot_be_written(vectors_of: Callable[[bytes], Vectors], cache: Path) -> None:
    cache.write_text("a file is in the way")
    with pytest.raises(DataError):
        vectors_of(as_glove())


def test_several_processes_at_once(tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "many.txt"
    source.write_text("".join(f"w{i} {i} 1\n" for i in range(20_000)))
    code = "import sys; from capeval.text.vectors import load_vectors; print(load_vectors(sys.argv[1]).digest)"
    command = [sys.executable, "-c", code, str(source)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ)) for _ in range(3)]
    answers = {process.communicate(timeout=120)[0] for process in running}
    assert len(answers) == 1
    assert len(answers.pop()) > 60
    assert len(list(cache.rglob("*.vectors"))) == 1


def test_threads_at_once(vectors_of: Callable[[bytes], Vectors], tmp_path: Path) -> None:
    source = tmp_path / "threads.txt"
    source.write_bytes(as_glove())
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(load_vectors(str(source))))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4] * 4


def test_a_table_may_be_given_by_path(tmp_path: Path) -> None:
    with (tmp_path / "own.vectors").open("wb") as stream:
        write_table(stream, 3, [([word.encode() for word in WORDS], NUMBERS)])
    np.testing.assert_array_equal(look_up(load_vectors(str(tmp_path / "own.vectors")), WORDS), NUMBERS)


def table_bytes() -> bytes:
    stream = io.BytesIO()
    write_table(stream, 3, [([word.encode() for word in WORDS], NUMBERS)])
    return stream.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "size"),
        (lambda data: data + b"x", "size"),
        (lambda data: data[:100], "header"),
        (lambda data: data.replace(b'"words": 4', b'"words":-4'), "impossible"),
        (lambda data: data.replace(b'"words": 4', b'"words": 9'), "size"),
        (lambda data: data.replace(b'"float32"', b'"float64"'), "header is wrong"),
        (lambda data: data.replace(b"{", b"[", 1), "damaged"),
        (lambda data: data[:560] + b"\xff" * 16 + data[576:], "no rows"),
        (lambda data: data[:576] + b"\xff\0\0\0" + data[580:], "not in order"),
    ],
)
def test_damaged_tables(tmp_path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    path = tmp_path / "bad.vectors"
    path.write_bytes(change(table_bytes()))
    with pytest.raises(DataError, match=message):
        open_table(path)


@given(
    rows=st.lists(st.lists(st.floats(-5, 5, width=32), min_size=7, max_size=7), min_size=1, max_size=6),
    dimensions=st.integers(1, 7),
)
@example(rows=[[1e-45, *[0.0] * 6], [1e-42, *[0.0] * 6], [6e-36, *[0.0] * 6], [7e-36, *[0.0] * 6]], dimensions=1)
def test_ten_bits_are_off_by_at_most_half_a_step(
    rows: list[list[float]], dimensions: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    numbers = np.array(rows, np.float32)[:, :dimensions]
    words = sorted(f"w{i}".encode() for i in range(len(rows)))
    path = tmp_path_factory.mktemp("tables") / "small.vectors"
    with path.open("wb") as stream:
        write_table(stream, dimensions, [(words, numbers)], kind="int10")
    found = look_up(open_table(path), [word.decode() for word in words])
    step = np.abs(numbers).max(axis=1, keepdims=True) / 511
    assert (np.abs(found - numbers) <= step * 0.5001 + 1e-30).all()


def test_packed_words_must_be_sorted() -> None:
    with pytest.raises(ValueError, match="sorted"):
        write_table(io.BytesIO(), 1, [([b"b", b"a"], np.ones((2, 1), np.float32))], kind="int10")


def test_the_shipped_table() -> None:
    path = shipped("vectors", "glove-100d.vectors")
    assert path.stat().st_size <= 12_000_000
    vectors = load_vectors("glove-100d")
    assert (len(vectors), vectors.dimensions) == (85_000, 100)
    # From the published file glove.6B.100d.txt.
    the = [-0.038194, -0.24487, 0.72812, -0.39961, 0.083172]
    np.testing.assert_allclose(look_up(vectors, ["the"])[0, :5], the, atol=0.004)
    assert (vectors.rows_of(["frisbee", "skateboarder", "hydrant", "giraffe", "crosswalk"]) >= 0).all()
    assert hashlib.sha256(path.read_bytes()[HEADER_SIZE:]).hexdigest() == vectors.digest
