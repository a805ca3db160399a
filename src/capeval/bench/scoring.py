"""Scores of captions, wherever they come from: metrics of capeval, functions of the user, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.bench.functions import imported, source_of
from capeval.errors import CapevalError, DataError, Unavailable
from capeval.evaluate import evaluate
from capeval.io.files import PathLike, source_name
from capeval.io.kept import kept_array
from capeval.io.scores import read_scores
from capeval.registry import metric_classes, parse_all
from capeval.results import Result
from capeval.run import Run
from capeval.types import Array, Dataset, Features, Flags, Metric

ScoringFunction = Callable[[Dataset], Sequence[float] | Array]
"""A metric of the user's own: one score for each row of a dataset, NaN where it has none."""

MetricLike = str | Metric | ScoringFunction

Metrics = MetricLike | Iterable[MetricLike] | None
"""One metric or several; None for every metric that is installed."""

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Scorer:
    """What to score with. `Scorer.of` makes one from a list of metrics."""

    expressions: Sequence[str | Metric] | None
    """Metrics of capeval; None for every one that is installed."""
    functions: Sequence[ScoringFunction] = ()
    files: Sequence[PathLike] = ()
    """Scores made elsewhere, by the ids of the captions."""
    run: Run = field(default_factory=Run)
    pictures: Features | None = None
    skip_missing_pictures: bool = False
    """Rows without their picture have no score (NaN) of metrics that look at it, instead of being an error."""
    lenient: bool = False
    """Metrics that cannot be used are left out with a note, as they are where every metric is used."""

    @classmethod
    def of(
        cls,
        metrics: Metrics,
        files: Sequence[PathLike] = (),
        run: Run | None = None,
        pictures: Features | None = None,
        *,
        skip_missing_pictures: bool = False,
    ) -> Scorer:
        """With neither metrics nor files: every metric. Wrong expressions are found here, before any work is done."""
        expressions, functions = _split(metrics)
        if metrics is None and files:
            expressions = []
        parse_all(expressions or ())
        return cls(expressions, functions, files, run or Run(), pictures, skip_missing_pictures)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to score with."""
        return not (self.expressions is None or self.expressions or self.functions or self.files)

    def score(self, dataset: Dataset) -> ScoreTable:
        """Scores every caption. One name cannot stand for two metrics."""
        dataset.features = self.pictures
        evaluated = list(self._evaluated(dataset))
        taken = [name for each in evaluated for name in each.result.signatures]
        called = self._called(dataset, taken)
        if self.lenient and not (taken or called or self.files):
            raise Unavailable("none of the metrics can be used with what is there")
        return ScoreTable(evaluated, called | self._read(dataset.ids, [*taken, *called]))

    def score_from_files(self, ids: Sequence[str], taken: Iterable[str]) -> ScoreTable:
        """Only the scores made elsewhere; none of them may have a name that is taken."""
        return ScoreTable((), self._read(ids, taken))

    def _evaluated(self, dataset: Dataset) -> Iterator[_Evaluated]:
        """Scores of capeval's metrics; those that need references or a picture may be of fewer rows."""
        every: Rows = np.arange(len(dataset))
        lenient = self.lenient or self.expressions is None
        if self.expressions is not None and not self.expressions:
            return
        has = {"references": _has_references(dataset), "pictures": self._has_picture(dataset)}
        if all(each.all() for each in has.values()):
            yield _Evaluated(evaluate(dataset, self.expressions, self.run, lenient=lenient), every)
            return
        given = list(metric_classes()) if self.expressions is None else self.expressions
        by_needs: dict[tuple[str, ...], list[str | Metric]] = {}
        for each in given:
            needs = tuple(sorted(set(parse_all(each)[0].metric.needs()) & has.keys()))
            by_needs.setdefault(needs, []).append(each)
        for needs, metrics in by_needs.items():
            if "pictures" in needs and not has["pictures"].any():
                problem = Unavailable(
                    "none of the images has its picture there: give the folder of them, or their features"
                )
                if not lenient:
                    raise problem
                for metric in parse_all(metrics):
                    self.run.progress.left_out(metric.metric.info.name, problem)
                continue
            usable = every[np.all([has[need] for need in needs], axis=0)] if needs else every
            # Where no row has what is needed, the whole says so best.
            usable = usable if len(usable) else every
            places = np.full(len(dataset), -1, np.intp)
            places[usable] = np.arange(len(usable))
            part = dataset if len(usable) == len(dataset) else dataset.rows(usable.tolist())
            yield _Evaluated(evaluate(part, metrics, self.run, lenient=lenient), places)

    def _has_picture(self, dataset: Dataset) -> Flags:
        """For each row. Without leave to skip rows all of them count, and lacking pictures are an error."""
        pictures = dataset.features
        if pictures is None or not self.skip_missing_pictures:
            return np.ones(len(dataset), np.bool_)
        return np.array([image in pictures for image in dataset.images])

    def _called(self, dataset: Dataset, taken: Iterable[str]) -> dict[str, Signed]:
        """What the user's functions say."""
        found: dict[str, Signed] = {}
        for function in self.functions:
            name = function_name(function)
            if name in (*taken, *found):
                raise CapevalError(f"two metrics are called {name!r}: give the function another __name__")
            self.run.progress.step(f"scoring {name}")
            values = _numbers(self._kept(function, dataset))
            if values is None or values.shape != (len(dataset),) or np.isinf(values).any():
                raise CapevalError(f"{name} must give one finite score (or NaN) for each of {len(dataset)} rows")
            found[name] = Signed(values, f"{name}|function")
        return found

    def _kept(self, function: ScoringFunction, dataset: Dataset) -> Sequence[float] | Array:
        """What a function says, or has said before of the same captions; its module's text tells it from others."""
        text = source_of(function)
        if self.run.kept is None or text is None:
            return function(dataset)
        rows = [list(row) for row in zip(dataset.ids, dataset.images, dataset.candidates, dataset.systems)]
        references = [dataset.reference_sets[group] for group in dataset.group]
        pictures = "" if dataset.features is None else dataset.features.digest
        decides = ("function", function_name(function), text, rows, references, pictures)

        def scores() -> Array:
            values = _numbers(function(dataset))
            return np.zeros(0) if values is None else values  # which is refused

        return kept_array(self.run.kept, function_name(function), decides, scores)

    def _read(self, ids: Sequence[str], taken: Iterable[str]) -> dict[str, Signed]:
        """What is in the files."""
        found: dict[str, Signed] = {}
        for path in self.files:
            scores = read_scores(path, ids)
            if both := sorted(scores.keys() & {*taken, *found}):
                message = f"scores from a file have the name of others: {', '.join(both)}. Give them other names"
                raise DataError(message, file=source_name(path))
            file = os.path.basename(source_name(path))
            found |= {name: Signed(values, f"{name}|file:{file}") for name, values in scores.items()}
        return found


