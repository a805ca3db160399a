"""Scoring with metrics of capeval, functions of the user, and files of scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from capeval.bench.scoring import MetricLike, built_in, called, from_files, listed, own
from capeval.evaluate import Result, evaluate
from capeval.io.files import PathLike
from capeval.registry import parse_all
from capeval.types import Array, Dataset, Pictures

Metrics = MetricLike | Iterable[MetricLike] | None


@dataclass(frozen=True)
class Scorer:
    """What to score with. Without metrics and files: every metric that is installed. No metrics (`()`): nothing."""

    metrics: Metrics = None
    files: Sequence[PathLike] = ()
    threads: int | None = None
    progress: Callable[[str], None] = field(default=lambda step: None)
    note: Callable[[str], None] = field(default=lambda message: None)
    pictures: Pictures | None = None

    def check(self) -> None:
        """Wrong expressions are told before any work is done."""
        parse_all(built_in(listed(self.metrics, self.files)) or ())

    def score(self, dataset: Dataset) -> Scores:
        dataset.pictures = self.pictures
        metrics = listed(self.metrics, self.files)
        wanted, result = built_in(metrics), None
        if wanted is None or wanted:
            result = evaluate(
                dataset, wanted, threads=self.threads or os.cpu_count(), progress=self.progress, note=self.note
            )
        made = list(called(own(metrics), dataset, self.progress, result.signatures if result else ()))
        taken = [*(result.signatures if result else ()), *(name for name, _, _ in made)]
        made += from_files(self.files, dataset.ids, taken)
        return Scores(
            result, {name: values for name, values, _ in made}, {name: signature for name, _, signature in made}
        )


@dataclass(frozen=True)
class Scores:
    """By metric; scores of functions and files have no corpus score but their mean."""

    result: Result | None
    own: dict[str, Array]
    own_signatures: dict[str, str]

    @property
    def per_caption(self) -> dict[str, Array]:
        return {**(self.result.per_caption if self.result else {}), **self.own}

    @property
    def signatures(self) -> dict[str, str]:
        return {**(self.result.signatures if self.result else {}), **self.own_signatures}

    def of_rows(self, rows: npt.NDArray[np.intp]) -> dict[str, float]:
        """The score of some rows together, by metric."""
        if not len(rows):
            return dict.fromkeys(self.signatures, np.nan)
        found = self.result.rows(rows).scores if self.result else {}
        return {**found, **{name: _mean(values[rows]) for name, values in self.own.items()}}


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
