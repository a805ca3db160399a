"""The metrics of a part in the order of its main figure, with those marked that may be the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from capeval.bench.forms import Part

LEVEL = 0.05


def ranked(part: Part) -> Part:
    """Rows by the statistic that the metrics are compared in, the best first.

    `best` marks the first one and those whose difference from it may be chance; it needs the p-values of all pairs.
    """
    main, matrix = part.comparisons.get("statistic", ""), part.comparisons.get("p_bootstrap_holm")
    rows = sorted(part.metrics, key=lambda row: -_value(row, main))
    if matrix is not None and rows and np.isfinite(_value(rows[0], main)):
        names = list(part.comparisons["names"])
        p_values = dict(zip(names, matrix[names.index(rows[0]["metric"])]))
        rows = [row | {"best": bool(p_values[row["metric"]] >= LEVEL)} for row in rows]
    return replace(part, metrics=rows)


def _value(row: Mapping[str, Any], main: str) -> float:
    found = row.get(main)
    value = found["value"] if isinstance(found, Mapping) else float("nan")
    return value if np.isfinite(value) else -np.inf
