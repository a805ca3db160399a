"""NNEval by several recipes: the kinds of captions that are not human, and whether the score may fall where a feature
grows.

    python tools/studies/nneval_recipes.py --work WORK --data DATA --machine CAPTIONS
    python tools/studies/nneval_recipes.py --work WORK --data DATA --development --only shares

`CAPTIONS` are a captioner's of Flickr8k training pictures (`capeval caption`). Networks are trained alike, on fewer
pictures than the one that comes with capeval. Of pairs, the table has the mean over the kinds and the lowest of them.
`--development` looks at no test: see `print_development`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from nneval_common import print_development, print_table, scoring, single

from capeval.metrics.nneval import features
from capeval.run import Run
from capeval.runtime.nneval import open_judge
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.task import NnevalTask

RATES: dict[str, Any] = {"batch": 300, "epochs": 60, "patience": 20, "learning_rate": 2e-3}
_CAPTIONER: dict[str, Any] = {"sources": ("flickr8k",), "machines": ()}
KINDS: dict[str, dict[str, Any]] = {
    "machine, COCO (the paper's recipe)": {"sources": ("coco",), "negatives": ("machine",)},
    "machine, Flickr8k by our captioner": {"negatives": ("machine",), **_CAPTIONER},
    "rc": {"negatives": ("rc",)},
    "near": {"negatives": ("near",)},
    "rc, near": {"negatives": ("rc", "near")},
    "rc, near, wp, rw": {"negatives": ("rc", "near", "wp", "rw")},
    "rc, near, machine (Flickr8k)": {"negatives": ("rc", "near", "machine"), **_CAPTIONER},
}
_UNIT = tuple("wmd(normalize=true)" if each == "wmd" else each for each in features())
_RISING: dict[str, Any] = {"features": _UNIT, "rising": 0.3}
_ONE_IN_SIX = ("rc", "near", "near", "rc", "near", "wp")
SHARES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "vectors of length 1": {"features": _UNIT},
    "rising, no wp": _RISING,
    "rising, wp one in nine": {"negatives": ("rc", "near", "rc", "near", "wp", "rc", "near", "rc", "near"), **_RISING},
    "rising, wp one in six": {"negatives": _ONE_IN_SIX, **_RISING},
    "rising, wp one in three": {"negatives": ("rc", "near", "wp"), **_RISING},
    "may fall, wp one in six": {"negatives": _ONE_IN_SIX, "features": _UNIT},
}
RECIPES = {"kinds": KINDS, "shares": SHARES}


@click.command()
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Where networks are kept.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--machine", help="Machine captions of Flickr8k training pictures: COCO results.")
@click.option("--pictures", default=3000, show_default=True, help="Of each source to train on.")
@click.option("--only", default="kinds", show_default=True, type=click.Choice(list(RECIPES)), help="Which recipes.")
@click.option("--development", is_flag=True, help="Measure by what recipes are chosen by, and by no test.")
@click.option("--resamples", default=1000, show_default=True)
def main(
    work: Path, data: Path | None, machine: str | None, pictures: int, only: str, development: bool, resamples: int
) -> None:
    """Prints a Markdown table: a row for each recipe and for each feature alone."""
    run = Run(threads=1)
    functions = []
    for name, settings in RECIPES[only].items():
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
        judge = open_judge(str(folder))
        functions.append(scoring(name, judge.network, judge.features, run))
    functions += [single(each, run) for each in features()]
    if development:
        print_development(functions, run, data=data)
    else:
        print_table(functions, run, data=data, resamples=resamples)


if __name__ == "__main__":
    main()
