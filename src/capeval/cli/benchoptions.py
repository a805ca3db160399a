"""Options that the commands of `capeval bench` share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from capeval.cli.common import MOST_RESAMPLES, resamples_checked
from capeval.cli.paths import Reads, metric_files, no_files
from capeval.errors import CapevalError
from capeval.io.files import PathLike


def benchmark_files(name: str, params: Mapping[str, Any]) -> Iterator[PathLike]:
    """What a benchmark is read from."""
    from capeval.bench.own import is_own
    from capeval.bench.registry import benchmarks, data_root

    root = data_root(params["data"])
    if is_own(name):
        yield name
    if name in benchmarks():
        yield from (root / source.path for source in benchmarks()[name].sources)
    if name == "distractors":  # whose published pairs come in files of several names
        yield from (root / name).glob("*")


data_option = click.option(
    "--data", metavar="ROOT", type=Reads(no_files),  # NAME says which of its files are read
    help="Folder of the data sets. Without it: CAPEVAL_DATA, else ../shared/data.",
)  # fmt: skip
format_option = click.option(
    "--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True,
    help="How results are printed.",
)  # fmt: skip
resamples_option = click.option(
    "--resamples", type=click.IntRange(min=1, max=MOST_RESAMPLES), callback=resamples_checked,
    show_default="as many as can tell the metrics apart, from 1000 on",
    help="How many resamples intervals and p-values come from.",
)  # fmt: skip
own_metrics_option = click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="EXPR", type=Reads(metric_files),
    help="Metric, score or expression such as 'cider_d(df=coco-val2014)', or a function of your own as module:function "
    "(one score for each row of a dataset); repeat it for several. Without it: every metric. `capeval list` has them.",
)  # fmt: skip
allow_seen_option = click.option(
    "--allow-seen", is_flag=True, help="Show metrics that were trained on the benchmark or its pictures, marked."
)


def refuse_wrong(metrics: Sequence[str]) -> None:
    """Refuses expressions and functions that are wrong, before any file is read."""
    from capeval.bench.scoring import Scorer

    try:
        Scorer.of(metrics)
    except CapevalError as problem:
        raise click.UsageError(str(problem)) from problem
