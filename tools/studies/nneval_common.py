"""What the studies of NNEval share: networks as metrics whose features are computed once, and a table of benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

from capeval.bench import Settings
from capeval.bench import run as bench
from capeval.bench.robust import curves, distractors, of_benchmark
from capeval.io.files import PathLike
from capeval.perturb.choices import TASKS
from capeval.run import Run
from capeval.runtime.nneval import Network
from capeval.train.data import captions
from capeval.train.tasks.nneval.table import feature_table
from capeval.types import Array, Dataset

GAMMAS = (0.25, 0.5, 0.75, 1)

Scoring = Callable[[Dataset], Array]

BENCHMARKS = {"flickr8k-expert": "", "composite-no-8k": "published", "pascal-50s": "votes", "distractors": "built"}
"""Where networks are measured, and in which way; the first one chose their epochs."""


def scoring(name: str, network: Network, expressions: Sequence[str], run: Run) -> Scoring:
    """A metric of the network, under a name; what it is made of comes from the cache."""

    def score(dataset: Dataset) -> Array:
        return network.scores(feature_table(dataset, expressions, run))

    score.__name__ = name
    return score


def single(expression: str, run: Run) -> Scoring:
    """One feature as a metric, from the same cache."""

    def score(dataset: Dataset) -> Array:
        return feature_table(dataset, [expression], run)[:, 0]

    score.__name__ = expression
    return score


def print_table(
    functions: Sequence[Scoring],
    run: Run,
    *,
    data: PathLike | None,
    resamples: int,
    images: str | None = None,
    against: str = "",
    only: Sequence[str] = (),
) -> None:
    """A Markdown table: a row for each metric, a column for each benchmark, and the difference from one of the rows."""
    rows: dict[str, list[str]] = {each.__name__: [] for each in functions}
    chosen = {name: BENCHMARKS[name] for name in only or BENCHMARKS}
    for name, variant in chosen.items():
        found = bench(
            name, list(functions), data=data, images=images, pictured=images is not None,
            variants=[variant] if variant else [], allow_seen=True, settings=Settings(resamples=resamples), run=run,
        ).to_dict()  # fmt: skip
        statistic = found["comparisons"][0]["statistic"]
        figures = {row["metric"]: row for row in found["metrics"]}
        for metric, row in figures.items():
            rows[metric].append(_shown(row, statistic, figures.get(against)))
    click.echo("| | " + " | ".join(f"{name}/{variant}" if variant else name for name, variant in chosen.items()) + " |")
    click.echo("| --- |" + " ---: |" * len(chosen))
    for metric, cells in rows.items():
        click.echo(f"| {metric} | {' | '.join(cells)} |")


def print_development(functions: Sequence[Scoring], run: Run, *, data: PathLike | None, sample: int = 500) -> None:
    """A Markdown table of what recipes are chosen by: the validation set; distractors built of Flickr8k's development
    pictures; R of permuted words on them, on COCO's validation pictures, and where there are 48 references."""
    flickr, coco = captions("flickr8k", "val", data), captions("coco", "val", data)
    settings = Settings(resamples=2)
    experts = bench(
        "flickr8k-expert", list(functions), data=data, allow_seen=True, settings=settings, run=run
    ).to_dict()
    rows = {row["metric"]: [f"{row['kendall_c']['value']:.3f}"] for row in experts["metrics"]}
    for row in distractors(flickr, list(functions), parser="fast", resamples=2, run=run).data["metrics"]:
        rows[row["metric"]].append(f"{row['mean']['value']:.1f} ({min(row[task]['value'] for task in TASKS):.1f})")
    many = of_benchmark("abstract-50s", data=data, run=run).captions
    for references in (flickr, coco, many):
        found = curves(references, list(functions), transforms=["wp"], gammas=GAMMAS, sample=sample, run=run)
        for row in found.data["metrics"]:
            rows[row["metric"]].append(f"{row['curves']['wp']['R']:.3f}")
    columns = ("flickr8k-expert", "distractors", "WP, Flickr8k", "WP, COCO", "WP, abstract-50s")
    click.echo("| | " + " | ".join(columns) + " |")
    click.echo("| --- |" + " ---: |" * len(columns))
    for metric, cells in rows.items():
        click.echo(f"| {metric} | {' | '.join(cells)} |")


def _shown(
    row: Mapping[str, Mapping[str, float]], statistic: str, other: Mapping[str, Mapping[str, float]] | None
) -> str:
    value = row[statistic]["value"]
    digits = 3 if statistic != "mean" else 1
    text = f"{value:.{digits}f}"
    if statistic == "mean":
        kinds = [key for key, each in row.items() if isinstance(each, Mapping) and "spread" in each and key != "mean"]
        text += f" ({min(row[kind]['value'] for kind in kinds):.1f})"
    return text if other is None else f"{text} ({value - other[statistic]['value']:+.{digits}f})"
