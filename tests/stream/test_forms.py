"""Shards keep what they have: a line, a cell, a part of a sample comes out as it went in, with scores beside it."""

from __future__ import annotations

import csv
import gzip
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import stream_maker as maker

from capeval.errors import DataError
from capeval.stream.folder import Folder
from capeval.stream.forms import form_of, opened_shard
from capeval.stream.forms.guess import row_count

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def rewritten(path: Path, out: Path, keep: list[bool] | None = None) -> dict[int, str]:
    """Writes a shard again with a score, 0, 1, 2 ...; NaN for the first row. Gives what was broken."""
    broken: dict[int, str] = {}
    out.mkdir(exist_ok=True)
    with opened_shard(str(path)) as reader, Folder(str(out)).writing(path.name) as stream:
        writer = reader.writer(stream, ["score"])
        for rows in reader.blocks():
            broken |= rows.broken
            scores = np.arange(rows.begin, rows.begin + len(rows), dtype=np.float64)
            scores[:1] = np.nan
            flags = np.array(keep if keep is not None else [True] * len(rows))
            flags[list(rows.broken)] = False
            writer.write(rows, {"score": scores}, flags)
        writer.close()
    return broken


def test_lines_of_json_stay_as_they_are(tmp_path: Path) -> None:
    lines = [
        '{"caption": "a dog",   "big": 12345678901234567890123, "é": "\\u00e9 }"}',
        "",
        '{ "caption" : "x" , "nested" : { "a" : [ 1.50 , {} ] } } ',
        "{}",
        "no json",
        "[1]",
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    broken = rewritten(path, tmp_path / "out")
    assert (tmp_path / "out" / "a.jsonl").read_text().split("\n") == [
        lines[0][:-1] + ',"score":null}',
        '{ "caption" : "x" , "nested" : { "a" : [ 1.50 , {} ] },"score":1.0}',
        '{"score":2.0}',
        "",
    ]
    assert "broken JSON" in broken[3]
    assert broken[4] == "a JSON object is needed, not a list of 1"


def test_packed_lines_are_packed_again_and_give_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"caption":"a"}\n{"caption":"b"}\n'))
    rewritten(path, tmp_path / "one")
    rewritten(path, tmp_path / "two")
    packed = (tmp_path / "one" / "a.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "two" / "a.jsonl.gz").read_bytes()
    assert gzip.decompress(packed) == b'{"caption":"a","score":null}\n{"caption":"b","score":1.0}\n'


@pytest.mark.parametrize(("ending", "sign"), [("csv", ","), ("tsv", "\t")])
def test_cells_come_back_with_line_breaks_and_quotes(tmp_path: Path, ending: str, sign: str) -> None:
    cells = [["caption", "x"], ["a, dog", 'say "hi"'], ["two\nlines", "tab\there"], ["carriage\rreturn", ""]]
    path = tmp_path / f"a.{ending}"
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=sign, quoting=csv.QUOTE_ALL).writerows(cells)
        stream.write(f"too{sign}many{sign}cells\n")
    broken = rewritten(path, tmp_path / "out")
    assert list(broken) == [3]
    assert "3 cells under a header of 2" in broken[3]
    with (tmp_path / "out" / path.name).open(newline="") as stream:
        found = list(csv.reader(stream, delimiter=sign))
    assert found == [[*row, score] for row, score in zip(cells, ["score", "", "1.0", "2.0"])]


def test_samples_of_a_tar_keep_their_parts(tmp_path: Path) -> None:
    rows = maker.made_rows(4)
    path = maker.write_tar(tmp_path / "a.tar", rows, [b"\xff\xd8 one", b"\xff\xd8 two"])
    rewritten(path, tmp_path / "out", keep=[True, False, True, True])

    def parts(file: Path) -> dict[str, bytes]:
        with tarfile.open(file) as archive:
            return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]

    before, after = parts(path), parts(tmp_path / "out" / "a.tar")
    scores = {name: json.loads(data) for name, data in after.items() if name.endswith(".scores.json")}
    assert scores == {
        "000000.scores.json": {"score": None},
        "000002.scores.json": {"score": 2.0},
        "000003.scores.json": {"score": 3.0},
    }
    kept = {name: data for name, data in before.items() if not name.startswith("000001")}
    assert {name: data for name, data in after.items() if name not in scores} == kept


