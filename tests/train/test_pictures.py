"""Files of picture features as one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capeval.errors import DataError
from capeval.train.pictures import Pool, with_pictures


def test_a_pool_of_features(tmp_path: Path) -> None:
    np.savez(tmp_path / "1.npz", ids=np.array(["a", "b"]), vectors=np.array([[1, 2], [3, 4]], np.float16))
    np.savez(tmp_path / "2.npz", ids=np.array(["b", "c"]), vectors=np.array([[9, 9], [5, 6]], np.float16))
    np.savez(tmp_path / "3.npz", ids=np.array(["d"]), vectors=np.zeros((1, 3), np.float16))
    pool = Pool([tmp_path / "1.npz", tmp_path / "2.npz"])
    assert pool.vectors(["c", "a", "b", "a"]).tolist() == [[5, 6], [1, 2], [3, 4], [1, 2]]
    assert "c" in pool
    assert with_pictures({"a": ("x",), "z": ("y",)}, pool) == {"a": ("x",)}
    with pytest.raises(DataError, match=r"2 pictures without features.*'y', 'z'"):
        pool.vectors(["a", "y", "z"])
    with pytest.raises(DataError, match="do not fit together"):
        Pool([tmp_path / "1.npz", tmp_path / "3.npz"])
    with pytest.raises(DataError, match=r"Inputs\.features"):
        Pool([])


def test_a_pool_of_regions(tmp_path: Path) -> None:
    def save(name: str, ids: list[str], shape: tuple[int, int], **more: object) -> Path:
        regions = np.stack([np.full(shape, ord(each), np.float16) for each in ids])
        arrays = {"ids": np.array(ids), "vectors": np.ones((len(ids), 5), np.float16), "regions": regions}
        np.savez(tmp_path / name, **(arrays | more))  # type: ignore[arg-type]
        return tmp_path / name

    boxes = np.zeros((2, 3, 4), np.float32)
    one, two = save("1.npz", ["a", "b"], (3, 2), boxes=boxes), save("2.npz", ["c", "d"], (3, 2), boxes=boxes + 1)
    pool = Pool([one, two])
    assert (pool.dim, pool.region_dim) == (5, 2)
    assert pool.regions(["d", "a", "d"])[:, 2, 1].tolist() == [100, 97, 100]
    assert pool.regions([]).shape == (0, 3, 2)
    places = pool.boxes(["c", "b"])
    assert places is not None
    assert places.shape == (2, 3, 4)
    assert places[:, 0, 0].tolist() == [1, 0]
    assert Pool([one, save("3.npz", ["e"], (3, 2))]).boxes(["a"]) is None
    with pytest.raises(DataError, match=r"do not fit together: the sizes of regions are \(3, 2\) and \(4, 2\)"):
        Pool([one, save("4.npz", ["f"], (4, 2))]).regions(["a", "f"])
    np.savez(tmp_path / "5.npz", ids=np.array(["g"]), vectors=np.ones((1, 5), np.float16))
    assert Pool([one, tmp_path / "5.npz"]).vectors(["g", "a"]).shape == (2, 5)
    with pytest.raises(DataError, match="no regions"):
        Pool([one, tmp_path / "5.npz"]).regions(["a", "g"])
