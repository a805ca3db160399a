"""The metrics of a part in the order of its main figure, with those marked that may be the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from capeval.bench.forms import Part

LEVEL = 0.05
ENOUGH = 0.5
"""Of the rows of the metric that has scored most."""


def ranked(part: Part) -> Part:
    """Rows by the statistic that the metrics are compared in, the best first.

    `best` marks the first one and those whose difference from it may be chance; it needs the p-values of all pairs. A
    metric that has scored few rows, such as those that have a picture, can be told apart from none: it is not marked.
    """
    main, matrix = part.comparisons.get("statistic", ""), part.comparisons.get("p_bootstrap_holm")
    rows = sorted(part.metrics, key=lambda row: -_value(row, main))
    enough = ENOUGH * max((row["rows"] for row in rows), default=0)
    first = next((row for row in rows if row["rows"] >= enough), None)
    if matrix is not None and first is not None and np.isfinite(_value(first, main)):
        names = list(part.comparisons["names"])
        p_values = dict(zip(names, matrix[names.index(first["metric"])]))
        rows = [row | {"best": bool(row["rows"] >= enough and p_values[row["metric"]] >= LEVEL)} for row in rows]
    return replace(part, metrics=rows)


def _value(row: Mapping[str, Any], main: str) -> float:
    found = row.get(main)
    value = found["value"] if isinstance(found, Mapping) else float("nan")
    return value if np.isfinite(value) else -np.inf
