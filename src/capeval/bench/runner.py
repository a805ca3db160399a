"""Running a benchmark: load the judgements, score the captions, measure the agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capeval.bench.benchmark import Benchmark
from capeval.bench.forms import Form, Part, Settings
from capeval.bench.plain import plain
from capeval.bench.registry import benchmark, load
from capeval.bench.scoring import Metrics, Scorer, function_name
from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike
from capeval.registry import label, metric_classes, parse_all
from capeval.run import Run
from capeval.runtime.pictures import PictureFiles, open_pictures
from capeval.types import Features


@dataclass(frozen=True)
class BenchmarkResult:
    """How well metrics agree with people on one benchmark, run in one way or several."""

    benchmark: Benchmark
    rows: int
    parts: list[Part]
    seen: Mapping[str, list[str]]
    """Learned metrics that were trained on images or judgements of the benchmark, and on which."""
    pictures: int | None = None
    """Images whose picture was found, where pictures or features were given."""
    human: str | None = None
    """The kind of judgement, where one was chosen."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; numbers that do not exist are None."""
        tags = [{self.benchmark.variant_key: part.variant} if part.variant else {} for part in self.parts]
        rows = [tag | row for tag, part in zip(tags, self.parts) for row in part.metrics]
        result: dict[str, Any] = {
            "schema": "capeval.bench/1",
            "benchmark": self.benchmark.name,
            "rows": self.rows,
            "metrics": [
                row | ({"seen": self.seen[row["metric"]]} if row["metric"] in self.seen else {}) for row in rows
            ],
            "comparisons": [tag | part.comparisons | self._papers(part.variant) for tag, part in zip(tags, self.parts)],
            "analysis": [
                tag | {"signatures": dict(part.signatures)} | part.form.details(part.scores)
                for tag, part in zip(tags, self.parts)
            ],
            "citation": self.benchmark.citation,
        }
        if self.human is not None:
            result["human"] = self.human
        if self.pictures is not None:
            result["pictures"] = self.pictures
        known: dict[str, Any] = plain(result)
        return known

    def _papers(self, variant: str) -> dict[str, list[str]]:
        papers = self.benchmark.comparable().get(variant)
        return {"papers": list(papers)} if papers else {}


def run(
    name: str,
    metrics: Metrics = None,
    *,
    scores: Sequence[PathLike] = (),
    data: PathLike | None = None,
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    variants: Sequence[str] = (),
    human: str | None = None,
    settings: Settings | None = None,
    run: Run | None = None,
) -> BenchmarkResult:
    """How well metrics agree with people on a benchmark.

    `metrics` are expressions, metric objects, or functions that give one score for each row of a `Dataset`. `scores`
    are files of scores made elsewhere. With neither, every metric that is installed is used. Metrics that look at
    pictures need the folder of them (`images`) or their `features`. `human` names the kind of judgement where people
    gave several. The name of a JSONL file stands for a benchmark of your own.
    """
    run, settings = run or Run(), settings or Settings()
    wanted = benchmark(name, human)
    scorer = Scorer.of(metrics, scores, run, skip_missing_pictures=True)
    if scorer.is_empty:
        raise CapevalError("no metric was asked for")
    parts = []
    for variant in variants or wanted.default_variants:
        run.progress.step(f"reading {name}")
        form = load(name, data, variant, run, human)
        scorer = replace(scorer, pictures=_pictures(wanted, form, images, features, run))
        if unused := form.unused_settings(settings):
            run.progress.note(f"not used by this kind of benchmark: {', '.join(unused)}")
        parts.append(replace(form.measure(scorer, settings), variant=variant))
    pictures = None if scorer.pictures is None else sum(image in scorer.pictures for image in form.distinct_images)
    return BenchmarkResult(wanted, parts[0].form.rows, parts, _seen(wanted, scorer, parts), pictures, human)


def _seen(wanted: Benchmark, scorer: Scorer, parts: Sequence[Part]) -> dict[str, list[str]]:
    """A learned metric says in `trained_on` what it was trained on, in the words of `Benchmark.holds`."""
    trained: dict[str, Iterable[str]] = {
        function_name(each): getattr(each, "trained_on", ()) for each in scorer.functions
    }
    scored = {name for part in parts for name in part.scores}
    for selection in parse_all(metric_classes() if scorer.expressions is None else scorer.expressions):
        labels = scored.intersection(label(selection.metric, score) for score in selection.names)
        if labels:  # one that was left out may lack the file that tells
            trained |= dict.fromkeys(labels, selection.metric.trained_on())
    seen = {name: sorted(set(on) & set(wanted.holds)) for name, on in trained.items()}
    return {name: on for name, on in seen.items() if on}


def _pictures(
    wanted: Benchmark, form: Form, images: PathLike | None, features: PathLike | Features | None, run: Run
) -> Features | None:
    """What metrics see of the pictures; of a folder, those that the benchmark has."""
    if images is None or features is not None:
        return open_pictures(images, features, run)
    root = Path(images)
    if not root.is_dir():
        raise DataError("there is no such folder of pictures", file=str(root))
    found = {image: wanted.pictures(root, image) for image in form.distinct_images}
    return PictureFiles({image: path for image, path in found.items() if path is not None}, run=run)
