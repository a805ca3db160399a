"""What each feature of NNEval is worth: networks without one of them, and with one more.

    python tools/studies/nneval_ablation.py --work WORK --data DATA
    python tools/studies/nneval_ablation.py --work WORK --data DATA --images IMAGES --features FILE --features FILE

Without features of pictures one metric after the other is left out; with them `lece` and `tiger` are added.

Every network is trained alike, on fewer pictures than the one that comes with capeval; the first row is the one to
compare with. Features of captions are kept in the cache, networks in the work folder: an interrupted study goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from nneval_common import Scoring, print_table, scoring

from capeval.metrics.nneval import features
from capeval.run import Run
from capeval.runtime.nneval import open_judge
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.task import NnevalTask

MORE = ("lece", "tiger")
RATES: dict[str, Any] = {"batch": 300, "epochs": 60, "patience": 20, "learning_rate": 2e-3}


def networks(base: tuple[str, ...], more: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """By name the features of each network: without one of them, or with the others."""
    found = {"all": base}
    if more:
        found |= {f"with {name}": (*base, name) for name in more}
        return found | {f"with {' and '.join(more)}": (*base, *more)}
    found |= {f"without {name.split('(')[0]}": tuple(each for each in base if each != name) for name in base}
    found |= {"without bleu": tuple(each for each in base if not each.startswith("bleu"))}
    return found


@click.command()
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Where networks are kept.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--images", metavar="ROOT", help="Folder of the benchmarks' pictures, for lece and tiger.")
@click.option("--features", "files", multiple=True, type=click.Path(path_type=Path),
              help="Features of the training pictures and of Flickr8k, for lece and tiger.")  # fmt: skip
@click.option("--pictures", default=3000, show_default=True, help="Of each source to train on.")
@click.option("--source", "sources", multiple=True, default=("coco", "flickr8k"), show_default=True)
@click.option("--only", multiple=True, help="A benchmark; repeat it for several.")
@click.option("--resamples", default=1000, show_default=True)
def main(
    work: Path, data: Path | None, images: str | None, files: tuple[Path, ...], pictures: int,
    sources: tuple[str, ...], only: tuple[str, ...], resamples: int,
) -> None:  # fmt: skip
    """Prints a Markdown table: a row for each network, with the difference from the first."""
    run = Run(threads=1)
    inputs = Inputs(data, files, run=run)
    functions: dict[str, Scoring] = {}
    for name, expressions in networks(features(wmd="wmd"), MORE if files else ()).items():
        folder = work / name.replace(" ", "-")
        if not (folder / "network.npz").is_file():
            config = Config(features=expressions, images=pictures, sources=sources, **RATES)
            train(NnevalTask(config, inputs), folder, resume=folder.exists(), run=run)
        functions[name] = scoring(name, open_judge(str(folder)).network, expressions, run)
    print_table(
        list(functions.values()),
        run,
        data=data,
        resamples=resamples,
        images=images,
        against=next(iter(functions)),
        only=only,
    )


if __name__ == "__main__":
    main()
