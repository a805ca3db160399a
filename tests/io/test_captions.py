"""Reading captions: every format, every fault, and the join."""

from __future__ import annotations

import csv
import gc
import gzip
import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from capeval.errors import DataError, MissingExtra
from capeval.io.captions import (
    Candidates,
    candidate_blocks,
    candidates_from,
    join,
    read_candidates,
    read_references,
    references_from,
)
from capeval.io.scores import write_rows

ROWS: list[dict[str, Any]] = [{"image_id": 7, "caption": "a dog"}, {"image_id": "x.jpg", "caption": ""}]
EXPECTED = (["7", "x.jpg"], ["7", "x.jpg"], ["a dog", ""], ["", ""])


def columns(candidates: Candidates) -> tuple[list[str], ...]:
    return candidates.ids, candidates.images, candidates.captions, candidates.systems


def as_json(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_table(rows: list[dict[str, Any]], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": lambda rows: as_table(rows, ","),
    "tsv": lambda rows: as_table(rows, "\t"),
}


class FakeStdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


# Formats


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
@pytest.mark.parametrize("known_name", [True, False], ids=["extension", "sniffed"])
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format(tmp_path: Path, kind: str, known_name: bool, mark: bytes, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / (f"c.{kind}" if known_name else "c.dat")
    path.write_bytes(pack(mark + FORMATS[kind](ROWS)))
    assert columns(read_candidates(path)) == EXPECTED
    references = read_references(str(path))
    assert references == {"7": ("a dog",), "x.jpg": ("",)}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
@pytest.mark.parametrize("kind", FORMATS)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, kind: str, mark: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(mark + FORMATS[kind](ROWS)))
    candidates = read_candidates("-")
    assert columns(candidates) == EXPECTED
    assert candidates.source == "<stdin>"


def test_references_of_several_files_are_added_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"1": ["a dog"], "2": ["a cat", "cats"]}')
    (tmp_path / "b.jsonl").write_bytes(as_jsonl([{"image_id": 2, "caption": "cats"}, {"image_id": 3, "caption": "x"}]))
    found = read_references(tmp_path / "a.json", tmp_path / "b.jsonl")
    assert list(found.items()) == [("1", ("a dog",)), ("2", ("a cat", "cats", "cats")), ("3", ("x",))]
    assert read_references(tmp_path / "b.jsonl", tmp_path / "a.json")["2"] == ("cats", "a cat", "cats")


def test_one_line_of_jsonl_and_a_long_first_line_are_sniffed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(b'{"image_id": 7, "caption": "a dog"}\n'))
    assert columns(read_candidates("-")) == (["7"], ["7"], ["a dog"], [""])
    rows = [{"image_id": 1, "caption": "long " * 30_000}, {"image_id": 2, "caption": "b"}]
    monkeypatch.setattr(sys, "stdin", FakeStdin(as_jsonl(rows)))
    assert read_candidates("-").ids == ["1", "2"]
    monkeypatch.setattr(sys, "stdin", FakeStdin(as_table(rows, ",")))
    assert read_candidates("-").ids == ["1", "2"]  # longer than the csv module allows by itself
    assert csv.field_size_limit() == 131072


@pytest.mark.parametrize("ids", [[7, 8], [7.0, 8.5], ["7", "x"]])
def test_parquet(tmp_path: Path, ids: list[Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "c.parquet"
    table = {"image_id": ids, "caption": ["a", "b"], "id": ["p", None], "system": [None, "s"], "other": [1, 2]}
    parquet.write_table(arrow.table(table), path)
    second = {"8": "8", "8.5": "8.5", "x": "x"}[str(ids[1])]
    assert columns(read_candidates(path)) == (["p", second], ["7", second], ["a", "b"], ["", "s"])
    (tmp_path / "renamed").write_bytes(path.read_bytes())
    assert columns(read_candidates(tmp_path / "renamed")) == columns(read_candidates(path))
    assert read_references(path) == {"7": ("a",), second: ("b",)}


def test_parquet_lists_of_references(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"image": ["p"], "references": [["a", "b\nc"]]}), tmp_path / "r.parquet")
    assert read_references(tmp_path / "r.parquet") == {"p": ("a", "b c")}


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"\[parquet\]"):
        read_candidates(tmp_path / "c.parquet")


