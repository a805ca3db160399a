"""Where the regions of a picture are. A box is x0, y0, x1, y1 from 0 to 1."""

from __future__ import annotations

import numpy as np

from capeval.types import Floats

_NEAR = 1e-3


def grid_of(boxes: Floats) -> tuple[int, int] | None:
    """Rows and columns, where the boxes are the cells of a grid over the whole picture, row by row; else None."""
    columns = int(np.sum(np.abs(boxes[:, 1] - boxes[0, 1]) < _NEAR))
    rows, rest = divmod(len(boxes), columns)
    if rest:
        return None
    y, x = np.divmod(np.arange(len(boxes)), columns)
    cells = np.stack([x / columns, y / rows, (x + 1) / columns, (y + 1) / rows], axis=1)
    return (rows, columns) if np.allclose(cells, boxes, atol=_NEAR) else None


def region_names(count: int, boxes: Floats | None) -> list[str]:
    """What people can find regions by: row and column in a grid, else the box, else the number."""
    if boxes is None:
        return [f"region {number}" for number in range(1, count + 1)]
    if grid := grid_of(boxes):
        return [f"row {place // grid[1] + 1}, column {place % grid[1] + 1}" for place in range(count)]
    return ["x {0:.2f} to {2:.2f}, y {1:.2f} to {3:.2f}".format(*box) for box in boxes.tolist()]


def side_of(box: Floats) -> str:
    """Where the middle of a box is, in words: `top left`, `bottom`, `middle`."""
    x, y = float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2
    vertical = "top" if y < 1 / 3 else "bottom" if y > 2 / 3 else ""
    horizontal = "left" if x < 1 / 3 else "right" if x > 2 / 3 else ""
    return f"{vertical} {horizontal}".strip() or "middle"
