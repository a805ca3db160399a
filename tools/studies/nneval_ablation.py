"""What each feature of NNEval is worth: networks without one of them, and with one more.

    python tools/studies/nneval_ablation.py --work WORK --data DATA --images IMAGES --features FILE --features FILE

Every network is trained alike, on fewer pictures than the one that comes with capeval; the first row is the one to
compare with. Features of captions are kept in the cache, networks in the work folder: an interrupted study goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from capeval.bench import Settings
from capeval.bench import run as bench
from capeval.metrics.nneval import features
from capeval.run import Run
from capeval.runtime.nneval import Network, open_judge
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.table import feature_table
from capeval.train.tasks.nneval.task import NnevalTask
from capeval.types import Array, Dataset

MORE = ("lece", "tiger")
BENCHMARKS = {
    "flickr8k-expert": [],
    "composite-no-8k": ["published"],
    "pascal-50s": ["votes"],
    "distractors": ["built"],
}
RATES: dict[str, Any] = {"batch": 300, "epochs": 60, "patience": 20, "learning_rate": 2e-3}


def networks(base: tuple[str, ...], more: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """By name the features of each network."""
    found = {"all": base}
    found |= {f"without {name.split('(')[0]}": tuple(each for each in base if each != name) for name in base}
    found |= {"without bleu": tuple(each for each in base if not each.startswith("bleu"))}
    found |= {f"with {name}": (*base, name) for name in more}
    if len(more) > 1:
        found["with " + " and ".join(more)] = (*base, *more)
    return found


def scoring(name: str, network: Network, expressions: tuple[str, ...], run: Run) -> Callable[[Dataset], Array]:
    """A metric of the network, under a name; features come from the cache."""

    def score(dataset: Dataset) -> Array:
        return network.scores(feature_table(dataset, expressions, run))

    score.__name__ = name
    return score


@click.command()
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Where networks are kept.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--images", metavar="ROOT", help="Folder of the benchmarks' pictures, for lece and tiger.")
@click.option("--features", "files", multiple=True, type=click.Path(path_type=Path),
              help="Features of the training pictures and of Flickr8k, for lece and tiger.")  # fmt: skip
@click.option("--pictures", default=3000, show_default=True, help="Of each source to train on.")
@click.option("--source", "sources", multiple=True, default=("coco", "flickr8k"), show_default=True)
@click.option("--resamples", default=1000, show_default=True)
def main(
    work: Path, data: Path | None, images: str | None, files: tuple[Path, ...], pictures: int,
    sources: tuple[str, ...], resamples: int,
) -> None:  # fmt: skip
    """Prints a Markdown table: a row for each network, a column for each benchmark."""
    run = Run(threads=1)
    inputs = Inputs(data, files, run=run)
    functions: dict[str, Callable[[Dataset], Array]] = {}
    for name, expressions in networks(features(), MORE if files else ()).items():
        folder = work / name.replace(" ", "-")
        if not (folder / "network.npz").is_file():
            config = Config(features=expressions, images=pictures, sources=sources, **RATES)
            train(NnevalTask(config, inputs), folder, resume=folder.exists(), run=run)
        functions[name] = scoring(name, open_judge(str(folder)).network, expressions, run)
    rows: dict[str, list[str]] = {name: [] for name in functions}
    for benchmark, variants in BENCHMARKS.items():
        found = bench(
            benchmark, list(functions.values()), data=data, images=images, variants=variants, allow_seen=True,
            settings=Settings(resamples=resamples), pictured=images is not None, run=run,
        ).to_dict()  # fmt: skip
        main_figure = found["comparisons"][0]["statistic"]
        figures = {row["metric"]: row[main_figure]["value"] for row in found["metrics"]}
        for name, value in figures.items():
            difference = value - figures["all"]
            shown = f"{value:.3f} ({difference:+.3f})" if abs(value) <= 1 else f"{value:.1f} ({difference:+.1f})"
            rows[name].append(shown)
    click.echo("| features | " + " | ".join(BENCHMARKS) + " |")
    click.echo("| --- |" + " ---: |" * len(BENCHMARKS))
    for name, cells in rows.items():
        click.echo(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
