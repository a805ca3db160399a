"""Feature files: our store and the arrays that users bring."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capeval.errors import DataError, MissingExtra
from capeval.io import featurestore
from capeval.io.features import Names, open_features
from capeval.io.featurestore import BLOCK, FORMAT, HASH_BYTES, Encoded, Store


def rows(count: int, dim: int = 6, regions: int = 4, seed: int = 0) -> tuple[Any, Any]:
    found = np.random.default_rng(seed).normal(size=(count, regions, dim)).astype(np.float16).astype(np.float32)
    return found.mean(axis=1).astype(np.float16).astype(np.float32), found


def hashes(ids: list[str]) -> list[bytes]:
    return [each.encode()[:HASH_BYTES].ljust(HASH_BYTES, b".") for each in ids]


GRID = np.array([(0.0, 0.0, 0.5, 0.5), (0.5, 0.0, 1.0, 0.5), (0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 1.0)])


def write(path: Path, ids: list[str], vectors: Any, regions: Any = None, *, at_once: int = 50) -> None:
    own = [
        hashlib.blake2b(key.encode() + row.tobytes(), digest_size=HASH_BYTES).digest() for key, row in zip(ids, vectors)
    ]
    boxes = None if regions is None else GRID
    rows = regions if regions is not None else [None] * len(ids)
    pictures = [Encoded(*each, boxes) for each in zip(own, vectors, rows)]
    for i in range(0, len(ids), at_once):
        part = slice(i, i + at_once)
        Store(path).add("tiny/0123", pictures[part], dict(zip(ids[part], own[part])))


@settings(max_examples=20)  # each waits for the disk
@given(count=st.integers(1, 3 * BLOCK + 1), at_once=st.integers(9, 2 * BLOCK + 3), with_regions=st.booleans())
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


def test_pictures_may_have_different_numbers_of_regions(tmp_path: Path) -> None:
    """A store keeps them; who asks for several at once must ask for equal ones."""
    vectors, regions = rows(3)
    counts = {"a": 4, "b": 2, "c": 4}
    pictures = [
        Encoded(digest, vector, own[:count], GRID[:count] / count)
        for digest, vector, own, count in zip(hashes(list(counts)), vectors, regions, counts.values())
    ]
    Store(tmp_path / "x").add("tiny/0123", pictures, dict(zip(counts, hashes(list(counts)))))
    found = open_features(tmp_path / "x")
    assert found.region_count == 4
    assert np.array_equal(found.regions(["c", "a"]), regions[[2, 0]])
    assert np.array_equal(found.regions(["b"])[0], regions[1, :2])
    assert np.array_equal(found.boxes(["b"])[0], (GRID[:2] / 2).astype(np.float32))  # type: ignore[index]
    assert np.array_equal(found.vectors(["b", "a"]), vectors[[1, 0]])
    with pytest.raises(DataError, match="different sizes"):
        found.regions(["a", "b"])


def test_one_picture_under_two_names_is_kept_once(tmp_path: Path) -> None:
    vectors, _ = rows(1)
    digest = hashes(["a"])[0]
    Store(tmp_path / "x").add("tiny/0123", [Encoded(digest, vectors[0])], {"a": digest, "b": digest})
    found = open_features(tmp_path / "x")
    assert np.array_equal(found.vectors(["b", "a"]), vectors[[0, 0]])
    assert found.contents(["a"]) == found.contents(["b"])


def test_an_image_gets_another_picture(tmp_path: Path) -> None:
    vectors, _ = rows(2)
    one, two = hashes(["one", "two"])
    Store(tmp_path / "x").add("tiny/0123", [Encoded(one, vectors[0])], {"a": one, "b": one})
    Store(tmp_path / "x").add("tiny/0123", [Encoded(two, vectors[1])], {"a": two})
    found = open_features(tmp_path / "x")
    assert found.ids == ["a", "b"]
    assert np.array_equal(found.vectors(["a", "b"]), vectors[[1, 0]])


def test_features_of_two_encoders_are_not_one(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    Store(tmp_path / "x").add("other/1", [Encoded(hashes(["b"])[0], rows(1)[0][0])])
    with pytest.raises(DataError, match="several encoders: other/1, tiny/0123"):
        open_features(tmp_path / "x")


def test_a_finished_store_is_one_file(tmp_path: Path) -> None:
    write(tmp_path / "x", [f"{i}" for i in range(100)], *rows(100))
    open_features(tmp_path / "x").vectors(["1"])
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes()[18:20] == b"\x01\x01", "no write-ahead log that would have to come along"


def test_a_store_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    place = tmp_path / "read only?#%20"
    place.mkdir()
    write(place / "x", ["a"], rows(1)[0])
    (place / "x").chmod(0o444)
    place.chmod(0o555)
    try:
        assert np.array_equal(open_features(place / "x").vectors(["a"]), rows(1)[0])
    finally:
        place.chmod(0o755)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, asked = featurestore._opened, []

    def without_locks(address: str) -> sqlite3.Connection:
        asked.append(address)
        if "nolock=1" not in address:
            raise sqlite3.OperationalError("disk I/O error")
        return opened(address)

    monkeypatch.setattr(featurestore, "_opened", without_locks)
    write(tmp_path / "x", ["a"], rows(1)[0])
    assert np.array_equal(open_features(tmp_path / "x").vectors(["a"]), rows(1)[0])
    assert any("nolock=1" in address for address in asked)


def test_others_read_it_as_the_docs_say(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "feature-store.md").read_text(encoding="utf-8")
    example = text.partition("```python\n")[2].partition("```")[0].replace("photos.features", str(tmp_path / "x"))
    write(tmp_path / "x", ["41", "42"], *rows(2))
    names: dict[str, Any] = {"sqlite3": sqlite3, "np": np}
    exec(example, names)
    names["connection"].close()
    assert np.array_equal(names["vector"], rows(2)[0][1])


def test_missing_images_are_named(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    with pytest.raises(DataError, match=r"7 images have no features.*'i0'.*'i4' and 2 more") as caught:
        open_features(tmp_path / "x").vectors(["a", *(f"i{n}" for n in range(7)), "i0"])
    assert caught.value.ids[:2] == ("i0", "i1")


@pytest.mark.parametrize("keep", [20, 99, 100, 5000, 1 << 14, -1])
def test_a_truncated_store_is_refused(tmp_path: Path, keep: int) -> None:
    write(tmp_path / "x", ["a", "b"], rows(2)[0])
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[:keep])
    with pytest.raises(DataError, match="truncated"):
        open_features(tmp_path / "x")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store of two pictures, a and b."""
    path = tmp_path_factory.mktemp("store") / "x"
    write(path, ["a", "b"], rows(2, dim=2000)[0])
    return path.read_bytes()


