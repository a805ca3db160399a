"""Tables keep their counts, and nothing but a whole, untouched file is ever read as one."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import DataError, UnknownName
from capeval.io import dftable
from capeval.io.dftable import DfTable, builtin_table, read_table, table_from_counts, write_table
from capeval.metrics.cider import make_table
from capeval.run import Run
from capeval.types import Ints

ReferenceSets = list[list[list[str]]]
Counts = dict[tuple[str, ...], int]

TWO_IMAGES = [
    [["a", "cat", "sits"], ["a", "cat", "sits", "on", "a", "cat"]],
    [["a", "cat", "sits", "there"], ["one", "dog"]],
]

# Few words, so that n-grams repeat; some that sort in odd places or are hard to encode.
words = st.sampled_from(["a", "b", "c", "dogs", "dog", "zoë", "-lrb-", "\U0001f600", "\uffff"])
reference_sets = st.lists(st.lists(st.lists(words, max_size=12), max_size=4), max_size=8)


def build_table(sets: ReferenceSets, *, tokenizer: str, n: int = 4, stem: bool = False) -> DfTable:
    texts = [tuple(" ".join(caption) for caption in references) for references in sets]
    return make_table(texts, n=n, stem=stem, run=Run(tokenizer))


def counted(sets: ReferenceSets, n: int) -> Counts:
    """The plain definition."""
    df: Counter[tuple[str, ...]] = Counter()
    for references in sets:
        spans = [c[i : i + k] for c in references for k in range(1, n + 1) for i in range(len(c) - k + 1)]
        df.update({tuple(span) for span in spans})
    return {gram: number for gram, number in df.items() if number > 1}


def contents(table: DfTable) -> Counts:
    grams = [tuple(table.vocabulary[i] for i in row if i >= 0) for row in table.grams.tolist()]
    return dict(zip(grams, table.df.tolist(), strict=True))


def same(one: DfTable, other: DfTable) -> bool:
    facts = [(t.images, t.n, t.tokenizer, t.stem, t.vocabulary, t.digest) for t in (one, other)]
    return facts[0] == facts[1] and np.array_equal(one.grams, other.grams) and np.array_equal(one.df, other.df)


@pytest.fixture
def table_file(tmp_path: Path) -> Path:
    path = tmp_path / "two.df"
    write_table(path, build_table(TWO_IMAGES, tokenizer="ptb"))
    return path


@given(reference_sets, st.integers(1, 6))
def test_counts_each_ngram_once_per_image(sets: ReferenceSets, n: int) -> None:
    table = build_table(sets, n=n, tokenizer="none")
    assert (table.images, table.n) == (len(sets), n)
    assert len(table.grams) == len(contents(table))
    assert contents(table) == counted(sets, n)


@given(reference_sets, st.integers(1, 6), st.sampled_from(["ptb", "none"]), st.booleans())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, sets: ReferenceSets, n: int, by: str, stem: bool) -> None:
    table = build_table(sets, n=n, tokenizer=by, stem=stem)
    path = tmp_path_factory.getbasetemp() / "round-trip.df"
    write_table(path, table)
    again = read_table(path)
    assert same(table, again)
    assert again.grams.dtype == again.df.dtype == np.int32
    assert again.grams.shape == (len(again.df), n)


def test_stems_of_one_word_are_counted_together() -> None:
    table = build_table([[["a", "dog"]], [["two", "dogs"]]], n=2, tokenizer="ptb", stem=True)
    assert contents(table) == {("dog",): 2}


def test_threads_do_not_matter() -> None:
    texts = [("a dog runs", "the dog is running"), ("a dog",), ("a cat runs",)] * 40
    assert same(make_table(texts), make_table(texts, run=Run(threads=3)))


def test_words_that_are_hard_to_encode_survive(tmp_path: Path) -> None:
    vocabulary = ["a", "\ud800", "\U0001f600", "\uffff"]
    grams = np.array([[i, -1] for i in range(4)] + [[1, 2]], np.int32)
    table = table_from_counts(3, 2, "none", False, vocabulary, grams, np.full(5, 2, np.int32))
    write_table(tmp_path / "odd.df", table)
    assert same(table, read_table(tmp_path / "odd.df"))
    assert contents(table) == {
        ("a",): 2,
        ("\ud800",): 2,
        ("\U0001f600",): 2,
        ("\uffff",): 2,
        ("\ud800", "\U0001f600"): 2,
    }


def test_rare_ngrams_and_unused_words_are_dropped() -> None:
    table = build_table(TWO_IMAGES, n=2, tokenizer="ptb")
    assert table.vocabulary == ["a", "cat", "sits"]
    assert contents(table) == {("a",): 2, ("cat",): 2, ("sits",): 2, ("a", "cat"): 2, ("cat", "sits"): 2}
    assert table.grams.tolist() == [[0, -1], [1, -1], [2, -1], [0, 1], [1, 2]]


def test_counts_may_come_in_any_order() -> None:
    table = table_from_counts(
        images=5,
        n=3,
        tokenizer="ptb",
        stem=False,
        vocabulary=["red", "unseen", "big", "rare"],
        grams=np.array([[2, 0, -1], [3, -1, -1], [0, -1, -1], [1, -1, -1], [2, -1, -1], [2, 0, 3]], np.int32),
        df=np.array([2, 1, 4, 0, 3, 1], np.int32),
    )
    assert contents(table) == {("big",): 3, ("red",): 4, ("big", "red"): 2}
    assert table.grams.tolist() == [[0, -1, -1], [1, -1, -1], [0, 1, -1]]


@given(st.randoms(use_true_random=False))
def test_the_order_of_images_does_not_change_the_digest(random: object) -> None:
    sets = [[["a", "b", word]] for word in "abcdabcd"]
    shuffled = sets.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert build_table(sets, tokenizer="ptb").digest == build_table(shuffled, tokenizer="ptb").digest


def test_the_digest_tells_tables_apart() -> None:
    tables = [
        build_table(TWO_IMAGES, tokenizer="ptb"),
        build_table(TWO_IMAGES, tokenizer="none"),
        build_table(TWO_IMAGES, tokenizer="ptb", stem=True),
        build_table(TWO_IMAGES, tokenizer="ptb", n=3),
        build_table([*TWO_IMAGES, []], tokenizer="ptb"),
        build_table([*TWO_IMAGES, [["cat"]]], tokenizer="ptb"),
    ]
    assert len({table.digest for table in tables}) == len(tables)


@pytest.mark.parametrize(
    ("vocabulary", "grams", "df"),
    [
        (["a", "b"], [[0, -1], [1, -1], [0, 1]], [2, 2, 9]),  # more than there are images
        (["a", "b"], [[0, -1], [0, 1]], [2, 2]),  # "b" is missing
        (["a", "b"], [[1, -1], [0, 1]], [2, 2]),  # "a" is missing
        (["a"], [[0, -1], [0, -1]], [2, 2]),  # twice
        (["a", "b"], [[0, -1], [1, -1], [0, 1], [0, 1]], [2, 2, 2, 2]),  # twice
        (["a", "a"], [[0, -1], [1, -1]], [2, 2]),  # two words that are one
        (["a", "b\n"], [[0, -1], [1, -1]], [2, 2]),
        (["a", ""], [[0, -1], [1, -1]], [2, 2]),
        (["a", "b"], [[0, 1]], [2]),  # no words at all
        (["a", "b"], [[0, -1], [1, -1], [-1, 1]], [2, 2, 2]),  # padding in front
    ],
)
def test_counts_that_make_no_table_are_refused(vocabulary: list[str], grams: list[list[int]], df: list[int]) -> None:
    with pytest.raises(ValueError):
        table_from_counts(4, 2, "ptb", False, vocabulary, np.array(grams, np.int32), np.array(df, np.int32))


@pytest.mark.parametrize("n", [0, 9])
def test_orders_are_bounded(n: int) -> None:
    with pytest.raises(ValueError, match="1 to"):
        build_table(TWO_IMAGES, n=n, tokenizer="ptb")


def test_an_unsorted_table_is_not_written(tmp_path: Path) -> None:
    table = build_table(TWO_IMAGES, tokenizer="ptb")
    with pytest.raises(ValueError):
        write_table(tmp_path / "t.df", replace(table, grams=table.grams[::-1], df=table.df[::-1]))
    assert not list(tmp_path.iterdir())


def test_writing_replaces_and_leaves_nothing_behind(table_file: Path) -> None:
    write_table(table_file, build_table([], tokenizer="none"))
    assert read_table(table_file).images == 0
    assert list(table_file.parent.iterdir()) == [table_file]


def test_a_failed_write_keeps_the_old_file(table_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = table_file.read_bytes()
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(DataError, match="No space left"):
        write_table(table_file, build_table([], tokenizer="none"))
    assert table_file.read_bytes() == before
    assert list(table_file.parent.iterdir()) == [table_file]


@pytest.mark.parametrize("place", ["missing/t.df", "two.df/t.df", ".", "t.df.gz"])
def test_a_place_that_cannot_be_written(table_file: Path, place: str) -> None:
    with pytest.raises(DataError, match=r"cannot be written|without `\.gz`"):
        write_table(table_file.parent / place, build_table([], tokenizer="none"))


def test_every_damaged_bit_is_noticed(table_file: Path) -> None:
    whole = table_file.read_bytes()
    unnoticed = []
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        table_file.write_bytes(damaged)
        with suppress(DataError):
            read_table(table_file)
            unnoticed.append(bit)
    # Compressed data ends with up to seven bits that mean nothing, then the four bytes of its own checksum.
    assert {bit // 8 for bit in unnoticed} <= {len(whole) - 5}
    assert len(unnoticed) < 8


def test_every_truncation_is_noticed(table_file: Path) -> None:
    whole = table_file.read_bytes()
    for length in range(len(whole)):
        table_file.write_bytes(whole[:length])
        with pytest.raises(DataError, match="capeval df"):
            read_table(table_file)


@pytest.mark.parametrize(
    "foreign", [b"", b"\n\n", b"{}", b"\x1f\x8b\x08\x00", b"PK\x03\x04" * 5000, b"capeval-dfs 1 x\n"]
)
def test_a_foreign_file(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "foreign.df"
    path.write_bytes(foreign)
    with pytest.raises(DataError, match="not a document-frequency table"):
        read_table(path)


def test_a_later_format(table_file: Path) -> None:
    table_file.write_bytes(table_file.read_bytes().replace(b"capeval-df 1", b"capeval-df 2", 1))
    with pytest.raises(DataError, match=r"its format is '2'.*update capeval"):
        read_table(table_file)


@pytest.mark.parametrize("place", ["missing.df", "."])
def test_no_file(tmp_path: Path, place: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / place)


def test_something_added(table_file: Path) -> None:
    table_file.write_bytes(table_file.read_bytes() + b"\n")
    with pytest.raises(DataError, match="something was added"):
        read_table(table_file)


def forge(path: Path, header: object, body: bytes) -> None:
    """A file with a correct checksum, whatever it says."""
    line = (header if isinstance(header, str) else json.dumps(header)).encode() + b"\n"
    digest = hashlib.sha256(line + body).hexdigest()
    path.write_bytes(f"capeval-df 1 {digest}\n".encode() + line + zlib.compress(body))


GOOD = {"images": 3, "tokenizer": "ptb", "stem": False, "vocabulary": 3, "sizes": [2, 1]}


def body(words: bytes, *columns: list[int]) -> bytes:
    return words + b"".join(np.array(c, "<i4").view(np.uint8).reshape(-1, 4).T.tobytes() for c in columns)


def test_a_forged_file_that_is_right(tmp_path: Path) -> None:
    forge(tmp_path / "t.df", GOOD, body(b"a\nb", [3, 2], [1, 0], [1], [2]))
    assert contents(read_table(tmp_path / "t.df")) == {("a",): 3, ("b",): 2, ("a", "b"): 2}


@pytest.mark.parametrize(
    "change",
    [
        "",
        "[]",
        "[" * 4000,
        "[" * 5000,
        {},
        {**GOOD, "more": 1},
        {**GOOD, "images": "3"},
        {**GOOD, "images": -1},
        {**GOOD, "images": 2**31},
        {**GOOD, "images": True},
        {**GOOD, "images": 3.0},
        {**GOOD, "tokenizer": 1},
        {**GOOD, "stem": 0},
        {**GOOD, "vocabulary": 4},
        {**GOOD, "vocabulary": -1},
        {**GOOD, "sizes": None},
        {**GOOD, "sizes": []},
        {**GOOD, "sizes": [0] * 9},
        {**GOOD, "sizes": [2, 1, -1]},
        {**GOOD, "sizes": [2, None]},
        {**GOOD, "sizes": [2]},
        {**GOOD, "sizes": [2, 1, 1]},
    ],
)
def test_a_forged_header(tmp_path: Path, change: object) -> None:
    forge(tmp_path / "t.df", change, body(b"a\nb", [3, 2], [1, 0], [1], [2]))
    with pytest.raises(DataError, match="damaged"):
        read_table(tmp_path / "t.df")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (body(b"b\na", [3, 2], [1, 0], [1], [2]), "vocabulary"),
        (body(b"aab", [3, 2], [1, 0], [1], [2]), "vocabulary"),
        (body(b"a\n\xff", [3, 2], [1, 0], [1], [2]), "codec"),
        (body(b"a\nb", [3, 1], [1, 0], [1], [2]), "document frequency"),
        (body(b"a\nb", [4, 2], [1, 0], [1], [2]), "document frequency"),
        (body(b"a\nb", [3, 2], [1, 1], [1], [2]), "add up"),
        (body(b"a\nb", [3, 2], [2, -1], [1], [2]), "add up"),
        (body(b"a\nb", [3, 2], [2**31 - 1, 0], [1], [2]), "add up"),
        (body(b"a\nb", [3, 2], [1, 0], [2], [2]), "sorted"),
        (body(b"a\nb", [3, 2], [1, 0], [-1], [2]), "sorted"),
        (body(b"a\nb", [3, 2], [1, 0], [2**31 - 1], [2]), "sorted"),
        (body(b"a\nb", [3, 2], [1, 0], [1], [2], [0]), "something was added"),
        (body(b"a\nb", [3, 2], [1, 0], [1]), "cut short"),
    ],
)
def test_a_forged_body(tmp_path: Path, contents: bytes, message: str) -> None:
    forge(tmp_path / "t.df", GOOD, contents)
    with pytest.raises(DataError, match=f"damaged: .*{message}"):
        read_table(tmp_path / "t.df")


def test_the_same_ngram_twice(tmp_path: Path) -> None:
    forge(tmp_path / "t.df", {**GOOD, "sizes": [2, 2]}, body(b"a\nb", [3, 2], [2, 0], [1, 1], [2, 2]))
    with pytest.raises(DataError, match="not sorted"):
        read_table(tmp_path / "t.df")


def test_a_header_that_asks_for_too_much_is_refused_before_unpacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(*_: object) -> Callable[..., bytes]:
        raise AssertionError("the size must be checked first")

    forge(tmp_path / "t.df", {**GOOD, "sizes": [2**30, 2**30]}, b"")
    monkeypatch.setattr(dftable, "_decompress", unpack)
    with pytest.raises(DataError, match="larger than the 512 MiB"):
        read_table(tmp_path / "t.df")


def test_a_body_that_unpacks_to_more_than_its_header_says(tmp_path: Path) -> None:
    forge(tmp_path / "t.df", GOOD, bytes(50_000_000))
    with pytest.raises(DataError, match="something was added"):
        read_table(tmp_path / "t.df")


def test_the_builtin_table() -> None:
    table = read_table(builtin_table("coco-val2014"))
    assert (table.images, table.n, table.tokenizer, table.stem) == (40504, 4, "ptb", False)
    assert table.vocabulary == sorted(table.vocabulary)
    assert table.grams[: len(table.vocabulary), 0].tolist() == list(range(len(table.vocabulary)))
    df = contents(table)
    assert df[("a",)] == 40447
    assert df[("a", "man")] == 8321
    assert df[("fire", "hydrant")] == 420
    assert df[("men", "'s")] == 34
    assert df[("in", "front", "of", "a")] == 3239
    assert df[("sitting", "on", "top", "of")] == 1641
    assert ("a", "a", "a", "a") not in df


def test_reading_does_not_go_through_the_ngrams_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of calls into NumPy depends on the orders of a table, not on its size."""
    pad, sizes = dftable._padded, []

    def noting_the_size(grams: Ints, n: int) -> Ints:
        sizes.append(len(grams))
        return pad(grams, n)

    monkeypatch.setattr(dftable, "_padded", noting_the_size)
    table = read_table(builtin_table("coco-val2014"))
    assert len(sizes) == table.n
    assert sum(sizes) == len(table.grams)


def test_an_unknown_builtin_table() -> None:
    with pytest.raises(UnknownName, match="Did you mean coco-val2014"):
        builtin_table("coco-val14")
    with pytest.raises(UnknownName):
        builtin_table("../df/coco-val2014")
