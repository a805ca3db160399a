"""Files that are part of the package, such as tables of words."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).resolve().parents[1] / "data"


def shipped(*names: str) -> Path:
    """Where a file or folder of the package's data is: `shipped("df", "coco-val2014.df")`."""
    return _DATA.joinpath(*names)
