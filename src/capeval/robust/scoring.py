"""Scoring with metrics of capeval, functions of the user, and files of scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from capeval.bench.runner import MetricLike, OwnMetric
from capeval.bench.scorefile import read_scores
from capeval.errors import CapevalError
from capeval.evaluate import Result, evaluate
from capeval.io.files import PathLike, source_name
from capeval.registry import parse_all
from capeval.types import Array, Dataset, Metric, Pictures

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

    def listed(self) -> list[MetricLike] | None:
        if self.metrics is None:
            return [] if self.files else None
        if isinstance(self.metrics, str | Metric) or callable(self.metrics):
            return [self.metrics]
        return list(self.metrics)

    def check(self) -> None:
        """Wrong expressions are told before any work is done."""
        parse_all([each for each in self.listed() or () if isinstance(each, str | Metric)])

    def score(self, dataset: Dataset) -> Scores:
        dataset.pictures = self.pictures
        listed = self.listed()
        built_in = None if listed is None else [each for each in listed if isinstance(each, str | Metric)]
        result = None
        if built_in is None or built_in:
            result = evaluate(
                dataset, built_in, threads=self.threads or os.cpu_count(), progress=self.progress, note=self.note
            )
        own: dict[str, Array] = {}
        signatures: dict[str, str] = {}
        for metric in listed or ():
            if not isinstance(metric, str | Metric):
                name = str(getattr(metric, "__name__", type(metric).__name__))
                self.progress(f"scoring {name}")
                own[name], signatures[name] = _called(metric, name, dataset), f"{name}|function"
        for path in self.files:
            for name, values in read_scores(path, dataset.ids).items():
                own[name], signatures[name] = values, f"{name}|file:{os.path.basename(source_name(path))}"
        return Scores(result, own, signatures)


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


def _called(metric: OwnMetric, name: str, dataset: Dataset) -> Array:
    values = np.asarray(metric(dataset), dtype=np.float64)
    if values.shape != (len(dataset),) or np.isinf(values).any():
        raise CapevalError(f"{name} must give one finite score (or NaN) for each of {len(dataset)} rows")
    return values
