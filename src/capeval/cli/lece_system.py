"""`capeval lece-system`: LECE's two-fold protocol for whole systems."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from capeval.cli.common import format_option, note, options, print_csv, print_json, print_table, references_option
from capeval.cli.paths import Command, Reads, WritesInto, feature_files, pictures_below
from capeval.errors import CapevalError, DataError, MissingExtra
from capeval.run import Run

if TYPE_CHECKING:
    from capeval.train.tasks.lece.system import SystemScore

_NEGATIVES = "negatives=['machine', 'rc', 'wp', 'rw']"  # a system brings no Monte Carlo samples


@click.command("lece-system", cls=Command)
@click.argument("candidates", metavar="CANDIDATES", type=Reads())
@options(
    references_option,
    click.option("--images", metavar="DIR", type=Reads(pictures_below), help="Folder of the pictures."),
    click.option("--features", metavar="FILE", type=Reads(feature_files),
                 help="Their features, made by `capeval features` or brought."),
    click.option("--context", type=click.Choice(["image", "reference", "both"]), default="image", show_default=True,
                 help="What captions are judged by; `reference` needs no pictures."),
    click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True,
                 help="How often it is repeated, with other folds and first weights."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
                 help="Change the training, such as epochs=5; `capeval train lece --show` lists the keys."),
    click.option("--work", metavar="DIR", type=WritesInto(),  # only into folders of its own, named by a hash
                 help="Where unfinished work is kept. Without it: the cache directory."),
    click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True,
                 help="Another number gives slightly different scores."),
    format_option,
)  # fmt: skip
def lece_system_command(
    candidates: str,
    references: tuple[str, ...],
    images: str | None,
    features: str | None,
    context: str,
    seeds: int,
    settings: tuple[str, ...],
    work: str | None,
    threads: int,
    format_: str,
) -> None:
    """Score captioning systems with critiques that are trained for each of them (Cui et al. 2018, section 3.5).

    \b
    capeval lece-system results.json -r captions_val2014.json --images val2014
    capeval lece-system results.json -r refs.json --context reference --set epochs=5 --seeds 3

    A critique learns to tell half of a system's captions from human ones and scores the other half; then the halves
    change places. The score is the mean probability of being human: near 0 for captions that are easily told apart,
    near 0.5 for captions that cannot be. `human` is what the same critiques give to human captions. Rows with a
    `system` field are scored system by system.

    This needs torch (extra `train`) and takes minutes to hours. It may be interrupted: the same command goes on.
    """
    if find_spec("torch") is None:
        raise MissingExtra("`capeval lece-system`, which trains,", "train")
    from pathlib import Path

    from capeval.cli.progress import running
    from capeval.io.captions import join, read_candidates, read_references
    from capeval.train.config import read_config
    from capeval.train.tasks.lece.config import Config
    from capeval.train.tasks.lece.system import score_systems

    config = read_config(Config, settings=[_NEGATIVES, *settings, f"context={context}"])
    if "mc" in config.negatives:
        raise click.UsageError("--set negatives: a system has no Monte Carlo samples; leave mc out")
    dataset = join(read_candidates(candidates), read_references(*references)).dataset
    with running(threads=threads) as run:
        pictures = None if context == "reference" else _pictures(images, features, dataset.images, run)
        place = Path(work) if work else run.cache / "lece-system"
        results = score_systems(dataset, pictures, config, range(seeds), place, run=run)
    _print(results, format_)


def _pictures(images: str | None, features: str | None, needed: list[str], run: Run) -> Any:
    if images and features:
        raise click.UsageError("give --images or --features, not both")
    if features:
        from capeval.io.features import open_features

        found: Any = open_features(features)
    elif images:
        from capeval.runtime.extract import find_pictures
        from capeval.runtime.pictures import PictureFiles

        found = PictureFiles(find_pictures(images), run=run)
    else:
        raise CapevalError(
            "pictures are needed: --images DIR or --features FILE. Without any: --context reference judges captions by "
            "their references alone"
        )
    missing = [image for image in dict.fromkeys(needed) if image not in found]
    if missing:
        raise DataError("images without a picture.", ids=missing)
    return found


def _print(results: list[SystemScore], format_: str) -> None:
    several = len(results) > 1
    if format_ == "json":
        rows = [
            {
                "system": each.system,
                "score": each.mean,
                "spread": each.spread,
                "seeds": each.scores,
                "human": each.human,
            }
            for each in results
        ]
        print_json(rows if several else rows[0])
        return
    header = [*(["system"] if several else []), "lece_system", "spread", "human"]
    cells = [
        [*([each.system] if several else []), each.mean, each.spread, sum(each.human) / len(each.human)]
        for each in sorted(results, key=lambda each: -each.mean)
    ]
    if format_ == "csv":
        print_csv(header, cells)
        return
    note(f"mean over {len(results[0].scores)} seeds; spread: standard deviation over the seeds")
    shown = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in cells]
    print_table(header, shown, numbers=range(int(several), len(header)))
