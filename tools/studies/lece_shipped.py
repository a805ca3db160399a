"""What the shipped critiques make of human, machine and damaged captions of pictures they have never seen.

COCO pictures of the Karpathy test split with the captions of nine systems, Flickr8k test pictures with those of twelve.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from lece_common import Source, flickr8k_test, write_json
from lece_grid import GAMMAS, MADE_WORSE

from capeval.evaluate import evaluate
from capeval.io.features import open_features
from capeval.perturb.transforms import other_captions, permuted, replaced
from capeval.text.tokenize import tokenize
from capeval.train.data import captions, machine_captions
from capeval.train.pictures import Pool
from capeval.types import Dataset, Sample

NOT_AUGMENTED = "lece, not augmented"
METRICS = ("lece", "lece(negatives=rc)", "lece(context=reference)")


@click.command(help=__doc__)
@click.option("--coco", "coco_file", required=True, metavar="FILE", help="Features of Karpathy test pictures.")
@click.option("--flickr8k", "flickr_file", required=True, metavar="FILE", help="Features of Flickr8k pictures.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Where the result goes.")
@click.option("--pictures", default=300, show_default=True, help="Of each set.")
@click.option("--plain", metavar="FOLDER", help="A critique trained with machine captions alone, to compare with.")
def main(coco_file: str, flickr_file: str, data: str | None, work: Path, pictures: int, plain: str | None) -> None:
    systems = machine_captions("coco_val2014", data, "test")
    pool = Pool([coco_file])
    everywhere = set.intersection(*(set(each) for each in systems.values()))
    humans = {k: v for k, v in captions("coco", "test", data).items() if k in everywhere and k in pool}
    sets = {"coco": (Source(pool, humans, systems), coco_file)}
    sets["flickr8k"] = (flickr8k_test((flickr_file,), data), flickr_file)
    result: dict[str, Any] = {"pictures": pictures, "gammas": GAMMAS, "critiques": {}}
    expressions = {metric: metric for metric in METRICS}
    if plain:
        expressions[NOT_AUGMENTED] = f"lece(checkpoint={plain})"
    for label, metric in expressions.items():
        row: dict[str, Any] = {}
        for name, (source, file) in sets.items():
            (images,) = source.split(pictures)
            for kind, texts in (("human", source.humans), ("machine", source.machines)):
                every = [(image, text) for image in images for text in texts[image]]
                row[f"{name}_{kind}"] = _mean(metric, source, file, every)
        source, file = sets["coco"]
        (images,) = source.split(pictures)
        for kind in MADE_WORSE:
            means = [_mean(metric, source, file, _worse(source, images, kind, gamma)) for gamma in GAMMAS]
            curve = np.array(means) / means[0]
            area = round(float(np.trapezoid(curve, GAMMAS)), 4)
            row[f"worse_{kind}"] = {"curve": curve.round(4).tolist(), "r": area}
        result["critiques"][label] = row
        write_json(work / "shipped.json", result)


def _mean(metric: str, source: Source, file: str, pairs: Sequence[tuple[str, str]]) -> float:
    """The mean score of captions; the references of a caption are the others of its picture."""
    rows = [
        Sample(str(i), image, text, tuple(each for each in source.humans[image] if each != text))
        for i, (image, text) in enumerate(pairs)
    ]
    dataset = Dataset.from_samples(rows)
    dataset.features = open_features(file)
    return evaluate(dataset, [metric]).scores[metric]


def _worse(source: Source, images: Sequence[str], kind: str, gamma: float) -> list[tuple[str, str]]:
    """The first human caption of each image, made worse."""
    random = np.random.default_rng(0)
    texts = [source.humans[image][0] for image in images]
    if kind == "rc":
        made = other_captions(texts, np.arange(len(texts)), source.pool.vectors(list(images)), gamma, random)
    else:
        words = tokenize(texts)
        vocabulary = sorted({word for each in words for word in each})
        change = {
            "wp": lambda each: permuted(each, gamma, random),
            "rw": lambda each: replaced(each, gamma, vocabulary, random),
        }[kind]
        made = [" ".join(change(each)) if gamma else text for text, each in zip(texts, words)]
    return list(zip(images, made))


if __name__ == "__main__":
    main()
