"""What the studies of NNEval share: networks as metrics whose features are computed once, and a table of benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

from capeval.bench import Settings
from capeval.bench import run as bench
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.nneval import Network
from capeval.train.tasks.nneval.table import feature_table
from capeval.types import Array, Dataset

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
