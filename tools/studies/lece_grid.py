"""Capability and robustness of LECE: figures 5 and 6 of Cui et al. 2018 on stated small sets.

Critiques are trained on COCO val2014 pictures with human captions and those of nine systems: the three contexts times
the three fusions, and two without augmentation. Tested on other such pictures, on the Flickr8k test pictures with the
captions of twelve systems, and on human captions that were made worse (WP, RW, RC).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from lece_common import Source, cell, coco, flickr8k_test, is_done, material, study_options, write_json

from capeval.models.lece import CONTEXTS, FUSIONS, Lece
from capeval.perturb.transforms import other_captions, permuted, replaced
from capeval.text.tokenize import tokenize
from capeval.train.task import Inputs
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.scoring import Scores, human_probability, mean_over_references, read
from capeval.train.tasks.lece.task import LeceTask

GAMMAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MADE_WORSE = ("rc", "wp", "rw")
WORSE = 2  # captions of a picture that are made worse
AUGMENTED = ("machine", "rc", "wp", "rw")


@click.command(help=__doc__)
@study_options
@click.option("--pictures", default=3000, show_default=True, help="To train on.")
@click.option("--test", default=400, show_default=True, help="Pictures to test on, of each set.")
@click.option("--epochs", default=4, show_default=True)
@click.option("--batch", default=50, show_default=True)
@click.option("--learning-rate", default=0.003, show_default=True, help="0.001 in the paper.")
@click.option("--dropout", default=0.1, show_default=True, help="0.5 in the paper, whose trainings are longer.")
@click.option("--cached", is_flag=True, help="Only cells that were computed before.")
@click.option("--only", metavar="TEXT", default="", help="Only cells whose name has this text, such as image-mlp.")
def main(
    features: tuple[str, ...],
    data: str | None,
    work: Path,
    mc: str | None,
    threads: int,
    pictures: int,
    test: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    dropout: float,
    only: str,
    cached: bool,
) -> None:
    source, other = coco(features, data), flickr8k_test(features, data)
    train, held_out = source.split(pictures, test)
    (flickr,) = other.split(test)
    given = material(source, train, mc)
    full = (*AUGMENTED[:1], "mc", *AUGMENTED[1:]) if mc else AUGMENTED
    cells = [("image", fusion, augmented) for fusion in ("mlp", "linear") for augmented in (True, False)]
    cells += [(context, fusion, True) for context in CONTEXTS for fusion in FUSIONS]
    rows: list[dict[str, Any]] = []
    sizes = {"pictures": pictures, "test": test, "epochs": epochs, "batch": batch, "learning_rate": learning_rate}
    for context, fusion, augmented in dict.fromkeys(cells):
        config = Config(
            context=context, fusion=fusion, epochs=epochs, batch=batch, negatives=full if augmented else ("machine",),
            learning_rate=learning_rate, dropout=dropout,
        )  # fmt: skip
        worse = context == "image" and fusion != "bilinear"

        def score(task: LeceTask, model: Lece, worse: bool = worse) -> Scores:
            found = _capability(task, model, "coco", source, held_out)
            found |= _capability(task, model, "flickr8k", other, flickr)
            return found | (_robustness(task, model, source, held_out) if worse else {})

        name = f"{context}-{fusion}-{'augmented' if augmented else 'plain'}-{pictures}-{epochs}-{batch}"
        if only not in name or (cached and not is_done(work / "cells" / name)):
            continue
        found = cell(work / "cells" / name, lambda: LeceTask(config, Inputs(), given), score, threads)  # noqa: B023
        rows.append({"context": context, "fusion": fusion, "augmented": augmented, **_means(found)})
        result = {"sizes": sizes | {"dropout": dropout, "negatives": full}, "gammas": GAMMAS, "cells": rows}
        if not only:
            write_json(work / "grid.json", result)


def _capability(task: LeceTask, model: Lece, name: str, source: Source, images: Sequence[str]) -> Scores:
    """Mean scores, picture by picture, of its human and of its machine captions."""
    kinds: dict[str, Mapping[str, Sequence[str]]] = {"human": source.humans, "machine": source.machines}
    return {
        f"{name}_{kind}": mean_over_references(task, model, images, texts, source.humans)
        for kind, texts in kinds.items()
    }


def _robustness(task: LeceTask, model: Lece, source: Source, images: Sequence[str]) -> Scores:
    """Mean scores of human captions made worse, for each gamma."""
    human = [(i, text) for i, image in enumerate(images) for text in source.humans[image][:WORSE]]
    owner, texts = [i for i, _ in human], [text for _, text in human]
    words, vocabulary = tokenize(texts), list(task.vocabulary.spellings[4:])
    vectors = source.pool.vectors(list(images))
    found = {}
    for kind in MADE_WORSE:
        means = []
        for gamma in GAMMAS:
            random = np.random.default_rng(0)
            if kind == "rc":
                made = other_captions(texts, owner, vectors, gamma, random)
            elif kind == "wp":
                made = [" ".join(permuted(each, gamma, random)) for each in words]
            else:
                made = [" ".join(replaced(each, gamma, vocabulary, random)) for each in words]
            scores = human_probability(task, model, read(task, model, made), [images[i] for i in owner])
            means.append(scores.mean())
        found[f"worse_{kind}"] = np.array(means)
    return found


def _means(found: Mapping[str, Any]) -> dict[str, Any]:
    """Means of what was scored; of captions made worse the curve, normalised to 1 at gamma 0, and the area under it."""
    row: dict[str, Any] = {}
    for key, values in found.items():
        if key.startswith("worse_"):
            curve = np.asarray(values) / values[0]
            row[key] = {"curve": curve.round(4).tolist(), "r": round(float(np.trapezoid(curve, GAMMAS)), 4)}
        else:
            row[key] = round(float(np.mean(values)), 4)
    return row


if __name__ == "__main__":
    main()
