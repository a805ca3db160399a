"""Feature files: our store and the arrays that users bring."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import DataError, MissingExtra
from capeval.io.features import Names, open_features
from capeval.io.featurestore import BLOCK, HASH_BYTES, HEADER, Layout, StoreWriter


def rows(count: int, dim: int = 6, regions: int = 4, seed: int = 0) -> tuple[Any, Any]:
    found = np.random.default_rng(seed).normal(size=(count, regions, dim)).astype(np.float16).astype(np.float32)
    return found.mean(axis=1).astype(np.float16).astype(np.float32), found


def hashes(ids: list[str]) -> list[bytes]:
    return [each.encode()[:HASH_BYTES].ljust(HASH_BYTES, b".") for each in ids]


def write(path: Path, ids: list[str], vectors: Any, regions: Any = None, *, at_once: int = 50) -> None:
    grid = ((0.0, 0.0, 0.5, 0.5), (0.5, 0.0, 1.0, 0.5), (0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 1.0))
    layout = Layout("tiny/0123", vectors.shape[1], 0 if regions is None else 4, () if regions is None else grid)
    with StoreWriter(path, layout) as writer:
        for i in range(0, len(ids), at_once):
            part = slice(i, i + at_once)
            writer.add(ids[part], hashes(ids[part]), vectors[part], None if regions is None else regions[part])


@given(count=st.integers(1, 3 * BLOCK + 1), at_once=st.integers(1, 2 * BLOCK + 3), with_regions=st.booleans())
def test_a_store_gives_back_what_was_added(
    tmp_path_factory: pytest.TempPathFactory, count: int, at_once: int, with_regions: bool
) -> None:
    path = tmp_path_factory.mktemp("store") / "x.features"
    ids, (vectors, regions) = [f"picture {i}" for i in range(count)], rows(count)
    write(path, ids, vectors, regions if with_regions else None, at_once=at_once)
    found = open_features(path)
    assert found.ids == ids
    assert (found.dim, found.region_count, found.encoder) == (6, 4 * with_regions, "tiny/0123")
    order = np.random.default_rng(1).integers(0, count, 2 * count)
    asked = [ids[i] for i in order]
    assert np.array_equal(found.vectors(asked), vectors[order])
    if with_regions:
        assert np.array_equal(found.regions(asked), regions[order])
        assert found.boxes(asked)[0].tolist()[1] == [0.5, 0.0, 1.0, 0.5]  # type: ignore[index]
    else:
        assert found.boxes(asked) is None
        with pytest.raises(DataError, match="no regions"):
            found.regions(asked)


def test_a_later_row_replaces_an_earlier_one(tmp_path: Path) -> None:
    vectors, _ = rows(3)
    write(tmp_path / "x", ["a", "b", "a"], vectors)
    found = open_features(tmp_path / "x")
    assert sorted(found.ids) == ["a", "b"]
    assert np.array_equal(found.vectors(["a"])[0], vectors[2])


def test_the_digest_goes_by_content(tmp_path: Path) -> None:
    vectors, _ = rows(2)
    write(tmp_path / "x", ["a", "b"], vectors)
    write(tmp_path / "y", ["b", "a"], vectors[::-1])
    write(tmp_path / "z", ["a", "c"], vectors)
    x, y, z = (open_features(tmp_path / name).digest for name in "xyz")
    assert x == y != z


def test_missing_images_are_named(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    with pytest.raises(DataError, match=r"7 images have no features.*'i0'.*'i4' and 2 more") as caught:
        open_features(tmp_path / "x").vectors(["a", *(f"i{n}" for n in range(7)), "i0"])
    assert caught.value.ids[:2] == ("i0", "i1")


@pytest.mark.parametrize("keep", [9, HEADER - 1, HEADER, HEADER + 100])
def test_a_truncated_store_is_refused(tmp_path: Path, keep: int) -> None:
    write(tmp_path / "x", ["a", "b"], rows(2)[0])
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[:keep])
    with pytest.raises(DataError, match="truncated"):
        open_features(tmp_path / "x")


@given(place=st.integers(0, 200), value=st.integers(0, 255))
def test_a_damaged_header_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
) -> None:
    path = tmp_path_factory.mktemp("store") / "x"
    write(path, ["a", "b"], rows(2)[0])
    data = bytearray(path.read_bytes())
    data[place] = value
    path.write_bytes(data)
    try:
        rows_there = len(open_features(path))
    except DataError:
        return
    assert rows_there <= BLOCK


def test_foreign_files_are_refused_and_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("my thesis, " * 1000)
    with pytest.raises(DataError, match="not a feature store"):
        open_features(tmp_path / "x")
    with pytest.raises(DataError, match="not a feature store"):
        StoreWriter(tmp_path / "x", Layout("e", 4))
    assert (tmp_path / "x").read_text().startswith("my thesis")
    with pytest.raises(DataError, match="no such file"):
        open_features(tmp_path / "y")


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    data = bytearray((tmp_path / "x").read_bytes())
    data[8] = 9
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(DataError, match="format 9"):
        open_features(tmp_path / "x")


def test_another_encoder_or_other_regions_do_not_mix(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    with pytest.raises(DataError, match="made by encoder tiny/0123, not by other/1"):
        StoreWriter(tmp_path / "x", Layout("other/1", 6))
    with pytest.raises(DataError, match="no regions"):
        StoreWriter(tmp_path / "x", Layout("tiny/0123", 6, 4))


def test_only_one_writes_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with StoreWriter(tmp_path / "x", Layout("e", 4)), pytest.raises(DataError, match="another process"):
        StoreWriter(tmp_path / "x", Layout("e", 4))


@pytest.mark.parametrize("bad", ["", "x" * 257, "a\0b", "\udcff"])
def test_ids_that_cannot_be_kept_are_refused(tmp_path: Path, bad: str) -> None:
    with StoreWriter(tmp_path / "x", Layout("e", 6)) as writer, pytest.raises(DataError, match="id "):
        writer.add([bad], [b"." * HASH_BYTES], rows(1)[0])


KILLED = """
import sys
import numpy as np
from capeval.io.featurestore import HASH_BYTES, Layout, StoreWriter

