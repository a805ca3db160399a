"""Every benchmark with every metric: our own figures, and those of papers beside them.

Scores and resamples are kept in a folder, by what they were computed from. A run that was interrupted goes on where it
was, and one metric more costs that metric alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench.benchmark import Benchmark
from capeval.bench.forms import NoCaptions, Part, Settings
from capeval.bench.plain import plain
from capeval.bench.published import quoted_for
from capeval.bench.registry import benchmark, benchmarks, missing_files
from capeval.bench.runner import run as run_benchmark
from capeval.bench.scoring import MetricLike, Metrics, Scorer, as_list
from capeval.bench.seen import seen_by
from capeval.errors import CapevalError, Unavailable
from capeval.io.files import PathLike
from capeval.registry import metric_classes
from capeval.run import Progress, Run
from capeval.types import Features


@dataclass(frozen=True)
class Column:
    """One way of running a benchmark."""

    name: str
    benchmark: Benchmark
    part: Part
    seen: Mapping[str, list[str]]
    """Metrics that have seen the benchmark: shown and marked, or left out."""

    def to_dict(self) -> dict[str, Any]:
        compared = self.part.comparisons
        return {
            "name": self.name,
            "benchmark": self.benchmark.name,
            "variant": self.part.variant,
            "statistic": compared["statistic"],
            "rows": self.part.form.rows,
            "resamples": compared["resamples"],
            "summary": self.benchmark.summary,
            "citation": self.benchmark.citation,
        }

    def cells(self) -> dict[str, dict[str, Any]]:
        """By metric its figure here."""
        found: dict[str, dict[str, Any]] = {name: {"value": None, "seen": on} for name, on in self.seen.items()}
        for row in self.part.metrics:
            figure = {key: row[self.part.comparisons["statistic"]][key] for key in ("value", "low", "high")}
            figure |= {"rows": row["rows"], "left_out": row["left_out"]}
            figure |= {"best": True} if row.get("best") else {}
            found[row["metric"]] = found.get(row["metric"], {}) | figure
        return found


@dataclass(frozen=True)
class Leaderboard:
    columns: Sequence[Column]
    left_out: Mapping[str, str]
    """Benchmarks that are not in it, and why."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it. Metrics are in the order of their mean rank over the benchmarks."""
        cells = {column.name: column.cells() for column in self.columns}
        known: dict[str, Any] = plain(
            {
                "schema": "capeval.leaderboard/1",
                "columns": [column.to_dict() for column in self.columns],
                "metrics": [
                    {"metric": name, "cells": {key: found[name] for key, found in cells.items() if name in found}}
                    for name in _by_mean_rank(cells)
                ],
                "quoted": [
                    {"column": column.name, "metric": each.metric, "value": each.value, "source": each.source}
                    | ({"note": each.note} if each.note else {})
                    for column in self.columns
                    for each in quoted_for(
                        column.benchmark.name, column.part.variant, column.part.comparisons["statistic"]
                    )
                ],
                "left_out": dict(self.left_out),
            }
        )
        return known


def leaderboard(
    metrics: Metrics = None,
    *,
    names: Sequence[str] = (),
    data: PathLike | None = None,
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    work: PathLike | None = None,
    settings: Settings | None = None,
    allow_seen: bool = False,
    run: Run | None = None,
) -> Leaderboard:
    """Runs every benchmark for testing whose files are there, or those named, with some metrics or every one.

    What is computed is kept in the folder `work`; without one, in the user's cache.
    """
    run = run or Run()
    folder = Path(work) if work is not None else run.cache / "leaderboard"
    given = list(metric_classes()) if metrics is None else as_list(metrics)
    Scorer.of(given)  # wrong expressions are told before any work is done
    chosen = [benchmark(name) for name in names] or [each for each in benchmarks().values() if each.purpose == "test"]
    columns: list[Column] = []
    left_out: dict[str, str] = {}
    for number, wanted in enumerate(chosen, 1):
        if missing := missing_files(wanted, data):
            left_out[wanted.name] = f"{', '.join(missing)} not there; published at {wanted.published}"
            continue
        with _within(run.progress, f"[{number} of {len(chosen)}] {wanted.name}") as progress:
            fair, seen = (given, {}) if allow_seen else _without_seen(wanted, given)
            try:
                outcome = run_benchmark(
                    wanted.name, fair, data=data, images=images, features=features, settings=settings,
                    allow_seen=True, lenient=True, run=replace(run, progress=progress, kept=folder / wanted.name),
                )  # fmt: skip
            except NoCaptions:
                left_out[wanted.name] = "the captions of its systems are not public"
                continue
            except Unavailable as problem:
                left_out[wanted.name] = problem.message
                continue
            columns += [_column(wanted, part, {**seen, **outcome.seen}) for part in outcome.parts]
    for name, why in left_out.items():
        run.progress.note(f"{name} is left out: {why}")
    if not columns:
        raise CapevalError("there is no benchmark that can be run")
    return Leaderboard(columns, left_out)


def _column(wanted: Benchmark, part: Part, seen: Mapping[str, list[str]]) -> Column:
    return Column("/".join(filter(None, (wanted.name, part.variant))), wanted, part, seen)


def _without_seen(wanted: Benchmark, given: Sequence[MetricLike]) -> tuple[list[MetricLike], dict[str, list[str]]]:
    """The metrics that the benchmark can test, and what the others have seen of it."""
    found = [(each, seen_by(wanted, Scorer.of([each]))) for each in given]
    return [each for each, seen in found if not seen], {name: on for _, seen in found for name, on in seen.items()}


def _by_mean_rank(cells: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Metrics by their mean rank over the columns, in which the best has 0 and the worst 1."""
    ranks: dict[str, list[float]] = {name: [] for found in cells.values() for name in found}
    for found in cells.values():
        values = {name: cell["value"] for name, cell in found.items() if cell["value"] is not None}
        for name, value in values.items():
            better = sum(other > value for other in values.values())
            ranks[name].append(better / max(1, len(values) - 1))
    return sorted(ranks, key=lambda name: float(np.mean(ranks[name])) if ranks[name] else 2.0)


class _Within(Progress):
    """Progress of one benchmark among several: every step says where it is."""

    def __init__(self, outer: Progress, place: str) -> None:
        self.outer, self.place = outer, place

    def step(self, what: str) -> None:
        self.outer.step(f"{self.place}: {what}")

    def note(self, message: str) -> None:
        self.outer.note(f"{self.place}: {message}")

    def left_out(self, what: str, problem: CapevalError) -> None:
        self.outer.left_out(f"{self.place}: {what}", problem)

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        with self.outer.bar(f"{self.place}: {what}", total, unit) as show:
            yield show


@contextmanager
def _within(outer: Progress, place: str) -> Iterator[Progress]:
    begin = time.perf_counter()
    yield _Within(outer, place)
    outer.note(f"{place}: {time.perf_counter() - begin:.1f} s")
