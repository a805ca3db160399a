"""Adding up what was scored block by block, so that the whole need not be in memory at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from capeval.errors import DataError
from capeval.results import Result, refuse_to_join


class Totals:
    """Scores and signatures of a whole that is scored block by block: rows are added up and not kept.

    They are those of scoring all rows together, to the last digit.
    """

    def __init__(self) -> None:
        self.n = 0
        self._first: Result | None = None
        self._sums: list[list[list[float]]] = []
        self._low, self._high = 0, 0
        self._references, self._pictures = set[int](), set[int]()

    def add(self, result: Result) -> None:
        summands = [each.metric.summands(each.stats) for each in result.scored]
        low, high = int(result.reference_counts.min()), int(result.reference_counts.max())
        if self._first is None:
            self._first, self._low, self._high = result.rows([0]), low, high
            self._sums = [[[] for _ in range(values.shape[1])] for values in summands]
        else:
            refuse_to_join(self._first, result)
        for sums, values in zip(self._sums, summands, strict=True):
            for parts, column in zip(sums, values.T, strict=True):
                parts += exact_parts(column.tolist())
        self.n += len(result)
        self._low, self._high = min(self._low, low), max(self._high, high)
        self._references |= set(result.reference_hashes.tolist())
        self._pictures |= set() if result.picture_hashes is None else set(result.picture_hashes.tolist())

    @property
    def scores(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for each, sums in zip(self._known().scored, self._sums, strict=True):
            totals = np.array([math.fsum(parts) for parts in sums])
            values = each.metric.from_totals(totals, self.n)[each.columns]
            found |= {key: float(value) for key, value in zip(each.labels, values, strict=True)}
        return found

    @property
    def signatures(self) -> dict[str, str]:
        first = self._known()
        pictures = None if first.picture_hashes is None else np.array(sorted(self._pictures), np.uint64)
        whole = replace(
            first,
            reference_counts=np.array([self._low, self._high], np.int32),
            reference_hashes=np.array(sorted(self._references), np.uint64),
            picture_hashes=pictures,
        )
        return whole.signatures

    def _known(self) -> Result:
        if self._first is None:
            raise DataError("there are no captions to score")
        return self._first


def exact_parts(values: list[float]) -> list[float]:
    """A few numbers with the same sum: what rounding leaves over is kept as further numbers."""
    parts: list[float] = []
    while len(parts) < 4:
        part = math.fsum([*values, *(-each for each in parts)])
        if not part:
            break
        parts.append(part)
    return parts
