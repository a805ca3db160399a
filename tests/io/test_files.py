"""Opening and replacing files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from capeval.errors import DataError
from capeval.io import files


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.json", "json"),
        ("A.JSON.GZ", "json"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.tsv.gz", "tsv"),
        ("a.pq", "parquet"),
        ("dir.csv/a", None),
        ("a.txt", None),
        ("-", None),
    ],
)
def test_format_from_name(name: str, expected: str | None) -> None:
    assert files.format_from_name(name) == expected


@pytest.mark.parametrize("position", [0, 1, (1 << 20) - 2, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_utf8_is_checked_across_pieces(position: int) -> None:
    text = "a" * position + "é\U0001f600" + "\n" * 5
    assert files.utf8_without_bom(text.encode(), "f") == text.encode()
    with pytest.raises(DataError, match=f"byte {position + 11} ") as caught:
        files.utf8_without_bom(text.encode() + b"\xff", "f")
    assert (caught.value.file, caught.value.line) == ("f", 6)
    with pytest.raises(DataError, match=f"byte {position + 2} .*unexpected end"):
        files.utf8_without_bom(text.encode()[: position + 5], "f")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), files.writing(path) as stream:
        stream.writelines([b"new", "not bytes"])  # type: ignore[list-item]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert path.read_bytes() == b"old"
    with files.writing(path) as stream:
        stream.write(b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert path.read_bytes() == b"new"


def test_links_stay_links_and_devices_stay_devices(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with files.writing(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    with files.writing(os.devnull) as stream:
        stream.write(b"new")
    assert not Path(os.devnull).is_file()


def test_gzip_is_reproducible(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with files.writing(tmp_path / name) as stream:
            stream.write(b"data")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"data"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "out", tmp_path):
        with pytest.raises(DataError, match="cannot be written"), files.writing(path):
            pass


def test_broken_gzip_contents(tmp_path: Path) -> None:
    packed = gzip.compress(b"some text " * 50, mtime=0)
    path = tmp_path / "a.gz"
    for length in range(2, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(DataError, match="gzip data is truncated"):
            files.read_bytes(path)
    path.write_bytes(packed[:-8] + b"\0" * 8)
    with pytest.raises(DataError, match="gzip data is broken"):
        files.read_bytes(path)
