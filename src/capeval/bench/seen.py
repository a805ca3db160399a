"""Metrics that were trained on what a benchmark holds: no figure of theirs on it is a test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from capeval.bench.benchmark import Benchmark
from capeval.bench.scoring import Scorer, function_name
from capeval.errors import CapevalError, Unavailable
from capeval.registry import label, metric_classes, parse_all
from capeval.types import Metric


def seen_by(wanted: Benchmark, scorer: Scorer) -> dict[str, list[str]]:
    """By name of a score what its metric has seen: pictures or judgements, in the words of `Benchmark.holds`, or the
    benchmark by its name. A metric says in `trained_on` what it was trained on."""
    found = {function_name(each): _common(wanted, getattr(each, "trained_on", ())) for each in scorer.functions}
    for selection in parse_all(metric_classes() if scorer.expressions is None else scorer.expressions):
        labels = [label(selection.metric, score) for score in selection.names]
        found |= dict.fromkeys(labels, _common(wanted, _trained_on(selection.metric)))
    return {name: on for name, on in found.items() if on}


def without_seen(wanted: Benchmark, scorer: Scorer) -> Scorer:
    """Refuses metrics that have seen the benchmark; where every metric is used, they are left out with a note."""
    seen = seen_by(wanted, scorer)
    if not seen:
        return scorer
    told = "; ".join(f"{name} was trained on {', '.join(on)}" for name, on in seen.items())
    problem = CapevalError(f"{wanted.name} is no test of metrics that have seen it: {told}", remedy="seen")
    if scorer.expressions is not None:
        raise problem
    scorer.run.progress.left_out("what has seen the benchmark", problem)
    fair = [name for name in metric_classes() if not _common(wanted, _trained_on(parse_all(name)[0].metric))]
    return replace(scorer, expressions=fair, lenient=True)


def _common(wanted: Benchmark, trained_on: Iterable[str]) -> list[str]:
    return sorted({*wanted.holds, wanted.name, f"judgements:{wanted.name}"}.intersection(trained_on))


def _trained_on(metric: Metric) -> tuple[str, ...]:
    try:
        return metric.trained_on()
    except Unavailable:  # it lacks the file that tells, and cannot be used either
        return ()
