"""NNEval by several recipes: the kinds of captions that are not human.

    python tools/studies/nneval_recipes.py --work WORK --data DATA --machine CAPTIONS

`CAPTIONS` are a captioner's of Flickr8k training pictures (`capeval caption`). Networks are trained alike, on fewer
pictures than the one that comes with capeval. Of pairs, the table has the mean over the kinds and the lowest of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from nneval_common import print_table, scoring, single

from capeval.metrics.nneval import features
from capeval.run import Run
from capeval.runtime.nneval import open_judge
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.task import NnevalTask

RATES: dict[str, Any] = {"batch": 300, "epochs": 60, "patience": 20, "learning_rate": 2e-3}
RECIPES: dict[str, dict[str, Any]] = {
    "machine, COCO (the paper's recipe)": {"sources": ("coco",), "negatives": ("machine",)},
    "machine, Flickr8k by our captioner": {"sources": ("flickr8k",), "negatives": ("machine",), "machines": ()},
    "rc": {"negatives": ("rc",)},
    "near": {"negatives": ("near",)},
    "rc, near": {"negatives": ("rc", "near")},
    "rc, near, wp, rw": {"negatives": ("rc", "near", "wp", "rw")},
    "rc, near, machine (Flickr8k)": {
        "sources": ("flickr8k",), "negatives": ("rc", "near", "machine"), "machines": (),
    },
}  # fmt: skip


@click.command()
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Where networks are kept.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--machine", help="Machine captions of Flickr8k training pictures: COCO results.")
@click.option("--pictures", default=3000, show_default=True, help="Of each source to train on.")
@click.option("--resamples", default=1000, show_default=True)
def main(work: Path, data: Path | None, machine: str | None, pictures: int, resamples: int) -> None:
    """Prints a Markdown table: a row for each recipe and for each feature alone."""
    run = Run(threads=1)
    functions = []
    for name, settings in RECIPES.items():
        needs_file = settings.get("machines") == ()
        if needs_file and machine is None:
            continue
        folder = work / "".join(letter if letter.isalnum() else "-" for letter in name)
        if not (folder / "network.npz").is_file():
            inputs = Inputs(data, extra={"machine": machine} if needs_file and machine else {}, run=run)
            train(
                NnevalTask(Config(images=pictures, **RATES, **settings), inputs),
                folder,
                resume=folder.exists(),
                run=run,
            )
        functions.append(scoring(name, open_judge(str(folder)).network, features(), run))
    functions += [single(each, run) for each in features()]
    print_table(functions, run, data=data, resamples=resamples)


if __name__ == "__main__":
    main()
