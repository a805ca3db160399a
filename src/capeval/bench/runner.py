"""Running a benchmark: load the judgements, score the captions, measure the agreement."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench import accuracy, agreement, analysis
from capeval.bench.agreement import Estimate, Scores
from capeval.bench.details import details
from capeval.bench.registry import benchmark, load
from capeval.bench.scorefile import read_scores
from capeval.bench.types import Benchmark, Form, Pairs, Ratings, Systems
from capeval.errors import CapevalError
from capeval.evaluate import evaluate
from capeval.io.files import PathLike
from capeval.registry import label, metric_classes, parse_all
from capeval.runtime.pictures import PictureFiles
from capeval.types import Array, Dataset, Metric

OwnMetric = Callable[[Dataset], Sequence[float] | Array]
"""A metric of the user's own: one score for each row of a dataset, NaN where it has none."""

MetricLike = str | Metric | OwnMetric


@dataclass(frozen=True)
class Settings:
    """How to run a benchmark; none of it changes what is scored, except the draws of references."""

    resamples: int = 1000
    seed: int = 0
    draws: int = 5
    references: int | None = None
    """How many references to draw for a pair; None for what the protocol says."""
    ties: str = "half"
    combine: int = 0
    """The size of the largest combination of metrics to try."""
    counts: tuple[int, ...] = ()
    """Numbers of references to measure the accuracy of pairs with."""
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)


@dataclass(frozen=True)
class Part:
    """One way of running a benchmark, with the scores it was measured from."""

    variant: str
    form: Form
    scores: Mapping[str, Array]
    metrics: list[dict[str, Any]]
    comparisons: dict[str, Any]
    signatures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    benchmark: Benchmark
    rows: int
    parts: list[Part]
    seen: Mapping[str, list[str]]
    """Learned metrics that were trained on images or judgements of the benchmark, and on which."""
    pictures: int | None = None
    """Images whose picture was found, where a folder of pictures was given."""

    def to_dict(self) -> dict[str, Any]:
        """As `capeval bench run --format json` prints it; numbers that do not exist are None."""
        tags = [{self.benchmark.variant_key: part.variant} if part.variant else {} for part in self.parts]
        rows = [tag | row for tag, part in zip(tags, self.parts) for row in part.metrics]
        result: dict[str, Any] = {
            "benchmark": self.benchmark.name,
            "rows": self.rows,
            "metrics": [
                row | ({"seen": self.seen[row["metric"]]} if row["metric"] in self.seen else {}) for row in rows
            ],
            "comparisons": [tag | part.comparisons for tag, part in zip(tags, self.parts)],
            "analysis": [
                tag | {"signatures": dict(part.signatures)} | details(part.form, part.scores)
                for tag, part in zip(tags, self.parts)
            ],
            "citation": self.benchmark.citation,
        }
        if self.pictures is not None:
            result["pictures"] = self.pictures
        plain: dict[str, Any] = _plain(result)
        return plain


def run(
    name: str,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    scores: Sequence[PathLike] = (),
    data: PathLike | None = None,
    images: PathLike | None = None,
    variants: Sequence[str] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda step: None,
    note: Callable[[str], None] = lambda message: None,
) -> Outcome:
    """How well metrics agree with people on a benchmark.

    `metrics` are expressions, metric objects, or functions that give one score for each row of a `Dataset`. `scores`
    are files of scores made elsewhere. With neither, every metric that is installed is used.
    """
    wanted = benchmark(name)
    task = _Task(_listed(metrics, scores), scores, settings or Settings(), progress, note)
    task.check()
    parts = []
    for variant in variants or wanted.default_variants:
        progress(f"reading {name}")
        form = load(name, data, variant, note)
        if images is not None:
            task = replace(task, pictures=_pictures(wanted, form, Path(images), task.settings.threads))
        parts.append(task.measure(form, variant))
    pictures = None if task.pictures is None else len(task.pictures.ids)
    return Outcome(wanted, _row_count(parts[0].form), parts, _seen(wanted, task), pictures)


def _listed(metrics: MetricLike | Iterable[MetricLike] | None, scores: Sequence[PathLike]) -> list[MetricLike] | None:
    """None for every metric there is."""
    if metrics is None:
        return [] if scores else None
    if isinstance(metrics, str | Metric) or callable(metrics):
        return [metrics]
    return list(metrics)


