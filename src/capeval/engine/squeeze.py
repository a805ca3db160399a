"""Pictures squeezed to a square, in plain NumPy: what the C++ twin must compute.

Each number is a weighted mean of its neighbours, across and down; the weights are a cubic (Keys 1981, -0.5), stretched
where the picture shrinks. They are whole numbers, and so are the sums. It goes across first, but for pictures that
shrink in height by more than twice of what they do in width: the result is, bit by bit, that of Pillow 13's bicubic
`resize`. Older versions of Pillow always went across first, which rounds otherwise.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from capeval.engine.checks import check_array
from capeval.types import Array, Bytes

_PRECISION = 22
_LARGEST = 4096


def squeeze(pixels: Bytes, side: int) -> Bytes:
    """A picture [height, width, 3] as [side, side, 3]."""
    check_array(pixels, np.uint8, 3, "pixels")
    if pixels.shape[2] != 3:
        raise ValueError("pixels must have three channels")
    if not pixels.size or not 1 <= side <= _LARGEST:
        raise ValueError(f"a picture must have pixels, and side be 1 to {_LARGEST}")
    height, width = pixels.shape[:2]
    # Products and sums stay below 2 ** 53, so floating-point numbers hold them exactly.
    planes = pixels.transpose(0, 2, 1)  # [height, 3, width]
    down_first = height > side and height - side > 2 * (width - side)
    found = _across(_down(planes, side), side) if down_first else _down(_across(planes, side), side)
    return np.ascontiguousarray(found.transpose(0, 2, 1))


def _across(planes: Bytes, side: int) -> Bytes:
    height, _, width = planes.shape
    rows = planes.reshape(height * 3, width).astype(np.float64)
    return _rounded(rows @ _weights(width, side).T).reshape(height, 3, side)


def _down(planes: Bytes, side: int) -> Bytes:
    height, _, width = planes.shape
    rows = planes.reshape(height, 3 * width).astype(np.float64)
    return _rounded(_weights(height, side) @ rows).reshape(side, 3, width)


def _rounded(sums: Array) -> Bytes:
    whole = (sums.astype(np.int64) + (1 << (_PRECISION - 1))) >> _PRECISION
    return whole.clip(0, 255).astype(np.uint8)


@lru_cache(maxsize=8)
def _weights(size: int, side: int) -> Array:
    """How much each of `size` pixels adds to each of `side`, times 2 ** 22."""
    scale = size / side
    stretch = max(scale, 1.0)
    found = np.zeros((side, size))
    for i in range(side):
        centre = (i + 0.5) * scale
        begin = max(0, int(centre - 2.0 * stretch + 0.5))
        end = min(size, int(centre + 2.0 * stretch + 0.5))
        exact = [_cubic((x - centre + 0.5) * (1.0 / stretch)) for x in range(begin, end)]
        total = sum(exact)
        found[i, begin:end] = [_nearest(value / total * (1 << _PRECISION)) for value in exact]
    return found


def _cubic(x: float) -> float:
    x = abs(x)
    if x < 1.0:
        return (1.5 * x - 2.5) * x * x + 1.0
    return (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5 if x < 2.0 else 0.0


def _nearest(value: float) -> int:
    return int(value - 0.5 if value < 0 else value + 0.5)
