"""Whether `unified` tells a picture's own captions from those of pictures like it, and these from those of any other.

    python tools/studies/unified_unjudged.py --features flickr8k.features [--checkpoint FOLDER]... [--source coco]

Nobody has judged these captions, so any picture will do that no benchmark has: part C of Crisscrossed Captions, by
which settings are chosen, is of COCO alone, and what is lost on other people's captions does not show there. All
pictures' captions are compared with each other, as the correlations of benchmarks do. Pictures are like each other in
what is seen, by DINOv2's vectors, or in what is said of them, by the words of their captions. What looks at pictures is
judged too well by the first and what reads too well by the second, so both must be looked at.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from capeval.evaluate import evaluate
from capeval.io.features import open_features
from capeval.perturb.transforms import text_features
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.train.data import captions
from capeval.train.pictures import Pool
from capeval.train.tasks.uice_syn.task import area
from capeval.types import Dataset, Floats, Sample

_OWN, _SEEN, _SAID, _ANY = "own", "seen", "said", "any"
_NEIGHBOURS = (0, 2, 5)
"""Captions of the nearest picture, of the third and of the sixth."""


def nearest(vectors: Floats) -> list[list[int]]:
    """For each picture some of those that are like it."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    found: list[list[int]] = np.argsort(-alike, axis=1)[:, _NEIGHBOURS].tolist()
    return found


def rows(source: str, features: Path, most: int, run: Run) -> tuple[Dataset, list[str]]:
    """Captions beside pictures, the others' captions as references, and what each caption is."""
    pool, texts, random = Pool((features,)), captions(source, "val"), np.random.default_rng(0)
    images = [image for image in sorted(texts) if image in pool and len(texts[image]) >= 5]
    images = [images[place] for place in random.permutation(len(images))[:most].tolist()]
    vectors = pool.vectors(images)
    words = iter(tokenize([text for image in images for text in texts[image]], run))
    described = text_features([[next(words) for _ in texts[image]] for image in images])
    near = {_SEEN: nearest(vectors - vectors.mean(0)), _SAID: nearest(described)}
    samples: list[Sample] = []
    kinds: list[str] = []
    for number, image in enumerate(images):
        one = int(random.integers(5))
        references = tuple(text for place, text in enumerate(texts[image][:5]) if place != one)
        shown = [(kind, other) for kind, its in near.items() for other in its[number]]
        other = int(random.integers(len(images)))
        shown += [(_ANY, other)] if other != number else []
        given = [(kind, texts[images[other]][int(random.integers(5))]) for kind, other in shown]
        for kind, text in [(_OWN, texts[image][one]), *given]:
            samples.append(Sample(str(len(samples)), image, text, references))
            kinds.append(kind)
    dataset = Dataset.from_samples(samples)
    dataset.features = open_features(features)
    return dataset, kinds


@click.command(help=__doc__)
@click.option("--features", required=True, type=Path, metavar="FILE", help="Of the validation pictures, with regions.")
@click.option("--source", default="flickr8k", show_default=True, help="Data set of the captions.")
@click.option("--checkpoint", "checkpoints", multiple=True, metavar="FOLDER", help="A fit beside the shipped one.")
@click.option("--most", default=1000, show_default=True, help="Pictures.")
@click.option("--threads", default=2, show_default=True)
def main(features: Path, source: str, checkpoints: tuple[str, ...], most: int, threads: int) -> None:
    run = Run(threads=threads)
    dataset, named = rows(source, features, most, run)
    kinds = np.array(named)
    print("| | own above like in what is seen | that above any | own above like in what is said | that above any |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for checkpoint in ("", *checkpoints):
        for inputs in ("", "pictures=none"):
            given = ", ".join(filter(None, [f"checkpoint='{checkpoint}'" if checkpoint else "", inputs]))
            name = f"unified({given})" if given else "unified"
            (found,) = (np.array(each) for each in evaluate(dataset, [name], run).per_caption.values())
            own, other = found[kinds == _OWN], found[kinds == _ANY]
            areas = [(area(own, near), area(near, other)) for near in (found[kinds == _SEEN], found[kinds == _SAID])]
            print(f"| `{name}` | " + " | ".join(f"{each:.4f}" for pair in areas for each in pair) + " |", flush=True)


if __name__ == "__main__":
    main()