@pytest.mark.filterwarnings("ignore")  # it leaves the file open
def test_what_webdataset_makes_of_it(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    path = maker.write_tar(tmp_path / "a.tar", maker.made_rows(3))
    rewritten(path, tmp_path / "out")
    samples = list(webdataset.WebDataset(str(tmp_path / "out" / "a.tar"), shardshuffle=False))
    assert [json.loads(each["scores.json"])["score"] for each in samples] == [None, 1.0, 2.0]


@pytest.mark.parametrize("size", [19_900, 20_000, 20_480])  # inside a part, a header, between two
def test_a_tar_that_is_cut_short_says_so(tmp_path: Path, size: int) -> None:
    path = maker.write_tar(tmp_path / "a.tar", maker.made_rows(9), [bytes(4000)])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=r"a\.tar: not a readable tar file, or cut short"):
        rewritten(path, tmp_path / "out")
    assert not (tmp_path / "out" / "a.tar").exists()


def test_parquet_keeps_types_compression_and_rows(tmp_path: Path) -> None:
    table = pa.table(
        {
            "caption": pa.array(["a", None, "c"], pa.dictionary(pa.int32(), pa.string())),
            "when": pa.array([1, 2, 3], pa.timestamp("us")),
            "deep": pa.array([{"a": [1]}, None, {"a": []}]),
        }
    ).replace_schema_metadata({"huggingface": "{}", "mine": "x"})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd")
    rewritten(tmp_path / "a.parquet", tmp_path / "out", keep=[True, True, False])
    found = pq.read_table(tmp_path / "out" / "a.parquet")
    assert found.drop(["score"]).cast(table.schema).equals(table.slice(0, 2))
    assert found["score"].to_pylist() == [None, 1.0]
    assert found.schema.metadata[b"mine"] == b"x"
    assert b"huggingface" not in found.schema.metadata
    facts = pq.ParquetFile(tmp_path / "out" / "a.parquet").metadata
    assert facts.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "tar"])
def test_a_shard_without_rows(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"caption": pa.array([], pa.string())}), path)
    elif ending == "tar":
        tarfile.open(path, "w").close()
    else:
        path.write_text("caption\n" if ending == "csv" else "")
    rewritten(path, tmp_path / "out")
    assert (tmp_path / "out" / path.name).exists()


def test_blocks_of_large_rows_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may hold pictures: a block is bounded by its bytes too."""
    from capeval.stream.forms import base, jsonl, parquet, tar

    for module in (base, jsonl, parquet, tar):
        monkeypatch.setattr(module, "BLOCK_BYTES", 10_000)
    draw = np.random.default_rng(0)
    pictures = [draw.bytes(3000) for _ in range(9)]
    pq.write_table(pa.table({"caption": ["a"] * 9, "jpg": pictures}), tmp_path / "a.parquet")
    maker.write_tar(tmp_path / "a.tar", maker.made_rows(9), pictures)
    for name in ("a.parquet", "a.tar"):
        with opened_shard(str(tmp_path / name)) as reader:
            sizes = [len(rows) for rows in reader.blocks()]
        assert sum(sizes) == 9
        assert max(sizes) <= 4


def test_rows_are_counted_or_guessed(tmp_path: Path) -> None:
    rows = maker.made_rows(400)
    for ending in ("parquet", "jsonl", "csv", "tar"):
        paths = maker.write_shards(tmp_path / ending, rows, 2, ending)
        if ending == "jsonl":
            packed = tmp_path / "a.jsonl.gz"
            packed.write_bytes(gzip.compress(Path(paths[0]).read_bytes()))
            assert row_count([str(packed)]) == pytest.approx(200, rel=0.1)
        assert row_count(paths) == pytest.approx(400, rel=0.1)
    (tmp_path / "no.parquet").write_bytes(b"no Parquet")
    assert row_count([str(tmp_path / "no.parquet")]) == 0


def test_the_form_goes_by_the_name() -> None:
    assert [form_of(f"s3://a/b{each}?x=1") for each in (".parquet", ".jsonl.gz", ".tsv", ".tar", ".tgz")] == [
        "parquet", "jsonl", "tsv", "tar", "tar",
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"shards are \.parquet"):
        form_of("a.json")
