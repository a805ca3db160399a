"""Whether `unified` tells a picture's own captions from those of pictures like it, and these from those of any other.

    python tools/studies/unified_unjudged.py --features flickr8k.features [--checkpoint FOLDER]... [--source coco]

Nobody has judged these captions, so any picture will do that no benchmark has: part C of Crisscrossed Captions, by
which settings are chosen, is of COCO alone, and what is lost on other people's captions does not show there. All
pictures' captions are compared with each other, as the correlations of benchmarks do. Pictures are like each other by
DINOv2's vectors, which `sight` and `tiger` see too: the areas do not tell how much these should count beside the rest.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from capeval.evaluate import evaluate
from capeval.io.features import open_features
from capeval.run import Run
from capeval.train.data import captions
from capeval.train.pictures import Pool
from capeval.train.tasks.uice_syn.task import area
from capeval.types import Dataset, Sample

_OWN, _NEAR, _ANY = "own", "near", "any"
_NEIGHBOURS = (0, 2, 5)
"""Captions of the nearest picture, of the third and of the sixth."""


def rows(source: str, features: Path, most: int) -> tuple[Dataset, list[str]]:
    """Captions beside pictures, the others' captions as references, and what each caption is."""
    pool, texts, random = Pool((features,)), captions(source, "val"), np.random.default_rng(0)
    images = [image for image in sorted(texts) if image in pool and len(texts[image]) >= 5]
    images = [images[place] for place in random.permutation(len(images))[:most].tolist()]
    vectors = pool.vectors(images)
    vectors = vectors - vectors.mean(0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    near = np.argsort(-alike, axis=1)[:, _NEIGHBOURS].tolist()
    samples: list[Sample] = []
    kinds: list[str] = []
    for number, image in enumerate(images):
        one = int(random.integers(5))
        references = tuple(text for place, text in enumerate(texts[image][:5]) if place != one)
        shown = [(_OWN, texts[image][one])]
        shown += [(_NEAR, texts[images[other]][int(random.integers(5))]) for other in near[number]]
        other = int(random.integers(len(images)))
        if other != number:
            shown.append((_ANY, texts[images[other]][int(random.integers(5))]))
        for kind, text in shown:
            samples.append(Sample(str(len(samples)), image, text, references))
            kinds.append(kind)
    dataset = Dataset.from_samples(samples)
    dataset.features = open_features(features)
    return dataset, kinds


@click.command(help=__doc__)
@click.option("--features", required=True, type=Path, metavar="FILE", help="Of the validation pictures, with regions.")
@click.option("--source", default="flickr8k", show_default=True, help="Data set of the captions.")
@click.option(
    "--checkpoint", "checkpoints", multiple=True, metavar="FOLDER", help="A fit beside the one that is shipped."
)
@click.option("--most", default=1000, show_default=True, help="Pictures.")
@click.option("--threads", default=2, show_default=True)
def main(features: Path, source: str, checkpoints: tuple[str, ...], most: int, threads: int) -> None:
    dataset, named = rows(source, features, most)
    kinds = np.array(named)
    print("| metric | own above near | near above any |\n| --- | ---: | ---: |")
    for checkpoint in ("", *checkpoints):
        for inputs in ("", "pictures=none"):
            given = ", ".join(filter(None, [f"checkpoint='{checkpoint}'" if checkpoint else "", inputs]))
            name = f"unified({given})" if given else "unified"
            (found,) = evaluate(dataset, [name], Run(threads=threads)).per_caption.values()
            own, near, other = (np.array(found)[kinds == kind] for kind in (_OWN, _NEAR, _ANY))
            print(f"| `{name}` | {area(own, near):.4f} | {area(near, other):.4f} |", flush=True)


if __name__ == "__main__":
    main()
