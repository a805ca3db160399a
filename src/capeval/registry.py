"""Which metrics there are: `cider_d(df=coco-val2014)` <-> a metric object.

An expression is a metric's name or the name of one of its scores, with parameters in brackets where they differ from
the defaults. It is what `-m` takes and what results are labelled with. Every module in `capeval.metrics` is looked
through for metrics, so a new one needs no entry anywhere; other packages name theirs in the entry-point group
`capeval.metrics`.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, get_type_hints

from capeval import metrics
from capeval.errors import CapevalError, ExpressionError, UnknownName
from capeval.expressions import read_expression, split_expressions, write_expression
from capeval.metrics.composite import Composite
from capeval.types import Metric, Selection, parameters_of

ENTRY_POINTS = "capeval.metrics"


@cache
def metric_classes() -> dict[str, type[Metric]]:
    """All metrics by name: ours, then those of other packages."""
    found: dict[str, type[Metric]] = {}
    for metric in [*(each for module in _module_names() for each in _metrics_in(module)), *_from_elsewhere()]:
        if found.setdefault(metric.info.name, metric) is not metric:
            raise CapevalError(f"two metrics are called {metric.info.name!r}")
    return found


@cache
def _module_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(metrics.__path__)]


def _metrics_in(module: str) -> list[type[Metric]]:
    return [value for value in vars(import_module(f"{metrics.__name__}.{module}")).values() if _is_metric(value)]


@cache
def _from_elsewhere() -> list[type[Metric]]:
    found = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            metric = entry.load()
        except Exception as problem:  # whatever another package does wrong when it is imported
            raise CapevalError(f"the metric {entry.name!r} ({entry.value}) cannot be loaded: {problem}") from problem
        if not _is_metric(metric):
            raise CapevalError(
                f"{entry.value} is offered as a metric, but is no subclass of capeval.Metric with `info`"
            )
        found.append(metric)
    return found


def _is_metric(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Metric) and "info" in vars(value)


def _owner(name: str) -> type[Metric] | None:
    """The metric of that name, or that gives a score of that name."""
    # `cider_d` is most likely in `cider.py`; then no other metric is loaded.
    for module in _module_names():
        if name.startswith(module) and name in _named_in(module):
            return _named_in(module)[name]
    return metric_classes().get(name) or _scores().get(name)


@cache
def _named_in(module: str) -> dict[str, type[Metric]]:
    """The metrics of a module, by their names and those of their scores."""
    return {name: metric for metric in _metrics_in(module) for name in (metric.info.name, *metric.info.names)}


@cache
def _scores() -> dict[str, type[Metric]]:
    """The metric that gives each score."""
    owners: dict[str, type[Metric]] = {}
    for metric in metric_classes().values():
        for name in metric.info.names:
            if owners.setdefault(name, metric) is not metric:
                raise CapevalError(f"two metrics give a score called {name!r}")
    return owners


def parse(text: str) -> Selection:
    """The metric and the scores that an expression names."""
    return _parse(text, ())


def _parse(text: str, inside: tuple[str, ...]) -> Selection:
    written, given = read_expression(text)
    # As papers write them: BLEU-4, CIDEr-D, ROUGE-L.
    spellings = (written, written.lower().replace("-", "_"))
    name = next((spelling for spelling in spellings if _owner(spelling)), written)
    metric = _owner(name)
    if metric is None:
        raise UnknownName("metric", name, {*metric_classes(), *_scores()})
    made = metric(**_values(metric, given))
    names = (name,) if name in metric.info.names else metric.info.usual
    return Selection(_complete(made, inside), names)


def complete(metric: Metric) -> Metric:
    """The metric, with its parts where it is made of others."""
    return _complete(metric, ())


def _complete(metric: Metric, inside: tuple[str, ...]) -> Metric:
    if not isinstance(metric, Composite) or metric.parts:
        return metric
    name = metric.info.name
    if name in inside:
        raise ExpressionError(f"{' -> '.join([*inside, name])}: a metric cannot be made of itself")
    return metric.with_parts(tuple(_parse(part, (*inside, name)) for part in metric.made_of()))


def parse_all(expressions: str | Metric | Iterable[str | Metric]) -> list[Selection]:
    """All expressions; if some are bad, one error tells about each of them. Metric objects pass through."""
    if isinstance(expressions, str | Metric):
        expressions = [expressions]  # a single one, not its letters
    selections, problems = [], []
    for expression in _one_by_one(expressions):
        try:
            if isinstance(expression, Metric):
                selections.append(Selection(complete(expression), expression.info.usual))
            else:
                selections.append(parse(expression))
        except CapevalError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ExpressionError("\n".join(["several metric expressions are wrong:", *(f"  {p}" for p in problems)]))
    return merge(selections)


def _one_by_one(expressions: Iterable[str | Metric]) -> Iterator[str | Metric]:
    """Texts may be lists."""
    for expression in expressions:
        yield from [expression] if isinstance(expression, Metric) else split_expressions(expression)


def merge(selections: Sequence[Selection]) -> list[Selection]:
    """One selection for each metric, so that `bleu_1` and `bleu_4` are computed together."""
    merged: dict[Metric, list[str]] = {}
    for selection in selections:
        wanted = merged.setdefault(selection.metric, [])
        wanted += [name for name in selection.names if name not in wanted]
    return [Selection(metric, tuple(names)) for metric, names in merged.items()]


def label(metric: Metric, name: str, *, full: bool = False) -> str:
    """The expression for one score: parameters that differ from the defaults, or all of them."""
    metric = metric.parametrised()
    values = {field.name: getattr(metric, field.name) for field in parameters_of(metric)}
    usual = {field.name: field.default for field in parameters_of(metric)}
    shown = {key: value for key, value in values.items() if value != usual[key] or (full and value != "")}
    return write_expression(name, shown)


def _values(metric: type[Metric], given: dict[str, str]) -> dict[str, Any]:
    types, known = get_type_hints(metric) if given else {}, parameters_of(metric)
    for key in given:
        if key not in [field.name for field in known]:
            raise UnknownName(f"parameter of {metric.info.name}", key, [field.name for field in known])
    missing = [field.name for field in known if field.default is MISSING and field.name not in given]
    if missing:
        raise ExpressionError(f"{metric.info.name} needs a value for {', '.join(missing)}")
    return {key: _read(text, types[key], f"{metric.info.name}: {key}") for key, text in given.items()}


def _read(text: str, kind: type, where: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ExpressionError(f"{where} is {text!r}; it must be true or false")
        return text.lower() == "true"
    if kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            raise ExpressionError(
                f"{where} is {text!r}; it must be {'a whole number' if kind is int else 'a number'}"
            ) from None
        if not math.isfinite(value):
            raise ExpressionError(f"{where} is {text!r}; it must be finite")
        return value
    return text
