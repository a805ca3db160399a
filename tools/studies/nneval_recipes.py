"""NNEval by several recipes: the kinds of captions that are not human, and whether the score may fall where a feature
grows.

    python tools/studies/nneval_recipes.py --work WORK --data DATA --machine CAPTIONS
    python tools/studies/nneval_recipes.py --work WORK --data DATA --development --only shares
    python tools/studies/nneval_recipes.py --work WORK --data DATA --development --only captioned --machine CAPTIONS

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
_PLAIN: dict[str, Any] = {"features": features(wmd="wmd")}
_CAPTIONER: dict[str, Any] = {"sources": ("flickr8k",), "machines": ()}
KINDS: dict[str, dict[str, Any]] = {
    "machine, COCO (the paper's recipe)": {"sources": ("coco",), "negatives": ("machine",), **_PLAIN},
    "machine, Flickr8k by our captioner": {"negatives": ("machine",), **_PLAIN, **_CAPTIONER},
    "rc": {"negatives": ("rc",), **_PLAIN},
    "near": {"negatives": ("near",), **_PLAIN},
    "rc, near": {"negatives": ("rc", "near"), **_PLAIN},
    "rc, near, wp, rw": {"negatives": ("rc", "near", "wp", "rw"), **_PLAIN},
    "rc, near, machine (Flickr8k)": {"negatives": ("rc", "near", "machine"), **_PLAIN, **_CAPTIONER},
}
_RISING: dict[str, Any] = {"rising": 0.3}
_ONE_IN_SIX = ("rc", "near", "near", "rc", "near", "wp")
SHARES: dict[str, dict[str, Any]] = {
    "rc, near": _PLAIN,
    "vectors of length 1": {},
    "rising, no wp": _RISING,
    "rising, wp one in nine": {"negatives": ("rc", "near", "rc", "near", "wp", "rc", "near", "rc", "near"), **_RISING},
    "rising, wp one in six": {"negatives": _ONE_IN_SIX, **_RISING},
    "rising, wp one in three": {"negatives": ("rc", "near", "wp"), **_RISING},
    "may fall, wp one in six": {"negatives": _ONE_IN_SIX},
}
_FIVE = ("machine", "rc", "near", "machine", "rc", "near", "machine", "wp", "machine", "rc", "near", "machine")
_THREE = ("machine", "rc", "near", "rc", "near", "machine", "rc", "near", "wp", "machine", "rc", "near")
CAPTIONED: dict[str, dict[str, Any]] = {
    "machine 5, rc 3, near 3, wp 1 (as shipped)": {"negatives": _FIVE, **_RISING, **_CAPTIONER},
    "the same, the score may fall": {"negatives": _FIVE, **_CAPTIONER},
    "the same, WMD of plain vectors": {"negatives": _FIVE, **_RISING, **_PLAIN, **_CAPTIONER},
    "machine 3, rc 4, near 4, wp 1": {"negatives": _THREE, **_RISING, **_CAPTIONER},
    "machine 11, wp 1": {"negatives": (*["machine"] * 11, "wp"), **_RISING, **_CAPTIONER},
    "machine alone": {"negatives": ("machine",), **_RISING, **_CAPTIONER},
}
RECIPES = {"kinds": KINDS, "shares": SHARES, "captioned": CAPTIONED}


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
