"""Opening and replacing files."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
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


def test_gzip_members_one_after_the_other(tmp_path: Path) -> None:
    one, other = b"some text " * 50, os.urandom(3_000_000)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(one, mtime=0) + gzip.compress(other, mtime=0) + gzip.compress(b"", mtime=0))
    assert files.read_bytes(path) == one + other
    path.write_bytes(gzip.compress(one, mtime=0) + b"\0" * 100)  # padding, as on tapes
    assert files.read_bytes(path) == one
    path.write_bytes(gzip.compress(one, mtime=0) + b"garbage")
    with pytest.raises(DataError, match="gzip data is broken"):
        files.read_bytes(path)
    path.write_bytes(gzip.compress(one, mtime=0) + gzip.compress(other, mtime=0)[:-1])
    with pytest.raises(DataError, match="gzip data is truncated"):
        files.read_bytes(path)


ZEROS = gzip.compress(bytes(1 << 20), mtime=0)
"""A thousandth of its content."""


@pytest.mark.parametrize("before", [b"", gzip.compress(os.urandom(1 << 20), mtime=0)], ids=["", "hidden"])
def test_gzip_that_would_fill_the_memory(tmp_path: Path, before: bytes) -> None:
    """4 MB that unpack to 4 GB, also behind data that is packed less."""
    pytest.importorskip("resource")
    path = tmp_path / "captions.json.gz"
    path.write_bytes(before + 4096 * ZEROS)
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from capeval.errors import DataError\n"
        "from capeval.io.files import read_bytes\n"
        "try:\n    read_bytes(sys.argv[1])\nexcept DataError as problem:\n    print(problem)\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(path)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # whose threads would take much of it
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.startswith(f"{path}: the gzip data unpacks to more than 100 times its size")
    assert "gzip -d" in done.stdout


def test_gzip_of_much_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions that are all the same are no attack, nor is a little that packs well."""
    monkeypatch.setattr(files, "_STRETCH", 1 << 22)
    same = b"".join(b'{"image_id": %d, "caption": "a man rides a horse on a beach"}\n' % i for i in range(200_000))
    assert len(same) > 2 * files._STRETCH
    for data in (same, bytes(files._STRETCH - 1)):
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(data, 6, mtime=0))
        assert files.read_bytes(path) == data