@pytest.mark.parametrize(
    "document",
    [
        {"annotations": [{"image_id": 7, "id": 1, "caption": "a"}, {"image_id": 7, "id": 2, "caption": "b"}]},
        {"images": [{"id": 9}], "annotations": [{"image_id": "7", "caption": "a"}, {"image_id": 7.0, "caption": "b"}]},
        {"annotations": [{"image_id": 7, "caption": "a", "x": math.nan}, {"image_id": 7, "caption": "b"}]},
        {"7": ["a", "b"]},
        [{"image_id": 7, "references": ["a", "b"]}],
        [{"image": "7", "captions": ["a", "b"]}],
        [{"id": 7, "references": ["a", "b"], "score": {"deep": []}}],
        [{"image_id": 7, "caption": "a"}, {"image_id": 7, "caption": "b"}],
    ],
    ids=["coco", "mixed ids", "NaN elsewhere", "mapping", "rows", "image", "id", "one per row"],
)
def test_reference_forms(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document, indent=1))
    assert read_references(path) == {"7": ("a", "b")}
    assert references_from(document) == {"7": ("a", "b")}
    if isinstance(document, list):
        (tmp_path / "r.jsonl").write_bytes(as_jsonl(document))
        assert read_references(tmp_path / "r.jsonl") == {"7": ("a", "b")}


def test_python_forms() -> None:
    assert columns(candidates_from(["a", "b"])) == (["0", "1"], ["0", "1"], ["a", "b"], ["", ""])
    assert columns(candidates_from({7: "a", "x": ["b"]})) == (["7", "x"], ["7", "x"], ["a", "b"], ["", ""])
    assert columns(candidates_from(ROWS)) == EXPECTED
    rows = [{"image_id": np.int64(7), "caption": np.str_("a")}]
    assert columns(candidates_from(rows)) == (["7"], ["7"], ["a"], [""])
    assert references_from([["a", "b"], "c"]) == {"0": ("a", "b"), "1": ("c",)}
    assert references_from(["a", "b"]) == {"0": ("a",), "1": ("b",)}
    assert references_from({7: ["a"], "x": "b"}) == {"7": ("a",), "x": ("b",)}
    assert references_from({"7": ("a",) * 150})["7"] == ("a",) * 150


def test_several_systems_and_own_ids(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"image_id": 7, "caption": "a", "system": "one"},
        {"image_id": 7, "caption": "b", "system": 2},
        {"image_id": 7, "caption": "c", "id": 70},
    ]
    for kind in ("json", "jsonl"):
        (tmp_path / f"c.{kind}").write_bytes(FORMATS[kind](rows))
        candidates = read_candidates(tmp_path / f"c.{kind}")
        assert columns(candidates) == (["7", "7", "70"], ["7"] * 3, ["a", "b", "c"], ["one", "2", ""])


@pytest.mark.parametrize("kind", FORMATS)
def test_line_breaks_in_captions_become_spaces(tmp_path: Path, kind: str) -> None:
    breaks = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    path = tmp_path / f"c.{kind}"
    path.write_bytes(
        FORMATS[kind]([{"image_id": 1, "caption": "a".join(breaks)}, {"image_id": 2, "caption": "\u00a0b"}])
    )
    candidates = read_candidates(path)
    assert candidates.captions == ["a".join(" " * len(breaks)), "\u00a0b"]
    assert not any(len(caption.splitlines()) > 1 for caption in candidates.captions)


def test_blank_lines_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\n{"image_id": 1, "caption": "a"}\r\n  \r\n{"image_id": 2, "caption": "b"}')
    assert read_candidates(path).captions == ["a", "b"]
    assert list(read_candidates(path).lines) == [2, 4]
    path = tmp_path / "c.csv"
    path.write_bytes(b'image_id,caption\r\n\r\n1,"a\r\nb"\r\n2,c\r\n')
    assert read_candidates(path).captions == ["a  b", "c"]
    assert list(read_candidates(path).lines) == [3, 5]