class Signed(NamedTuple):
    """Scores, and the signature that says where they come from."""

    scores: Array
    signature: str


class _Evaluated(NamedTuple):
    result: Result
    places: Rows
    """For each row of the dataset its row in the result, -1 where it has none."""

    def column(self, values: Array) -> Array:
        """Scores of the result as scores of the dataset."""
        return np.where(self.places >= 0, values[self.places], np.nan)


@dataclass(frozen=True)
class ScoreTable:
    """By metric the scores of the captions of a dataset, NaN where a caption has none."""

    evaluated: Sequence[_Evaluated]
    others: Mapping[str, Signed]
    """Scores of functions and files, which have no corpus score but their mean."""

    @cached_property
    def per_caption(self) -> dict[str, Array]:
        known = {
            name: each.column(values) for each in self.evaluated for name, values in each.result.per_caption.items()
        }
        return known | {name: each.scores for name, each in self.others.items()}

    @cached_property
    def signatures(self) -> dict[str, str]:
        known = {name: text for each in self.evaluated for name, text in each.result.signatures.items()}
        return known | {name: each.signature for name, each in self.others.items()}

    def of_rows(self, rows: Rows) -> dict[str, float]:
        """By metric the score of some captions together, as far as they have one."""
        found: dict[str, float] = {}
        for each in self.evaluated:
            places = each.places[rows]
            places = places[places >= 0]
            found |= each.result.rows(places).scores if len(places) else dict.fromkeys(each.result.signatures, np.nan)
        return found | {name: _mean(each.scores[rows]) for name, each in self.others.items()}


def _has_references(dataset: Dataset) -> Flags:
    return np.array([bool(references) for references in dataset.reference_sets])[dataset.group]


def function_name(function: ScoringFunction) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def as_list(metrics: MetricLike | Iterable[MetricLike]) -> list[MetricLike]:
    """One metric or several, as a list."""
    if isinstance(metrics, str | Metric) or callable(metrics):
        return [metrics]
    return list(metrics)


def _split(metrics: Metrics) -> tuple[list[str | Metric] | None, list[ScoringFunction]]:
    """Expressions and metric objects (None for every metric), and functions."""
    if metrics is None:
        return None, []
    expressions: list[str | Metric] = []
    functions: list[ScoringFunction] = []
    for each in as_list(metrics):
        if isinstance(each, str) and (function := imported(each)):
            functions.append(function)
        elif isinstance(each, str | Metric):
            expressions.append(each)
        elif callable(each):
            functions.append(each)
        else:
            raise CapevalError(f"a metric is an expression, a metric object or a function, not {each!r}")
    return expressions, functions


def _numbers(given: Sequence[float] | Array) -> Array | None:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