def _seen(wanted: Benchmark, task: _Task) -> dict[str, list[str]]:
    """A learned metric says in `trained_on` what it was trained on, in the words of `Benchmark.holds`."""
    trained: dict[str, Iterable[str]] = {_name_of(each): getattr(each, "trained_on", ()) for each in task.own()}
    built_in = task.built_in()
    for selection in parse_all(metric_classes() if built_in is None else built_in):
        on = getattr(selection.metric, "trained_on", ())
        trained |= {label(selection.metric, score): on for score in selection.names}
    seen = {name: sorted(set(on) & set(wanted.holds)) for name, on in trained.items()}
    return {name: on for name, on in seen.items() if on}


@dataclass(frozen=True)
class _Task:
    """What to score with and how to measure."""

    metrics: list[MetricLike] | None
    files: Sequence[PathLike]
    settings: Settings
    progress: Callable[[str], None]
    note: Callable[[str], None]
    pictures: PictureFiles | None = None
    signatures: dict[str, str] = field(default_factory=dict)
    """Of the scores made last; where references are drawn, of the first draw."""

    def built_in(self) -> list[str | Metric] | None:
        if self.metrics is None:
            return None
        return [each for each in self.metrics if isinstance(each, str | Metric)]

    def own(self) -> list[OwnMetric]:
        return [each for each in self.metrics or () if not isinstance(each, str | Metric)]

    def check(self) -> None:
        """Wrong expressions are told before any work is done."""
        parse_all(self.built_in() or ())

    def score(self, dataset: Dataset) -> Scores:
        dataset.pictures = self.pictures
        found: dict[str, Array] = {}
        built_in = self.built_in()
        if built_in is None or built_in:
            found |= self.evaluated(dataset, built_in)
        found |= {_name_of(metric): _called(metric, dataset) for metric in self.own()}
        return {**found, **self.from_files(dataset.ids)}

    def evaluated(self, dataset: Dataset, built_in: list[str | Metric] | None) -> Scores:
        """Scores of built-in metrics; rows without their picture have none (NaN) of metrics that look at it."""
        pictures, every = dataset.pictures, range(len(dataset))
        shown = every if pictures is None else [i for i in every if dataset.images[i] in pictures]
        given = list(metric_classes()) if built_in is None else built_in
        looking = [each for each in given if "pictures" in parse_all(each)[0].metric.needs()]
        reading = [each for each in given if each not in looking]
        parts: list[tuple[Sequence[str | Metric], Sequence[int]]] = [(reading, every), (looking, shown)]
        if len(shown) == len(dataset):
            parts = [(given, every)]
        elif looking and not shown:
            raise CapevalError("none of the images has its picture in that folder: see --images")
        found: dict[str, Array] = {}
        for metrics, rows in parts:
            if not metrics:
                continue
            result = evaluate(
                dataset if rows is every else dataset.rows(rows), metrics, threads=self.settings.threads,
                progress=self.progress, note=self.note, lenient=built_in is None,
            )  # fmt: skip
            for key, values in result.per_caption.items():
                found[key] = np.full(len(dataset), np.nan)
                found[key][np.asarray(rows)] = values
            self.signatures.update(result.signatures | self.signatures)
        return found

    def from_files(self, ids: Sequence[str]) -> Scores:
        found: dict[str, Array] = {}
        for path in self.files:
            found |= read_scores(path, ids)
        return found

    def note_coarse_p(self, metrics: int) -> None:
        """Each p-value is at least 2 / (resamples + 1), and Holm multiplies it by the number of comparisons."""
        smallest = metrics * (metrics - 1) / (self.settings.resamples + 1)
        if smallest > 0.05:
            self.note(
                f"{metrics} metrics and {self.settings.resamples} resamples: no corrected p-value can be below "
                f"{min(1.0, smallest):.2g}. More resamples would tell more."
            )

    def measure(self, form: Form, variant: str) -> Part:
        self.signatures.clear()
        return replace(self._measured(form, variant), signatures=dict(self.signatures))

    def _measured(self, form: Form, variant: str) -> Part:
        if isinstance(form, Ratings):
            return self.measure_ratings(form, variant)
        if isinstance(form, Pairs):
            return self.measure_pairs(form, variant)
        return self.measure_systems(form, variant)

    def measure_ratings(self, ratings: Ratings, variant: str) -> Part:
        scores, settings = self.score(ratings.dataset), self.settings
        self.progress("resampling")
        self.note_coarse_p(len(scores))
        weights = agreement.image_draws(ratings, settings.resamples, settings.seed)
        found = agreement.agree(ratings, scores, weights, settings.threads)
        rows: list[dict[str, Any]] = [
            {"metric": each.metric, "rows": each.rows, "left_out": each.left_out}
            | {key: estimate._asdict() for key, estimate in each.estimates.items()}
            | ({"mean_judgement": dict(each.with_mean)} if each.with_mean else {})
            for each in found
        ]
        comparisons: dict[str, Any] = {"statistic": ratings.main, "names": list(scores)}
        if len(scores) > 1:
            if any(each.left_out for each in found):
                found = agreement.agree(ratings, agreement.on_common_rows(scores), weights, settings.threads)
            comparisons["p_bootstrap_holm"] = agreement.pairwise_p(found, ratings.main)
            comparisons["p_williams"] = agreement.williams_p(ratings, scores)
            comparisons["spearman_between_metrics"] = agreement.between_metrics(scores)
        if settings.combine:
            self.progress("combining metrics")
            best = analysis.best_combinations(ratings, scores, size=settings.combine)
            comparisons["combinations"] = [{"metrics": each.metrics, "value": each.value} for each in best]
        return Part(variant, ratings, scores, rows, comparisons)

    def measure_pairs(self, pairs: Pairs, variant: str) -> Part:
        settings, ties = self.settings, self.settings.ties
        count = settings.references or pairs.drawn
        scores = accuracy.draw_scores(pairs, self.score, count, settings.draws, settings.seed)
        self.progress("resampling")
        self.note_coarse_p(len(scores))
        weights = accuracy.image_draws(pairs, settings.resamples, settings.seed)
        rows: list[dict[str, Any]] = [
            {"metric": each.metric, "rows": each.rows, "left_out": each.left_out, "ties": each.ties}
            | {key: _accuracy_row(estimate, each.spread[key]) for key, estimate in each.estimates.items()}
            for each in accuracy.accuracies(pairs, scores, weights, ties)
        ]
        draws = len(next(iter(scores.values())))
        comparisons: dict[str, Any] = {"statistic": "mean", "names": list(scores), "draws": draws}
        if len(scores) > 1:
            comparisons["p_bootstrap_holm"] = accuracy.pairwise_p(pairs, scores, weights, ties)
        if settings.counts:
            curves = accuracy.against_references(
                pairs, self.score, settings.counts, repeats=settings.draws, ties=ties, seed=settings.seed
            )
            comparisons["by_references"] = {"counts": settings.counts, "mean": curves}
        return Part(variant, pairs, scores, rows, comparisons)

    def measure_systems(self, systems: Systems, variant: str) -> Part:
        if self.metrics:
            raise CapevalError(
                "the captions of these systems are not public, so they cannot be scored here. Leave -m out: the "
                "published scores are used, and --scores adds your own, with the systems' names as ids"
            )
        scores = {**systems.scores, **self.from_files(systems.names)}
        settings = self.settings
        found = agreement.agree_systems(systems, scores, settings.resamples, settings.seed, settings.threads)
        rows: list[dict[str, Any]] = [
            {"metric": name, "rows": by_measure["m1"].rows, "left_out": by_measure["m1"].left_out}
            | {
                measure: {key: estimate._asdict() for key, estimate in each.estimates.items()}
                for measure, each in by_measure.items()
            }
            for name, by_measure in found.items()
        ]
        return Part(variant, systems, scores, rows, {"names": list(scores)})