with StoreWriter(sys.argv[1], Layout("tiny/0123", 200, 49)) as writer:
    for i in range(10**9):
        row = np.full((7, 49, 200), i, np.float32)
        writer.add([f"{i}-{j}" for j in range(7)], [b"." * HASH_BYTES] * 7, row[:, 0], row)
        print(i, flush=True)
"""


def test_a_killed_writer_loses_at_most_its_last_rows(tmp_path: Path) -> None:
    path, known = tmp_path / "x", 0
    for run in range(4):
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout
        with child.stdout as lines:
            for _ in range(11 * (run + 1)):
                lines.readline()
            child.send_signal(signal.SIGKILL)
            told = sum(1 for _ in lines) + 11 * (run + 1)
        child.wait()
        found = open_features(path)
        stored = found._store.rows  # type: ignore[attr-defined]
        assert stored >= known + 7 * told, "what was told to be on disk is there"
        assert stored % 7 == 0
        known = stored
        values = found.regions(found.ids[-300:])
        assert values[:, 0, 0].tolist() == [float(key.split("-")[0]) for key in found.ids[-300:]]
        assert np.ptp(values, axis=(1, 2)).max() == 0, "a row is whole"
        with path.open("ab") as stream:  # what a dying process may leave behind the last row
            stream.write(os.urandom(1000))


@pytest.mark.parametrize(
    ("names", "asked", "found"),
    [
        (["cat"], "cat", "cat"),
        (["cat"], "cat.jpg", "cat"),
        (["cat"], "dog", None),
        (["000000000042"], "42", "000000000042"),
        (["COCO_val2014_000000000042"], "42", "COCO_val2014_000000000042"),
        (["COCO_val2014_000000000042"], "000000000042.jpg", "COCO_val2014_000000000042"),
        (["42"], "COCO_val2014_000000000042.jpg", "42"),
        (["COCO_val2014_000000000042", "COCO_train2014_000000000042"], "42", None),
        (["42", "042"], "42", "42"),
        (["42", "042"], "0042", None),
        (["1.5"], "1.5", "1.5"),
        (["x"], "", None),
    ],
)
def test_names(names: list[str], asked: str, found: str | None) -> None:
    assert Names(names).find(asked) == found


def test_npz(tmp_path: Path) -> None:
    vectors, regions = rows(3)
    boxes = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    np.savez(tmp_path / "x.npz", ids=np.array([3, 1, 2]), vectors=vectors, regions=regions, boxes=boxes)
    found = open_features(tmp_path / "x.npz")
    assert found.ids == ["3", "1", "2"]
    assert np.array_equal(found.vectors(["2", "3", "2"]), vectors[[2, 0, 2]])
    assert np.array_equal(found.regions(["1"]), regions[[1]])
    assert np.array_equal(found.boxes(["1"]), boxes[[1]])  # type: ignore[arg-type]
    assert (found.encoder, found.dim, found.region_count) == ("", 6, 4)
    assert len(found.digest) == 64


def test_vectors_are_the_mean_of_regions_where_there_are_only_those(tmp_path: Path) -> None:
    _, regions = rows(3)
    np.savez(tmp_path / "x.npz", ids=np.array(["a", "b", "c"]), regions=regions)
    found = open_features(tmp_path / "x.npz")
    assert np.allclose(found.vectors(["c", "a"]), regions[[2, 0]].mean(axis=1))
    assert found.boxes(["a"]) is None


@pytest.mark.parametrize("beside", ["x.ids.txt", "x.ids.json"])
def test_npy_with_ids_beside_it(tmp_path: Path, beside: str) -> None:
    vectors, _ = rows(2)
    np.save(tmp_path / "x.npy", vectors)
    with pytest.raises(DataError, match=r"x\.ids\.txt"):
        open_features(tmp_path / "x.npy")
    (tmp_path / beside).write_text("a\nb\n" if beside.endswith("txt") else '["a", "b"]')
    assert np.array_equal(open_features(tmp_path / "x.npy").vectors(["b"]), vectors[[1]])


def test_h5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    _, regions = rows(4)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["ids"], file["regions"] = ["a", "b", "c", "d"], regions
    found = open_features(tmp_path / "x.h5")
    assert np.array_equal(found.regions(["d", "a", "d"]), regions[[3, 0, 3]])
    (tmp_path / "y.h5").write_bytes(b"no")
    with pytest.raises(DataError, match="HDF5"):
        open_features(tmp_path / "y.h5")


def test_h5_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "x.h5").write_bytes(b"")
    with pytest.raises(MissingExtra, match="pip install"):
        open_features(tmp_path / "x.h5")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no ids": ({"vectors": np.ones((2, 3))}, "no array `ids`"),
    "no features": ({"ids": np.array(["a"])}, "no array `vectors`"),
    "ids twice": ({"ids": np.array(["a", "b", "a"]), "vectors": np.ones((3, 3))}, "more than once.*'a'"),
    "too few ids": ({"ids": np.array(["a"]), "vectors": np.ones((2, 3))}, "2 rows for 1 ids"),
    "wrong shape": ({"ids": np.array(["a"]), "vectors": np.ones((1, 3, 2))}, "2 dimensions"),
    "no numbers": ({"ids": np.array(["a"]), "vectors": np.array([["x"]])}, "must be numbers"),
    "objects": ({"ids": np.array(["a", 1], object), "vectors": np.ones((2, 3))}, "save ids as strings"),
    "boxes": ({"ids": np.array(["a"]), "regions": np.ones((1, 3, 2)), "boxes": np.ones((1, 2, 4))}, "boxes must be"),
    "float ids": ({"ids": np.array([0.5]), "vectors": np.ones((1, 2))}, "strings or whole numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_told(tmp_path: Path, name: str) -> None:
    arrays, message = BAD[name]
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        open_features(tmp_path / "x.npz")
    assert "x.npz" in str(caught.value)


def test_numbers_that_are_not_finite_are_told_with_their_ids(tmp_path: Path) -> None:
    vectors = np.ones((3, 2))
    vectors[1, 1] = np.nan
    np.savez(tmp_path / "x.npz", ids=np.array(["a", "b", "c"]), vectors=vectors)
    found = open_features(tmp_path / "x.npz")
    assert found.vectors(["a", "c"]).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(DataError, match=r"not finite.*'b'"):
        found.vectors(["a", "b"])


def test_a_broken_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"\.npz"):
        open_features(tmp_path / "x.npz")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(DataError, match=r"\.npy"):
        open_features(tmp_path / "x.npy")
