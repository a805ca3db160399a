"""Features of pictures that nobody took, for metrics that look at pictures."""

from __future__ import annotations

import json

import numpy as np

from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.io.shipped import shipped
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.runtime.sight import PictureNetwork
from capeval.types import Array, Dataset, Sample


def drawn(
    network: PictureNetwork,
    images: list[str],
    *,
    width: int | None = None,
    regions: int = 64,
    encoder: str | None = None,
) -> ArrayFeatures:
    """Such as the network can look at, but for what is asked otherwise."""
    random = np.random.default_rng(0)
    shown = {
        "vectors": random.standard_normal((len(images), width or network.picture_width)).astype(np.float32),
        "regions": random.standard_normal((len(images), regions, network.region_width)).astype(np.float32),
    }
    found = ArrayFeatures(__file__, images, shown)
    found.encoder = network.checkpoint.encoder if encoder is None else encoder
    return found


def fits_of_the_demo(metric: str) -> Array:
    """[pictures, pictures]: how well the captions that people wrote for one fit another, on average."""
    captions = json.loads(shipped("demo", "pictures_references.json").read_text("utf-8"))
    names = list(captions)
    samples = [
        Sample(f"{image}-{of}-{number}", image, text)
        for image in names
        for of in names
        for number, text in enumerate(captions[of])
    ]
    dataset = Dataset.from_samples(samples)
    dataset.features = open_pictures(shipped("demo", "pictures"), None, Run())
    scores = np.array(evaluate(dataset, [metric]).per_caption[metric])
    return np.asarray(scores.reshape(len(names), len(names), -1).mean(axis=2))
