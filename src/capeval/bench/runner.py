"""Running a benchmark: load the judgements, score the captions, measure the agreement."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.api import open_pictures
from capeval.bench import accuracy, agreement, analysis
from capeval.bench.agreement import Estimate, Scores
from capeval.bench.details import details
from capeval.bench.plain import plain
from capeval.bench.registry import benchmark, load
from capeval.bench.scoring import MetricLike, Signed, built_in, called, evaluated, from_files, listed, name_of, own
from capeval.bench.types import Benchmark, Form, Pairs, Ratings, Systems
from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike
from capeval.registry import label, metric_classes, parse_all
from capeval.runtime.pictures import PictureFiles
from capeval.types import Array, Dataset, Pictures

# Williams' test has no degree of freedom with fewer rows.
_FEWEST = 4


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
    """Images whose picture was found, where pictures or features were given."""

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
        known: dict[str, Any] = plain(result)
        return known


def run(
    name: str,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    scores: Sequence[PathLike] = (),
    data: PathLike | None = None,
    images: PathLike | None = None,
    features: PathLike | Pictures | None = None,
    variants: Sequence[str] = (),
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda step: None,
    note: Callable[[str], None] = lambda message: None,
) -> Outcome:
    """How well metrics agree with people on a benchmark.

    `metrics` are expressions, metric objects, or functions that give one score for each row of a `Dataset`. `scores`
    are files of scores made elsewhere. With neither, every metric that is installed is used. Metrics that look at
    pictures need the folder of them (`images`) or their `features`.
    """
    wanted = benchmark(name)
    task = _Task(listed(metrics, scores), scores, settings or Settings(), progress, note)
    task.check()
    parts = []
    for variant in variants or wanted.default_variants:
        progress(f"reading {name}")
        form = load(name, data, variant, note)
        task = replace(task, pictures=_pictures(wanted, form, images, features, task.settings.threads))
        parts.append(task.measure(form, variant))
    pictures = None if task.pictures is None else sum(image in task.pictures for image in _images(form))
    return Outcome(wanted, _row_count(parts[0].form), parts, _seen(wanted, task, parts), pictures)


def _seen(wanted: Benchmark, task: _Task, parts: Sequence[Part]) -> dict[str, list[str]]:
    """A learned metric says in `trained_on` what it was trained on, in the words of `Benchmark.holds`."""
    trained: dict[str, Iterable[str]] = {name_of(each): getattr(each, "trained_on", ()) for each in own(task.metrics)}
    given = built_in(task.metrics)
    scored = {name for part in parts for name in part.scores}
    for selection in parse_all(metric_classes() if given is None else given):
        labels = scored.intersection(label(selection.metric, score) for score in selection.names)
        if labels:  # one that was left out may lack the file that tells
            trained |= dict.fromkeys(labels, getattr(selection.metric, "trained_on", ()))
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
    pictures: Pictures | None = None
    signatures: dict[str, str] = field(default_factory=dict)
    """Of the scores made last; where references are drawn, of the first draw."""

    def check(self) -> None:
        """Wrong expressions are told before any work is done."""
        if self.metrics is not None and not self.metrics and not self.files:
            raise CapevalError("no metric was asked for")
        parse_all(built_in(self.metrics) or ())

    def score(self, dataset: Dataset) -> Scores:
        dataset.pictures = self.pictures
        found: dict[str, Array] = {}
        wanted = built_in(self.metrics)
        if wanted is None or wanted:
            self._keep(evaluated(dataset, wanted, self.settings.threads, self.progress, self.note), found)
        self._keep(called(own(self.metrics), dataset, self.progress, list(found)), found)
        return {**found, **self.from_files(dataset.ids, found)}

    def from_files(self, ids: Sequence[str], taken: Iterable[str]) -> Scores:
        found: dict[str, Array] = {}
        self._keep(from_files(self.files, ids, taken), found)
        return found

    def _keep(self, scored: Iterable[Signed], found: dict[str, Array]) -> None:
        for name, values, signature in scored:
            found[name] = values
            self.signatures.setdefault(name, signature)

    def note_coarse_p(self, metrics: int) -> None:
        """Each p-value is at least 2 / (resamples + 1), and Holm multiplies it by the number of comparisons."""
        smallest = metrics * (metrics - 1) / (self.settings.resamples + 1)
        if smallest > 0.05:
            self.note(
                f"{metrics} metrics and {self.settings.resamples} resamples: no corrected p-value can be below "
                f"{min(1.0, smallest):.2g}. More resamples would tell more."
            )

    def note_unused(self, form: Form) -> None:
        """Settings that such a benchmark has no use for."""
        usual = Settings()
        names: tuple[str, ...] = () if isinstance(form, Pairs) else ("draws", "references", "ties", "counts")
        names += () if isinstance(form, Ratings) else ("combine",)
        unused = [name for name in names if getattr(self.settings, name) != getattr(usual, name)]
        if unused:
            self.note(f"not used by this kind of benchmark: {', '.join(unused)}")

    def measure(self, form: Form, variant: str) -> Part:
        self.signatures.clear()
        self.note_unused(form)
        if isinstance(form, Ratings):
            part = self.measure_ratings(form, variant)
        elif isinstance(form, Pairs):
            part = self.measure_pairs(form, variant)
        else:
            part = self.measure_systems(form, variant)
        return replace(part, signatures=dict(self.signatures))

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
        can_compare = len(scores) < 2 or agreement.common_judgements(ratings, scores) >= _FEWEST
        if not can_compare:
            self.note(f"Fewer than {_FEWEST} judgements have a score of every metric: they are not compared.")
        if len(scores) > 1 and can_compare:
            if any(each.left_out for each in found):
                found = agreement.agree(ratings, agreement.on_common_rows(scores), weights, settings.threads)
            comparisons["p_bootstrap_holm"] = agreement.pairwise_p(found, ratings.main)
            comparisons["p_williams"] = agreement.williams_p(ratings, scores)
            comparisons["spearman_between_metrics"] = agreement.between_metrics(scores)
        if settings.combine and can_compare:
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
            means = {name: values.mean(axis=0) for name, values in scores.items()}
            comparisons["spearman_between_metrics"] = agreement.between_metrics(means)
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
        scores = {**systems.scores, **self.from_files(systems.names, systems.scores)}
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


def _accuracy_row(estimate: Estimate, spread: float) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "spread": spread}


def _pictures(
    wanted: Benchmark, form: Form, images: PathLike | None, features: PathLike | Pictures | None, threads: int
) -> Pictures | None:
    """What metrics see of the pictures; of a folder, those that the benchmark has."""
    if images is None or features is not None:
        return open_pictures(images, features, threads)
    root = Path(images)
    if not root.is_dir():
        raise DataError("there is no such folder of pictures", file=str(root))
    found = {image: wanted.pictures(root, image) for image in _images(form)}
    return PictureFiles({image: path for image, path in found.items() if path is not None}, threads=threads)


def _images(form: Form) -> list[str]:
    images = form.dataset.images if isinstance(form, Ratings) else form.images if isinstance(form, Pairs) else ()
    return list(dict.fromkeys(images))


def _row_count(form: Form) -> int:
    if isinstance(form, Ratings):
        return int(np.isfinite(form.human).sum())
    return len(form.ids) if isinstance(form, Pairs) else len(form.names)
