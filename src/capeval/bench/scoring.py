"""Scores of captions, wherever they come from: metrics of capeval, functions of the user, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from capeval.bench.scorefile import read_scores
from capeval.errors import CapevalError, DataError
from capeval.evaluate import Result, evaluate
from capeval.io.files import PathLike, source_name
from capeval.registry import metric_classes, parse_all
from capeval.types import Array, Dataset, Metric

OwnMetric = Callable[[Dataset], Sequence[float] | Array]
"""A metric of the user's own: one score for each row of a dataset, NaN where it has none."""

MetricLike = str | Metric | OwnMetric

Signed = tuple[str, Array, str]
"""The name of a metric, its scores, and the signature that says where they come from."""


def listed(metrics: MetricLike | Iterable[MetricLike] | None, files: Sequence[PathLike]) -> list[MetricLike] | None:
    """None for every metric there is."""
    if metrics is None:
        return [] if files else None
    several = [metrics] if isinstance(metrics, str | Metric) or callable(metrics) else list(metrics)
    for each in several:
        if not (isinstance(each, str | Metric) or callable(each)):
            raise CapevalError(f"a metric is an expression, a metric object or a function, not {each!r}")
    return several


def built_in(metrics: Sequence[MetricLike] | None) -> list[str | Metric] | None:
    return None if metrics is None else [each for each in metrics if isinstance(each, str | Metric)]


def own(metrics: Sequence[MetricLike] | None) -> list[OwnMetric]:
    return [each for each in metrics or () if not isinstance(each, str | Metric)]


def name_of(metric: OwnMetric) -> str:
    return str(getattr(metric, "__name__", type(metric).__name__))


def called(
    metrics: Iterable[OwnMetric], dataset: Dataset, progress: Callable[[str], None], taken: Iterable[str] = ()
) -> Iterator[Signed]:
    """What functions of the user say. One name cannot stand for two metrics: those in `taken` are refused."""
    known = set(taken)
    for metric in metrics:
        name = name_of(metric)
        if name in known:
            raise CapevalError(f"two metrics are called {name!r}: give the function another __name__")
        known.add(name)
        progress(f"scoring {name}")
        values = _numbers(metric(dataset))
        if values is None or values.shape != (len(dataset),) or np.isinf(values).any():
            raise CapevalError(f"{name} must give one finite score (or NaN) for each of {len(dataset)} rows")
        yield name, values, f"{name}|function"


def _numbers(given: Sequence[float] | Array) -> Array | None:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def from_files(files: Iterable[PathLike], ids: Sequence[str], taken: Iterable[str] = ()) -> Iterator[Signed]:
    """Scores made elsewhere. One name cannot stand for two metrics: those in `taken` are refused."""
    known = set(taken)
    for path in files:
        scores = read_scores(path, ids)
        if both := sorted(known & scores.keys()):
            message = f"scores from a file have the name of others: {', '.join(both)}. Name them otherwise"
            raise DataError(message, file=source_name(path))
        known |= scores.keys()
        for name, values in scores.items():
            yield name, values, f"{name}|file:{os.path.basename(source_name(path))}"


def evaluated(
    dataset: Dataset,
    metrics: Sequence[str | Metric] | None,
    threads: int | None,
    progress: Callable[[str], None],
    note: Callable[[str], None],
) -> Iterator[Signed]:
    """Scores of built-in metrics; rows without their picture have none (NaN) of metrics that look at it."""
    pictures, every = dataset.pictures, range(len(dataset))
    shown = every if pictures is None else [i for i in every if dataset.images[i] in pictures]
    given = list(metric_classes()) if metrics is None else metrics
    looking = [each for each in given if "pictures" in parse_all(each)[0].metric.needs()]
    reading = [each for each in given if each not in looking]
    parts: list[tuple[Sequence[str | Metric], Sequence[int]]] = [(reading, every), (looking, shown)]
    if len(shown) == len(dataset):
        parts = [(given, every)]
    elif looking and not shown:
        raise CapevalError("none of the images has its picture there: see --images and --features")
    for some, rows in parts:
        if some:
            part = dataset if rows is every else dataset.rows(rows)
            result: Result = evaluate(
                part, some, threads=threads, progress=progress, note=note, lenient=metrics is None
            )  # fmt: skip
            for name, values in result.per_caption.items():
                scores = np.full(len(dataset), np.nan)
                scores[np.asarray(rows)] = values
                yield name, scores, result.signatures[name]
