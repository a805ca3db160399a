"""Squeezing pictures: both engines, and Pillow."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from capeval.engine import python

from .test_engines import both_engines, compiled, needs_compiled

Pixels = npt.NDArray[np.uint8]


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    """Hard edges in the lower half, where cubic weights overshoot."""
    found = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    found[height // 2 :] = np.where(found[height // 2 :] > 127, 255, 0)
    return found


def by_pillow(pixels: Pixels, side: int) -> Pixels:
    """In two steps: older versions of Pillow always go across first."""
    height, width = pixels.shape[:2]
    down_first = height > side and height - side > 2 * (width - side)
    between = (width, side) if down_first else (side, height)
    once = Image.fromarray(pixels).resize(between, Image.Resampling.BICUBIC)
    return np.asarray(once.resize((side, side), Image.Resampling.BICUBIC))


@both_engines
@pytest.mark.parametrize(
    "size", [(1, 1), (7, 10), (64, 64), (63, 65), (254, 320), (500, 333), (320, 240), (900, 2), (2, 900)]
)
def test_as_pillow(engine: ModuleType, size: tuple[int, int]) -> None:
    found = engine.squeeze(noise(*size), 64)
    assert found.dtype == np.uint8
    assert np.array_equal(found, by_pillow(noise(*size), 64))


@needs_compiled
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 40), st.integers(0, 3))
def test_engines_agree(height: int, width: int, side: int, seed: int) -> None:
    assert compiled
    pixels = noise(height, width, seed)
    assert np.array_equal(compiled.squeeze(pixels, side), python.squeeze(pixels, side))


@both_engines
def test_one_colour_stays(engine: ModuleType) -> None:
    assert (engine.squeeze(np.full((37, 91, 3), 201, np.uint8), 24) == 201).all()


@both_engines
def test_bad_pictures(engine: ModuleType) -> None:
    good = noise(4, 4)
    for bad in (good[:, :, :2].copy(), good[:, ::2], good.astype(np.int32), good[0], good[:0]):
        with pytest.raises(ValueError, match="pixels"):
            engine.squeeze(bad, 8)
    for side in (0, -1, 5000):
        with pytest.raises(ValueError, match="side"):
            engine.squeeze(good, side)