def _called(metric: OwnMetric, dataset: Dataset) -> Array:
    values = np.asarray(metric(dataset), dtype=np.float64)
    if values.shape != (len(dataset),) or np.isinf(values).any():
        raise CapevalError(f"{_name_of(metric)} must give one finite score (or NaN) for each of {len(dataset)} rows")
    return values


def _name_of(metric: OwnMetric) -> str:
    return str(getattr(metric, "__name__", type(metric).__name__))


def _accuracy_row(estimate: Estimate, spread: float) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "spread": spread}


def _pictures(wanted: Benchmark, form: Form, root: Path, threads: int) -> PictureFiles:
    """The pictures of those images that have one."""
    if not root.is_dir():
        raise CapevalError(f"there is no folder {root} of pictures")
    images = form.dataset.images if isinstance(form, Ratings) else form.images if isinstance(form, Pairs) else ()
    found = {image: wanted.pictures(root, image) for image in dict.fromkeys(images)}
    return PictureFiles({image: path for image, path in found.items() if path is not None}, threads=threads)


def _row_count(form: Form) -> int:
    if isinstance(form, Ratings):
        return int(np.isfinite(form.human).sum())
    return len(form.ids) if isinstance(form, Pairs) else len(form.names)


def _plain(value: Any) -> Any:
    """For JSON: lists for arrays, None for NaN."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
