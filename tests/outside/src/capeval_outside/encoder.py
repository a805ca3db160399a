"""An encoder: the mean colours of the four quarters of a picture. And where assets of this package are."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def colours() -> tuple[Path, str]:
    """The ONNX file and its sha256. `pictures` [n, 8, 8, 3] -> cast, transposed, mean of each 4x4 block, reshaped."""
    return FOLDER / "colours.onnx", "e879270296dd1381b95c37f95d57c43d676ae2edb1735253459bfc357e9e6b0a"


def weights() -> Path:
    return FOLDER / "weights"
