"""Reading in blocks gives what reading the whole file gives."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capeval.errors import DataError
from capeval.io.captions import candidate_blocks, read_candidates

ROWS = [
    {"id": f"r{i}", "image_id": i % 7, "caption": f"caption {i} caf\u00e9", "system": f"s{i % 2}"} for i in range(23)
]


def as_jsonl() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def as_csv(delimiter: str = ",") -> bytes:
    lines = [delimiter.join(ROWS[0])] + [delimiter.join(f'"{value}"' for value in row.values()) for row in ROWS]
    return "\n".join(lines).encode()


def as_parquet() -> bytes:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stream = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist(ROWS), stream)
    return bytes(stream.getvalue())


FORMATS: dict[str, Callable[[], bytes]] = {
    "x.jsonl": as_jsonl,
    "x.jsonl.gz": lambda: gzip.compress(as_jsonl()),
    "bom.jsonl": lambda: b"\xef\xbb\xbf" + as_jsonl(),
    "x.csv": as_csv,
    "x.tsv": lambda: as_csv("\t"),
    "x.parquet": as_parquet,
    "x.json": lambda: json.dumps(ROWS).encode(),
    "unnamed": as_jsonl,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [1, 5, 23, 100])
def test_blocks_are_the_file(tmp_path: Path, name: str, size: int) -> None:
    path = tmp_path / name
    path.write_bytes(FORMATS[name]())
    whole, blocks = read_candidates(path), list(candidate_blocks(path, size))
    assert [len(block.ids) for block in blocks] == [size] * (23 // size) + ([23 % size] if 23 % size else [])
    for column in ("ids", "images", "captions", "systems"):
        assert [value for block in blocks for value in getattr(block, column)] == getattr(whole, column)


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet", "x.json"])
def test_an_id_repeated_in_another_block_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    ROWS.append(ROWS[3])
    try:
        path.write_bytes(FORMATS[name]())
    finally:
        ROWS.pop()
    found = candidate_blocks(path, 4)
    with pytest.raises(DataError, match=r"repeated id.*'r3'"):
        list(found)


def test_many_blocks_are_still_looked_through(tmp_path: Path) -> None:
    lines = [json.dumps({"image_id": i, "caption": "x"}) for i in [*range(200), 1]]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    blocks = candidate_blocks(tmp_path / "x.jsonl", 2)
    assert sum(len(next(blocks).ids) for _ in range(100)) == 200
    with pytest.raises(DataError, match="line 201: repeated id"):
        next(blocks)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.jsonl", b"", "no rows"),
        ("x.jsonl", as_jsonl() + b'{"image_id": "z", "caption": "\xff"}', "line 24: not UTF-8"),
        ("x.jsonl", as_jsonl() + b"{", "line 24: broken JSON"),
        ("x.csv", as_csv() + b"\na,b", "line 25: 2 cells under a header of 4"),
        ("x.csv", as_csv() + b"\n\xff,1,2,3", "not UTF-8"),
        ("x.csv", b"image_id,caption\n", "no rows"),
        ("x.parquet", b"PAR1 no", "not a readable Parquet file"),
        ("x.jsonl.gz", gzip.compress(as_jsonl())[:-20], "truncated"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        list(candidate_blocks(tmp_path / name, 10))
    with pytest.raises(DataError, match="no such file"):
        next(candidate_blocks(tmp_path / f"none-{name}"))


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the peak of memory is read from Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    program = (
        "import re, sys\n"
        "from capeval.io.captions import candidate_blocks\n"
        "print(sum(len(block.ids) for block in candidate_blocks(sys.argv[1], 5000)))\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
    )
    peaks = []
    for rows in (20_000, 200_000):
        path = tmp_path / f"{rows}.jsonl"
        path.write_text(
            "".join(f'{{"image_id": {i}, "caption": "a man rides a bike, number {i}"}}\n' for i in range(rows))
        )
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        count, peak = map(int, done.stdout.split())
        assert count == rows
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 12_000  # kB; all rows as objects would be eight times as much
