"""LECE's two-fold scores of nine published systems on COCO val2014 pictures, beside CIDEr-D and SPICE.

With pictures and with references as the context, several seeds; see `capeval lece-system`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
from lece_common import Source, coco, study_options, write_json

from capeval.errors import Unavailable
from capeval.evaluate import evaluate
from capeval.run import Run
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.system import score_system
from capeval.types import Dataset, Sample


@click.command(help=__doc__)
@study_options
@click.option("--pictures", default=2000, show_default=True, help="Half of them for each fold.")
@click.option("--epochs", default=6, show_default=True)
@click.option("--batch", default=32, show_default=True, help="Half of them human; 100 in the paper.")
@click.option("--learning-rate", default=0.003, show_default=True, help="0.001 in the paper.")
@click.option("--dropout", default=0.1, show_default=True, help="0.5 in the paper, whose trainings are longer.")
@click.option(
    "--negatives",
    default="machine",
    show_default=True,
    metavar="KIND,...",
    help="machine alone is the paper's way without augmentation; with the other kinds, learning takes longer.",
)
@click.option("--seeds", default=3, show_default=True)
@click.option("--context", "contexts", multiple=True, default=("image", "reference"), show_default=True)
def main(
    features: tuple[str, ...],
    data: str | None,
    work: Path,
    mc: str | None,
    threads: int,
    pictures: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    dropout: float,
    negatives: str,
    seeds: int,
    contexts: tuple[str, ...],
) -> None:
    source = coco(features, data)
    (images,) = source.split(pictures)
    humans = {image: source.humans[image] for image in images}
    sizes = {"pictures": pictures, "epochs": epochs, "batch": batch, "seeds": seeds}
    sizes |= {"learning_rate": learning_rate, "dropout": dropout, "negatives": negatives.split(",")}
    result: dict[str, Any] = {"sizes": sizes, "classic": _classic(source, images)}
    for context in contexts:
        config = Config(
            context=context, epochs=epochs, batch=batch, learning_rate=learning_rate, dropout=dropout,
            negatives=tuple(negatives.split(",")),  # type: ignore[arg-type]
        )  # fmt: skip
        begin, rows = time.process_time(), []
        for system, texts in source.systems.items():
            click.echo(f"{context}: {system} ...", err=True)
            own = {image: texts[image] for image in images}
            place = work / "systems" / context
            each = score_system(system, own, humans, source.pool, config, range(seeds), place, run=Run(threads=threads))
            rows.append({"system": system, "mean": each.mean, "spread": each.spread, "human": each.human})
        result[context] = {"rows": rows, "cpu_seconds": round(time.process_time() - begin, 1)}
        write_json(work / "systems.json", result)


def _classic(source: Source, images: list[str]) -> dict[str, dict[str, float]]:
    rows = [
        Sample(f"{system} {image}", image, texts[image], source.humans[image], system)
        for system, texts in source.systems.items()
        for image in images
    ]
    found: dict[str, dict[str, float]] = {system: {} for system in source.systems}
    for metric in ("cider_d", "spice"):
        try:
            result = evaluate(Dataset.from_samples(rows), [metric])
        except Unavailable as problem:
            click.echo(str(problem), err=True)
            continue
        for system, each in result.by_system().items():
            found[system][metric] = each.scores[metric]
    return found


if __name__ == "__main__":
    main()
