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
