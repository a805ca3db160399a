"""Captions made worse by degrees, of all images of a data set (Cui et al. 2018, figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.perturb.transforms import other_captions, permuted, replaced, text_features
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Features, Floats

TRANSFORMS = {
    "rc": "the caption of another image among the share gamma of the nearest",
    "wp": "a share gamma of the words, at least two, permuted",
    "rw": "a share gamma of the words, at least two, replaced by random ones",
}
GAMMAS = tuple(step / 10 for step in range(11))


def worse_by_degrees(
    base: Dataset,
    transforms: Sequence[str],
    gammas: Sequence[float],
    pictures: Features | None = None,
    *,
    seed: int = 0,
    run: Run | None = None,
) -> dict[tuple[str, float], list[str]]:
    """The captions by transformation and gamma. Each has a generator of its own: it does not depend on the others.

    With pictures, the neighbours of `rc` are images that look alike; without, images whose references share words.
    """
    words = tokenize(base.candidates, run)
    made: dict[tuple[str, float], list[str]] = {}
    number: dict[str, int] = {}
    image = [number.setdefault(name, len(number)) for name in base.images]
    tokens = [tokenize(references, run) for references in base.reference_sets] if {"rc", "rw"} & set(transforms) else []
    vocabulary = sorted({word for each in tokens for reference in each for word in reference})
    vectors = _vectors(base, list(number), tokens, pictures) if "rc" in transforms else None
    for name in transforms:
        for gamma in gammas:
            if gamma == 0:
                continue
            rng = np.random.default_rng([seed, list(TRANSFORMS).index(name), round(gamma * 1e6)])
            if vectors is not None and name == "rc":
                made[name, gamma] = other_captions(base.candidates, image, vectors, gamma, rng)
            elif name == "wp":
                made[name, gamma] = [" ".join(permuted(each, gamma, rng)) for each in words]
            else:
                made[name, gamma] = [" ".join(replaced(each, gamma, vocabulary, rng)) for each in words]
    return made


def _vectors(
    base: Dataset, images: Sequence[str], tokens: Sequence[Sequence[Sequence[str]]], pictures: Features | None
) -> Floats:
    if pictures is not None:
        return pictures.vectors(images)
    group = dict(zip(base.images, base.group.tolist()))
    return text_features([tokens[group[image]] for image in images])
