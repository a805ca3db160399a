"""Running a benchmark: load the judgements, score the captions, measure the agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capeval.bench.benchmark import Benchmark
from capeval.bench.forms import Form, Part, Settings
from capeval.bench.plain import plain
from capeval.bench.ranked import ranked
from capeval.bench.registry import benchmark, load
from capeval.bench.scoring import Metrics, Scorer
from capeval.bench.seen import seen_by, without_seen
from capeval.errors import CapevalError, DataError, Unavailable
from capeval.io.files import PathLike
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
    pictured: bool = False
    """Whether only rows whose picture is there were used."""
    chosen_on: str | None = None
    """The benchmark that combinations were chosen on, if it is another one."""

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
            "comparisons": [
                tag | part.comparisons | self._papers(part.variant) | self._chosen(part)
                for tag, part in zip(tags, self.parts)
            ],
            "analysis": [
                tag | {"signatures": dict(part.signatures)} | part.form.details(part.scores)
                for tag, part in zip(tags, self.parts)
            ],
            "citation": self.benchmark.citation,
            "purpose": self.benchmark.purpose,
        }
        if self.human is not None:
            result["human"] = self.human
        if self.pictures is not None:
            result["pictures"] = self.pictures
        if self.pictured:
            result["pictured"] = True
        known: dict[str, Any] = plain(result)
        return known

    def _chosen(self, part: Part) -> dict[str, str]:
        return {"chosen_on": self.chosen_on} if self.chosen_on and "combinations" in part.comparisons else {}

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
    pictured: bool = False,
    settings: Settings | None = None,
    chosen_on: str | None = None,
    allow_seen: bool = False,
    lenient: bool = False,
    run: Run | None = None,
) -> BenchmarkResult:
    """How well metrics agree with people on a benchmark.

    `metrics` are expressions, metric objects, or functions that give one score for each row of a `Dataset`. `scores`
    are files of scores made elsewhere. With neither, every metric that is installed is used. Metrics that look at
    pictures need the folder of them (`images`) or their `features`; `pictured` measures the other metrics, too, on the
    rows whose picture is there alone. `human` names the kind of judgement where people gave several. The name of a
    JSONL file stands for a benchmark of your own.

    Combinations of metrics (`settings.combine`) are ranked by the benchmark `chosen_on`, so that the best one was not
    picked on its own test.

    A metric that was trained on the benchmark or its pictures is not tested by it: it is refused, or left out where
    every metric is used, unless `allow_seen` is set. Its row is marked then (`seen`). With `lenient`, metrics that lack
    a file or pictures are left out with a note.
    """
    run, settings = run or Run(), settings or Settings()
    wanted = benchmark(name, human)
    scorer = replace(Scorer.of(metrics, scores, run, skip_missing_pictures=True), lenient=lenient)
    if scorer.is_empty:
        raise CapevalError("no metric was asked for")
    if not allow_seen:
        scorer = without_seen(wanted, scorer)
    if chosen_on is not None:
        settings = _choosing(settings, chosen_on, scorer, data, images, features)
    parts = []
    for variant in variants or wanted.default_variants:
        run.progress.step(f"reading {name}")
        form = load(name, data, variant, run, human)
        scorer = replace(scorer, pictures=pictures_of(wanted, form, images, features, run))
        form = _pictured(form, scorer.pictures) if pictured else form
        if unused := form.unused_settings(settings):
            run.progress.note(f"not used by this kind of benchmark: {', '.join(unused)}")
        parts.append(ranked(replace(form.measure(scorer, settings), variant=variant)))
    pictures = None if scorer.pictures is None else sum(image in scorer.pictures for image in form.distinct_images)
    seen = _seen_in(parts, seen_by(wanted, scorer))
    return BenchmarkResult(wanted, parts[0].form.rows, parts, seen, pictures, human, pictured, chosen_on)


def _choosing(
    settings: Settings,
    name: str,
    scorer: Scorer,
    data: PathLike | None,
    images: PathLike | None,
    features: PathLike | Features | None,
) -> Settings:
    """With the judgements that combinations are chosen by; files of scores are those of the test alone."""
    if not settings.combine:
        raise CapevalError(f"{name} is to choose a combination, and none is asked for", remedy="combine")
    run = scorer.run
    form = load(name, data, None, run)
    pictures = pictures_of(benchmark(name), form, images, features, run)
    return replace(settings, chosen_on=form, chosen_by=replace(scorer, files=(), pictures=pictures))


def _seen_in(parts: Sequence[Part], seen: Mapping[str, list[str]]) -> dict[str, list[str]]:
    scored = {name for part in parts for name in part.scores}
    return {name: on for name, on in seen.items() if name in scored}


def _pictured(form: Form, pictures: Features | None) -> Form:
    """The judgements of captions whose picture is there."""
    if pictures is None:
        raise CapevalError("to take only rows that have their picture, the pictures or their features are needed")
    found = {image for image in form.distinct_images if image in pictures}
    if not found:
        raise Unavailable("none of the images has its picture there")
    return form.of_images(found)


def pictures_of(
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