def test_unusual_but_legal_json_reads_like_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('[{"image_id": 7, "image": {"file": "x"}, "caption": "\\ud83d\\ude00", "note": "\\ud800"}]')
    assert columns(read_candidates(path)) == (["7"], ["7"], ["\U0001f600"], [""])


# Faults: (name of the file, its content, line, ids, part of the message)

LINE = b'{"image_id": 1, "caption": "a"}\n'
CANDIDATE_FAULTS: list[tuple[str, bytes, int | None, tuple[str, ...], str]] = [
    ("c.json", b"", None, (), "is empty"),
    ("c.json", b"\xef\xbb\xbf", None, (), "is empty"),
    ("c.csv", b" \n\n", None, (), "is empty"),
    ("c.parquet", b"", None, (), "is empty"),
    ("c.json.gz", gzip.compress(b"", mtime=0), None, (), "is empty"),
    ("c.json", b"[]", None, (), "no rows"),
    ("c.json", b"{}", None, (), "no rows"),
    ("c.csv", b"image_id,caption\n", None, (), "no rows"),
    ("c.json", b'[\n{"image_id": 1,\n "caption": }]', 3, (), "column 13"),
    ("c.json", LINE + LINE, 2, (), "name the file .jsonl"),
    ("c.jsonl", LINE + b'{"image_id": 2, "caption"\n', 2, (), "broken JSON"),
    ("c.jsonl", LINE + b"[1]\n", 2, (), "a JSON object is needed, not a list of 1"),
    ("c.jsonl", b'{"image_id": 1, "caption": "a", "x": ' + b"[" * 100_000, 1, (), "nested too deeply"),
    ("c.json", b"[" * 100_000, None, (), "nested too deeply"),
    ("c.json", b'"text"', None, (), "not a text"),
    ("c.json", b"42", None, (), "not a number"),
    ("c.json", b'["a", "b"]', None, (), "entry 1"),
    ("c.json", b'[{"image_id": 1, "caption": "a"}, null]', None, (), "entry 2"),
    ("c.json", b'{"annotations": [{"image_id": 1, "caption": "a"}]}', None, (), "swapped"),
    ("c.json", b'{"1": "a", "2": "b", "1": "c"}', None, ("1",), "same key twice"),
    ("c.json", b'{"1": ["a", "b"]}', None, ("1",), "a list of 2, not a text"),
    ("c.json", b'[{"image_id": 1, "caption": "a"}, {"image_id": 2, "caption": 3}]', None, ("2",), "entry 2"),
    ("c.json", b'[{"image_id": 5, "caption": null}]', None, ("5",), "`caption` is null"),
    ("c.json", b'[{"image_id": 5, "caption": NaN}]', None, ("5",), "`caption` is NaN"),
    ("c.json", b'[{"image_id": 5, "caption": ["a"]}]', None, ("5",), "`caption` is a list of 1"),
    ("c.json", b'[{"image_id": 5, "caption": {}}]', None, ("5",), "`caption` is an object"),
    ("c.json", b'[{"image_id": 5, "caption": "a \\ud800"}]', None, ("5",), "lone surrogate"),
    ("c.json", b'[{"image_id": "\\udc00", "caption": "a"}]', None, (), "lone surrogate"),
    ("c.json", b'[{"image_id": 5}]', None, (), "entry 1: `caption` or `candidate` is missing"),
    ("c.json", b'[{"caption": "a"}]', None, (), "entry 1: `image_id` or `image` is missing"),
    ("c.jsonl", LINE + b'{"id": 9, "caption": "a"}\n', 2, ("9",), "`image_id` is missing"),
    ("c.jsonl", LINE + b'{"image_id": 2}\n', 2, ("2",), "`caption` is missing"),
    ("c.jsonl", LINE + b'\n{"image_id": true, "caption": "a"}\n', 3, (), "`image_id` is true"),
    ("c.jsonl", LINE + b'{"image_id": null, "caption": "a"}\n', 2, (), "`image_id` is null"),
    ("c.jsonl", LINE + b'{"image_id": NaN, "caption": "a"}\n', 2, (), "`image_id` is NaN"),
    ("c.jsonl", LINE + b'{"image_id": 1e999, "caption": "a"}\n', 2, (), "`image_id` is an infinite number"),
    ("c.jsonl", LINE + b'{"image_id": "", "caption": "a"}\n', 2, (), "`image_id` is an empty text"),
    ("c.jsonl", b'{"image_id": 1, "caption": "a", "id": null}\n', 1, ("1",), "`id` is null"),
    ("c.jsonl", b'{"image_id": 1, "caption": "a", "system": []}\n', 1, ("1",), "`system` is a list of 0"),
    ("c.jsonl", b'{"image_id": 2, "image_id": 1, "caption": 5}\n', 1, ("image_id",), "same key twice"),
    ("c.jsonl", LINE + b'{"image_id": "1", "caption": "b"}\n', 2, ("1",), "own `id`, or a `system`"),
    ("c.jsonl", LINE + b'{"image_id": 1.0, "caption": "b"}\n', 2, ("1",), "own `id`, or a `system`"),
    ("c.csv", b"image_id,caption,id\n1,a,p\n2,b,q\n3,c,p\n", 4, ("p",), "repeated id"),
    ("c.csv", b"image_id,caption,system\n1,a,s\n1,b,t\n1,c,s\n", 4, ("1",), "own `id`, or a `system`"),
    ("c.csv", b"image_id,caption\n1,a\n,b\n", 3, (), "`image_id` is an empty text"),
    ("c.csv", b'image_id,caption\n1,"a\nb"\n2,c,d\n', 4, (), "3 cells under a header of 2"),
    ("c.csv", b'image_id,caption\n1,a\n2,"open\n3,c\n', 3, (), "quoted"),
    ("c.csv", b"image_id,caption,caption\n1,a,b\n", None, (), "same column twice: caption"),
    ("c.csv", b"picture,caption\n1,a\n", 1, (), "The columns there are: 'picture', 'caption'"),
    ("c.tsv", b"image_id\ttext\n1\ta\n", 1, (), "no column `caption` or `candidate`"),
    ("c.dat", b"a dog, running\n", None, (), "no rows"),
    ("c.jsonl", LINE + b'{"image_id": 2, "caption": "\xff"}\n', 2, (), f"byte {len(LINE) + 28} "),
    ("c.csv", b"\xff\xfe1", 1, (), "not UTF-8: byte 0 "),
    ("c.csv", "image_id,caption\n1,é".encode()[:-1], 2, (), "not UTF-8: byte 19 "),
    ("c.json.gz", gzip.compress(as_json(ROWS), mtime=0)[:-12], None, (), "truncated"),
    ("c.json", b"\x1f\x8b", None, (), "truncated"),
    ("c.json", b"\x1f\x8b" + b"x" * 50, None, (), "gzip data is broken"),
    ("c.json", b'[{"image_id": ' + b"9" * 5000 + b', "caption": "a"}]', None, (), "broken JSON"),
]


