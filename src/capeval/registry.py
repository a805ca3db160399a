"""Metric expressions: `cider_d(df=coco-val2014)` <-> a metric object.

An expression is a metric's name or the name of one of its scores, with parameters in brackets where they differ from
the defaults. It is what `-m` takes and what results are labelled with. Every module in `capeval.metrics` is looked
through for metrics, so a new one needs no entry anywhere.
"""

from __future__ import annotations

import math
import pkgutil
import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from capeval import metrics
from capeval.errors import CapevalError, ExpressionError, UnknownName
from capeval.types import Metric

_EXPRESSION = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<parameters>.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(
    r"""\s*(?P<key>\w+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^,"'()]*))\s*(?:,|$)"""
)


@dataclass(frozen=True)
class Selection:
    """A metric and which of its scores are wanted."""

    metric: Metric
    names: tuple[str, ...]


@cache
def metric_classes() -> dict[str, type[Metric]]:
    """All metrics by name."""
    found: dict[str, type[Metric]] = {}
    for module in _module_names():
        for metric in _metrics_in(module):
            if found.setdefault(metric.info.name, metric) is not metric:
                raise CapevalError(f"two metrics are called {metric.info.name!r}")
    return found


@cache
def _module_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(metrics.__path__)]


def _metrics_in(module: str) -> list[type[Metric]]:
    return [value for value in vars(import_module(f"{metrics.__name__}.{module}")).values() if _is_metric(value)]


def _is_metric(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Metric) and "info" in vars(value)


def _owner(name: str) -> type[Metric] | None:
    """The metric of that name, or that gives a score of that name."""
    # `cider_d` is most likely in `cider.py`; then no other metric is loaded.
    for module in _module_names():
        if name.startswith(module):
            for metric in _metrics_in(module):
                if name in (metric.info.name, *metric.info.names):
                    return metric
    return metric_classes().get(name) or _scores().get(name)


@cache
def _scores() -> dict[str, type[Metric]]:
    """The metric that gives each score."""
    owners: dict[str, type[Metric]] = {}
    for metric in metric_classes().values():
        for name in metric.info.names:
            if owners.setdefault(name, metric) is not metric:
                raise CapevalError(f"two metrics give a score called {name!r}")
    return owners


def parse(expression: str) -> Selection:
    """The metric and the scores that an expression names."""
    match = _EXPRESSION.fullmatch(expression)
    if not match:
        raise ExpressionError(f"cannot read the metric expression {expression!r}; write it like cider_d(df=corpus)")
    name = match["name"]
    metric = _owner(name)
    if metric is None:
        raise UnknownName("metric", name, {*metric_classes(), *_scores()})
    parameters = _parameters(metric, match["parameters"] or "", expression)
    names = (name,) if name in metric.info.names else metric.info.usual
    return Selection(metric(**parameters), names)


def parse_all(expressions: str | Metric | Iterable[str | Metric]) -> list[Selection]:
    """All expressions; if some are bad, one error tells about each of them. Metric objects pass through."""
    if isinstance(expressions, str | Metric):
        expressions = [expressions]  # a single one, not its letters
    selections, problems = [], []
    for expression in expressions:
        try:
            if isinstance(expression, Metric):
                selections.append(Selection(expression, expression.info.usual))
            else:
                selections.append(parse(expression))
        except CapevalError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ExpressionError("\n".join(["several metric expressions are wrong:", *(f"  {p}" for p in problems)]))
    return merge(selections)


def merge(selections: Sequence[Selection]) -> list[Selection]:
    """One selection for each metric, so that `bleu_1` and `bleu_4` are computed together."""
    merged: dict[Metric, list[str]] = {}
    for selection in selections:
        wanted = merged.setdefault(selection.metric, [])
        wanted += [name for name in selection.names if name not in wanted]
    return [Selection(metric, tuple(names)) for metric, names in merged.items()]


def label(metric: Metric, name: str, *, full: bool = False) -> str:
    """The expression for one score: parameters that differ from the defaults, or all of them."""
    shown = []
    for field in fields(metric):  # type: ignore[arg-type]
        value = getattr(metric, field.name)
        if value != field.default or (full and value != ""):
            shown.append(f"{field.name}={_write(value)}")
    return f"{name}({', '.join(shown)})" if shown else name


def _parameters(metric: type[Metric], text: str, expression: str) -> dict[str, Any]:
    types = get_type_hints(metric)
    known = [field.name for field in fields(metric)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    place = 0
    while text[place:].strip():
        match = _PARAMETER.match(text, place)
        if not match:
            raise ExpressionError(
                f"cannot read the parameters of {expression!r} at {text[place:].strip()!r}; write them as name=value, "
                'with "quotes" around a value that has commas or brackets'
            )
        place = match.end()
        key = match["key"]
        if key not in known:
            raise UnknownName(f"parameter of {metric.info.name}", key, known)
        if key in values:
            raise ExpressionError(f"{expression!r} gives {key} twice")
        quoted = next((match[kind] for kind in ("double", "single") if match[kind] is not None), None)
        raw = match["bare"].strip() if quoted is None else quoted
        values[key] = _read(raw, types[key], f"{metric.info.name}: {key}")
    missing = [f.name for f in fields(metric) if f.default is MISSING and f.name not in values]  # type: ignore[arg-type]
    if missing:
        raise ExpressionError(f"{metric.info.name} needs a value for {', '.join(missing)}")
    return values


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


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    text = str(value)
    if not re.search(r"""[,()"'\s]""", text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'
