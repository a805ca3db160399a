"""Pickled tables are read without being executed: right ones give a table, all others an error."""

from __future__ import annotations

import pickle
import pickletools
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import DataError
from capeval.io.dfpickle import is_pickle, read_pickled_table
from capeval.io.dftable import builtin_table

# Closed as any count of n-grams is: the beginning and the end of each are there, at least as often.
COUNTS = {
    ("a",): 9.0, ("dog",): 4.0, ("runs",): 3.0, ("café",): 2.0, ("a", "dog"): 3.0, ("dog", "runs"): 2.0,
    ("a", "dog", "runs"): 2.0, ("rare",): 1.0,
}  # fmt: skip


def layout(counts: Any = None, images: Any = 10) -> dict[str, Any]:
    known = defaultdict(float)
    known.update(COUNTS if counts is None else counts)
    return {"document_frequency": known, "ref_len": images}


def write(path: Path, value: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(value, protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(tmp_path: Path, protocol: int) -> None:
    path = write(tmp_path / "words.p", layout(), protocol)
    assert is_pickle(path)
    table = read_pickled_table(path)
    assert (table.images, table.n, table.tokenizer) == (10, 3, "none")
    vocabulary = ["a", "dog", "runs", "cat", "rare", "café"]
    grams = np.array([[0, -1, -1], [0, 1, 2], [1, 2, -1], [0, 3, -1], [4, -1, -1], [5, -1, -1], [0, 2, -1]], np.int32)
    assert table.counts(vocabulary, grams).tolist() == [9, 2, 2, 0, 0, 2, 0]


@pytest.mark.parametrize("protocol", [0, 2])
def test_texts_of_python_2(tmp_path: Path, protocol: int) -> None:
    """There a text was bytes, which programs of Python 3 read as Latin-1."""
    text = {
        0: b"(dp0\nS'document_frequency'\np1\n(dp2\n(S'caf\\xe9'\np3\ntp4\nF3\nssS'ref_len'\np6\nI7\ns.",
        2: b"\x80\x02}(U\x12document_frequency}U\x04caf\xe9\x85G\x40\x08\0\0\0\0\0\0sU\x07ref_lenK\x07u.",
    }[protocol]
    path = tmp_path / "words.p"
    path.write_bytes(text)
    assert pickle.loads(text, encoding="latin-1") == {"document_frequency": {("café",): 3.0}, "ref_len": 7}
    table = read_pickled_table(path)
    assert (table.images, table.vocabulary, table.df.tolist()) == (7, ["café"], [3])


def test_the_bare_layout_is_of_coco_val_alone(tmp_path: Path) -> None:
    assert read_pickled_table(write(tmp_path / "coco-val-df.p", COUNTS)).images == 40504
    with pytest.raises(DataError, match="of how many images"):
        read_pickled_table(write(tmp_path / "other.p", COUNTS))


class Deed:
    """What a pickle may do to who loads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("harm"),))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("place", ["all", "key", "value", "images"])
def test_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, protocol: int) -> None:
    monkeypatch.chdir(tmp_path)
    value: Any = {
        "all": Deed(),
        "key": layout({Deed(): 2.0}),
        "value": layout({("a",): Deed()}),
        "images": layout(images=Deed()),
    }[place]
    with pytest.raises(DataError, match=r"(which tables do not need|a tuple of other things)"):
        read_pickled_table(write(tmp_path / "evil.p", value, protocol))
    assert not Path("harm").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "which tables do not need"),
        (OrderedDict(COUNTS), "collections.OrderedDict"),
        ({"document_frequency": np.zeros(2), "ref_len": 3}, "which tables do not need"),
        (layout({}), "no n-grams"),
        (layout({"a dog": 2.0}), "is not an n-gram"),
        (layout({("a",) * 9: 2.0}), "is not an n-gram"),
        (layout({(1, 2): 2.0}), "is not an n-gram"),
        (layout({("a",): -1.0}), "comes with -1.0 images"),
        (layout({("a",): 2.5}), "comes with 2.5 images"),
        (layout({("a",): float("nan")}), "comes with nan images"),
        (layout(images=0), "number of images is 0"),
        (layout(images=2**40), "number of images"),
        (layout(images="many"), "number of images"),
        (layout({("a", "dog"): 2.0}), "do not add up"),
        (layout({("a", ("b", "c")): 2.0}), "a tuple of other things than words"),
    ],
)
def test_what_is_no_table(tmp_path: Path, value: Any, message: str) -> None:
    path = write(tmp_path / "words.p", value)
    with pytest.raises(DataError, match=message) as caught:
        read_pickled_table(path)
    assert caught.value.file == str(path)


def test_a_file_that_is_cut_or_claims_a_long_text(tmp_path: Path) -> None:
    path = write(tmp_path / "words.p", layout(), 2)
    whole = path.read_bytes()
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError):
            read_pickled_table(path)
    path.write_bytes(b"\x80\x02X\xff\xff\xff\x7fabc.")
    with pytest.raises(DataError, match="a text of 2147483647 bytes"):
        read_pickled_table(path)


CODES = sorted(opcode.code.encode("latin-1") for opcode in pickletools.opcodes)


@given(st.lists(st.one_of(st.sampled_from(CODES), st.binary(max_size=6)), max_size=30).map(b"".join))
def test_any_bytes_are_a_table_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.p"
    path.write_bytes(data)
    with pytest.raises(DataError):
        read_pickled_table(path)


def test_our_own_tables_are_no_pickles() -> None:
    assert not is_pickle(builtin_table("coco-val2014"))