@pytest.mark.parametrize(("name", "content", "line", "ids", "part"), CANDIDATE_FAULTS)
def test_faults_of_candidates(
    tmp_path: Path, name: str, content: bytes, line: int | None, ids: tuple[str, ...], part: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_candidates(path)
    check(caught.value, str(path), line, ids, part)


def check(error: DataError, source: str, line: int | None, ids: tuple[str, ...], part: str) -> None:
    assert (error.file, error.line, error.ids) == (source, line, ids), str(error)
    assert str(error).startswith(source if line is None else f"{source}, line {line}: ")
    assert part in str(error)
    assert all(repr(i) in str(error) for i in ids)


REFERENCE_FAULTS: list[tuple[str, bytes, int | None, tuple[str, ...], str]] = [
    ("r.json", b'{"1": ["a"], "2": [], "3": []}', None, ("2", "3"), "entry 2: an image with no references (2 rows"),
    ("r.jsonl", b'{"image": 1, "references": ["a"]}\n{"image": 2, "references": []}\n', 2, ("2",), "no references"),
    ("r.jsonl", b'{"image": 1, "references": ["a"]}\n{"image": 1, "references": ["b"]}\n', 2, ("1",), "more than one"),
    ("r.jsonl", b'{"image": 1, "references": ["a"]}\n{"image": 2}\n', 2, ("2",), "`references` is missing"),
    ("r.json", b'{"1": ["a"], "2": ["b", 3]}', None, ("2",), "entry 2: `references` is a number, not a text"),
    ("r.json", b'{"1": ["a", "\\ud800"]}', None, ("1",), "lone surrogate"),
    ("r.json", b'{"1": ["a"], "2": null}', None, ("2",), "is null"),
    ("r.json", b'{"1": ["a"], "2": ["b"], "2": ["c"], "1": ["d"]}', None, ("2", "1"), "same key twice"),
    ("r.json", b'{"": ["a"]}', None, (), "`image_id` is an empty text"),
    ("r.json", b'{"annotations": []}', None, (), "no rows: there are no annotations"),
    ("r.json", b'{"annotations": {"a": 1}}', None, (), "`annotations` must be a list"),
    ("r.json", b'{"annotations": [3]}', None, (), "entry 1"),
    ("r.json", b'{"annotations": [{"id": 1, "caption": "a"}]}', None, (), "entry 1: `image_id` or `image` is missing"),
    ("r.json", b'{"annotations": [\n{"image_id": 1, "caption" "a"}]}', 2, (), "broken JSON at column 27"),
    ("r.json", b'{"annotations": [{"image_id": 1, "caption": 2}]}', None, ("1",), "entry 1: `caption` is a number"),
    ("r.json", b"[]", None, (), "no rows"),
    ("r.json", b"{}", None, (), "no rows"),
    ("r.json", b"null", None, (), "not null"),
    ("r.json", b'[["a", "b"]]', None, (), "this entry is a list of 2"),
    ("r.csv", b"a,b\n1,2\n", 1, (), "The columns there are: 'a', 'b'"),
    ("r.csv", b"", None, (), "is empty"),
]


@pytest.mark.parametrize(("name", "content", "line", "ids", "part"), REFERENCE_FAULTS)
def test_faults_of_references(
    tmp_path: Path, name: str, content: bytes, line: int | None, ids: tuple[str, ...], part: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_references(path)
    check(caught.value, str(path), line, ids, part)


def test_many_faults_tell_the_first_line_five_ids_and_the_number(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(LINE + b"".join(b'{"image_id": %d, "caption": 0}\n' % i for i in range(10, 22)))
    with pytest.raises(DataError) as caught:
        read_candidates(path)
    assert str(caught.value).startswith(f"{path}, line 2: `caption` is a number, not a text (12 rows like this).")
    assert str(caught.value).endswith("Ids: '10', '11', '12', '13', '14' and 7 more")


def test_parquet_faults(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "c.parquet"
    cases: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
        ({"image_id": [1, 2], "caption": ["a", None]}, ("2",), "row 2: `caption` is null"),
        ({"image_id": [1, 2], "caption": [1.5, 2.5]}, ("1", "2"), "row 1: `caption` is a number"),
        ({"image_id": [1.0, None], "caption": ["a", "b"]}, (), "row 2: `image_id` is null"),
        ({"image_id": [1.0, math.nan], "caption": ["a", "b"]}, (), "row 2: `image_id` is NaN"),
        ({"image_id": [b"x"], "caption": ["a"]}, (), "row 1: `image_id` is of type bytes"),
        ({"image_id": [1], "text": ["a"]}, (), "The columns there are: 'image_id', 'text'"),
        ({"image_id": arrow.array([], "int64"), "caption": arrow.array([], "string")}, (), "no rows"),
    ]
    for table, ids, part in cases:
        parquet.write_table(arrow.table(table), path)
        with pytest.raises(DataError) as caught:
            read_candidates(path)
        check(caught.value, str(path), None, ids, part)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_candidates(path)


@pytest.mark.parametrize("read", [read_candidates, read_references])
def test_missing_file_and_directory(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(DataError, match="there is no such file") as caught:
        read(tmp_path / "none.json")
    assert caught.value.file == str(tmp_path / "none.json")
    with pytest.raises(DataError, match="this is a directory"):
        read(tmp_path)


@pytest.mark.parametrize("obj", [7, None, "a", [1], ["a", {}], [{"image_id": 1}, "a"], [], {}, {1: "a", "1": "b"}])
def test_wrong_python_candidates(obj: object) -> None:
    with pytest.raises(DataError) as caught:
        candidates_from(obj, "mine")
    assert caught.value.file == "mine"


@pytest.mark.parametrize("obj", [7, None, "a", [1], [["a"], {}], [], {}, [[]], {"a": [1]}, {1: ["a"], "1": ["b"]}])
def test_wrong_python_references(obj: object) -> None:
    with pytest.raises(DataError) as caught:
        references_from(obj, "mine")
    assert caught.value.file == "mine"


# Join


def test_join_keeps_order_and_shares_reference_sets() -> None:
    rows = [
        {"image_id": 2, "caption": "a", "system": "s"},
        {"image_id": 1, "caption": "b", "system": "s"},
        {"image_id": 2, "caption": "c", "system": "t"},
    ]
    references = references_from({1: ["x"], 2: ["y", "z"], 3: ["unused"]})
    joined = join(candidates_from(rows), references)
    assert joined.unused_images == 1
    assert joined.dataset.ids == ["2", "1", "2"]
    assert joined.dataset.reference_sets == [("y", "z"), ("x",)]
    assert joined.dataset.group.tolist() == [0, 1, 0]
    assert joined.dataset.systems == ["s", "s", "t"]
    with pytest.raises(DataError, match="1 image with references but without a candidate") as caught:
        join(candidates_from(rows), references, strict=True)
    assert caught.value.ids == ("3",)
    assert join(candidates_from(rows), {i: references[i] for i in "12"}, strict=True).unused_images == 0


def test_join_names_candidates_without_references(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("image_id,caption\n1,a\n" + "".join(f"x{i},b\n" for i in range(7)))
    with pytest.raises(DataError) as caught:
        join(read_candidates(path), {"1": ("a",)})
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert str(caught.value).endswith("Ids: 'x0', 'x1', 'x2', 'x3', 'x4' and 2 more")


# What is written can be read

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
row = st.fixed_dictionaries({"id": text.filter(bool), "image": text.filter(bool), "candidate": text, "system": text})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(row, min_size=1, max_size=6, unique_by=lambda row: row["id"]))
@example(rows=[{"id": "a\rb", "image": " 7 ", "candidate": '"', "system": "\n"}])
@pytest.mark.parametrize(
    "suffix", ["jsonl", "jsonl.gz", "json", "csv", "tsv", "tsv.gz", "parquet", "parquet.gz", "other"]
)
def test_reading_what_was_written(tmp_path: Path, suffix: str, rows: list[dict[str, str]]) -> None:
    if suffix.startswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / f"rows.{suffix}"
    write_rows(path, [{**row, "scores": {"bleu": 0.5}} for row in rows])
    wanted = candidates_from([{**row, "image_id": row["image"], "caption": row["candidate"]} for row in rows])
    assert columns(read_candidates(path)) == columns(wanted)


def test_the_collector_is_running_again() -> None:
    with pytest.raises(DataError):
        read_candidates("there is no such file")
    assert gc.isenabled()


def test_cells_longer_than_the_csv_module_takes(tmp_path: Path) -> None:
    """Its limit holds for the whole process, so it is left alone."""
    limit, long = csv.field_size_limit(), 'a "quoted", long\ncaption ' * 20_000
    rows = [["image_id", "caption"], ["1", "short"], ["2", long], ["3", "x"], []]
    with (tmp_path / "x.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    found = read_candidates(tmp_path / "x.csv")
    assert found.captions == ["short", long.replace("\n", " "), "x"]
    assert list(found.lines) == [2, 3, 20_004]
    assert csv.field_size_limit() == limit
    assert [text for block in candidate_blocks(tmp_path / "x.csv", 2) for text in block.captions] == found.captions