@given(place=st.one_of(st.integers(0, 200), st.integers(0, 1 << 20)), value=st.integers(0, 255))
@example(place=109, value=31)  # SQLite then gives text that is not UTF-8
def test_a_damaged_store_is_told_or_harmless(whole: bytes, tmp_path: Path, place: int, value: int) -> None:
    """Wherever a byte is another one: the numbers are right, or there are none."""
    data = bytearray(whole)
    data[place % len(data)] = value
    (tmp_path / "x").write_bytes(data)
    try:
        found = open_features(tmp_path / "x")
        known = [key for key in ("a", "b") if key in found]
        values = found.vectors(known)
    except DataError:
        return
    assert np.array_equal(values, rows(2, dim=2000)[0][["ab".index(key) for key in known]])


def test_stores_of_the_first_format_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"CAPEVALF" + bytes(5000))
    for use in (open_features, lambda path: Store(path).add("e", [])):
        with pytest.raises(DataError, match="older capeval: make it again"):
            use(tmp_path / "x")


def test_foreign_files_are_refused_and_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("my thesis, " * 1000)
    with pytest.raises(DataError, match="not a feature store"):
        open_features(tmp_path / "x")
    with pytest.raises(DataError, match="not a feature store"):
        Store(tmp_path / "x").add("e", [])
    assert (tmp_path / "x").read_text().startswith("my thesis")
    with closing(sqlite3.connect(tmp_path / "theirs")) as theirs:
        theirs.execute("CREATE TABLE books (title)")
    with pytest.raises(DataError, match="not a feature store"):
        Store(tmp_path / "theirs").add("e", [])
    with pytest.raises(DataError, match="no such file"):
        open_features(tmp_path / "y")


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    write(tmp_path / "x", ["a"], rows(1)[0])
    with closing(sqlite3.connect(tmp_path / "x")) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 7}")
    with pytest.raises(DataError, match=f"format {FORMAT + 7}"):
        open_features(tmp_path / "x")


@pytest.mark.parametrize("bad", ["", "x" * 257, "a\0b", "\udcff"])
def test_ids_that_cannot_be_kept_are_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(DataError, match="id "):
        Store(tmp_path / "x").add("e", [], {bad: b"." * HASH_BYTES})


KILLED = """
import sys
import numpy as np
from capeval.io.featurestore import Encoded, Store

run = sys.argv[2]
for i in range(10**9):
    keys = [f"{run}-{i}-{j}" for j in range(7)]
    row = np.full((49, 200), i, np.float32)
    pictures = [Encoded(key.ljust(16).encode(), row[0], row) for key in keys]
    Store(sys.argv[1]).add("tiny/0123", pictures, {key: each.hash for key, each in zip(keys, pictures)})
    print(i, flush=True)
"""


def test_a_killed_writer_loses_at_most_its_last_rows(tmp_path: Path) -> None:
    path, known = tmp_path / "x", 0
    for run in range(4):
        child = subprocess.Popen([sys.executable, "-c", KILLED, path, str(run)], stdout=subprocess.PIPE, text=True)
        assert child.stdout
        with child.stdout as lines:
            for _ in range(11 * (run + 1)):
                lines.readline()
            child.send_signal(signal.SIGKILL)
            told = sum(1 for _ in lines) + 11 * (run + 1)
        child.wait()
        found = open_features(path)
        assert len(found) >= known + 7 * told, "what was told to be on disk is there"
        assert len(found) % 7 == 0
        known = len(found)
        values = found.regions(found.ids[-300:])
        assert values[:, 0, 0].tolist() == [float(key.split("-")[1]) for key in found.ids[-300:]]
        assert np.ptp(values, axis=(1, 2)).max() == 0, "a row is whole"


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
    "objects": ({"ids": np.array(["a", 1], object), "vectors": np.ones((2, 3))}, "Save ids as strings"),
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
