"""Resamples: how many, and as a matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capeval.bench.correlation import bootstrapped
from capeval.bench.draws import bootstrap_draws, image_draws, smallest_p, usual_resamples

IMAGES = ["a", "b", "a", "c", "d", "b", "e"]


def test_draws_work_as_the_matrix_they_stand_for() -> None:
    draws, matrix = image_draws(IMAGES, 1203, 7), bootstrap_draws(5, 1203, 7)
    assert draws.shape == matrix.shape == (1203, 5)
    assert len(draws) == 1203
    assert (np.concatenate(list(draws.blocks())) == matrix).all()
    for columns in (np.array([0, 0.5, 0, 2, 1]), np.arange(10.0).reshape(5, 2), np.zeros(5)):
        assert np.allclose(draws @ columns, matrix @ columns)


@pytest.mark.parametrize(
    ("metrics", "resamples"), [(1, 1000), (2, 1000), (5, 1000), (6, 2000), (14, 10_000), (17, 20_000)]
)
def test_resamples_suit_the_comparisons(metrics: int, resamples: int) -> None:
    assert usual_resamples(metrics) == resamples
    assert smallest_p(metrics, resamples) <= 0.025


def test_what_was_resampled_before_is_not_resampled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, group = np.arange(7.0), np.array([1.0, 3, 2, 2, 5, 4, 6]), np.array([0, 1, 0, 2, 3, 1, 4], np.int32)
    plain = bootstrapped(x, y, group, image_draws(IMAGES, 50, 0))
    for _ in range(2):
        found = bootstrapped(x, y, group, image_draws(IMAGES, 50, 0, tmp_path))
        assert all(np.array_equal(found[key], plain[key], equal_nan=True) for key in plain)
        assert len(list(tmp_path.iterdir())) == 1
        monkeypatch.setattr("capeval.bench.correlation._bootstrapped", None)  # nothing is computed from here on
    monkeypatch.undo()
    bootstrapped(x + 1, y, group, image_draws(IMAGES, 50, 0, tmp_path))
    bootstrapped(x, y, group, image_draws(IMAGES, 50, 1, tmp_path))
    assert len(list(tmp_path.iterdir())) == 3
