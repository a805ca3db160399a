"""Score curves over the strength of a transformation (Cui et al. 2018, figure 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from capeval.api import open_pictures
from capeval.errors import CapevalError, UnknownName
from capeval.io.files import PathLike
from capeval.robust.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.robust.outcome import Outcome
from capeval.robust.scoring import Metrics, Scorer, Scores
from capeval.text.tokenize import tokenize
from capeval.text.transforms import Floats, other_captions, permuted, replaced, text_features
from capeval.types import Dataset, Pictures

TRANSFORMS = {
    "rc": "the caption of another image among the share gamma of the nearest",
    "wp": "a share gamma of the words, at least two, permuted",
    "rw": "a share gamma of the words, at least two, replaced by random ones",
}
GAMMAS = tuple(step / 10 for step in range(11))


def curves(
    references: Captions,
    metrics: Metrics = None,
    *,
    candidates: Captions | None = None,
    transforms: Sequence[str] = tuple(TRANSFORMS),
    gammas: Iterable[float] = GAMMAS,
    seed: int = 0,
    sample: int | None = None,
    scores: Sequence[PathLike] = (),
    images: PathLike | None = None,
    features: PathLike | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
    note: Callable[[str], None] = lambda message: None,
) -> Outcome:
    """Scores of captions that get worse and worse, divided by the score of the untouched ones; R is the area below.

    Without candidates one reference of each image is held out. Gamma 0 and 1 are always among the gammas. With
    pictures (`images`) or their `features`, the neighbours of `rc` are images that look alike; without them, images
    whose references share words.
    """
    for name in transforms:
        if name not in TRANSFORMS:
            raise UnknownName("transformation", name, TRANSFORMS)
    steps = sorted({0.0, 1.0, *map(float, gammas)})
    if any(not 0 <= gamma <= 1 for gamma in steps):
        raise CapevalError(f"gammas must be from 0 to 1, not {', '.join(map(str, steps))}")
    scorer = Scorer(metrics, scores, threads, progress, note, open_pictures(images, features, threads))
    scorer.check()
    progress("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, note=note)
    changed = _changed(base, list(dict.fromkeys(transforms)), steps, scorer.pictures, seed)
    versions = Versions(base, {f"{name}@{gamma:g}": texts for (name, gamma), texts in changed.items()})
    found = scorer.score(versions.dataset)
    data: dict[str, Any] = {
        "kind": "robust-curves",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "neighbours": "references" if scorer.pictures is None else "pictures",
        "transforms": {name: TRANSFORMS[name] for name in dict.fromkeys(transforms)},
        "gammas": steps,
        "metrics": _measured(versions, found, list(dict.fromkeys(transforms)), steps, note),
    }
    return Outcome(data, versions.dataset, versions.tags())


def _changed(
    base: Dataset, transforms: Sequence[str], gammas: Sequence[float], pictures: Pictures | None, seed: int
) -> dict[tuple[str, float], list[str]]:
    """The captions by transformation and gamma. Each has a generator of its own: it does not depend on the others."""
    words = tokenize(base.candidates)
    listed: dict[tuple[str, float], list[str]] = {}
    number: dict[str, int] = {}
    image = [number.setdefault(name, len(number)) for name in base.images]
    tokens = [tokenize(references) for references in base.reference_sets] if {"rc", "rw"} & set(transforms) else []
    vocabulary = sorted({word for each in tokens for reference in each for word in reference})
    vectors = _vectors(base, list(number), tokens, pictures) if "rc" in transforms else None
    for name in transforms:
        for gamma in gammas:
            if gamma == 0:
                continue
            rng = np.random.default_rng([seed, list(TRANSFORMS).index(name), round(gamma * 1e6)])
            if vectors is not None and name == "rc":
                listed[name, gamma] = other_captions(base.candidates, image, vectors, gamma, rng)
            elif name == "wp":
                listed[name, gamma] = [" ".join(permuted(each, gamma, rng)) for each in words]
            else:
                listed[name, gamma] = [" ".join(replaced(each, gamma, vocabulary, rng)) for each in words]
    return listed


def _vectors(
    base: Dataset, images: Sequence[str], tokens: Sequence[Sequence[Sequence[str]]], pictures: Pictures | None
) -> Floats:
    if pictures is not None:
        return pictures.vectors(images)
    group = dict(zip(base.images, base.group.tolist()))
    return text_features([tokens[group[image]] for image in images])


def _measured(
    versions: Versions,
    found: Scores,
    transforms: Sequence[str],
    gammas: Sequence[float],
    note: Callable[[str], None],
) -> list[dict[str, Any]]:
    by_version = {name: found.of_rows(places) for name, places in versions.places.items()}
    rows = []
    for metric, signature in found.signatures.items():
        untouched = by_version[UNTOUCHED][metric]
        if not untouched > 0:
            note(f"{metric} gives the untouched captions {untouched:g}: its curves cannot be normalised.")
        curves_of: dict[str, Any] = {}
        for name in transforms:
            values = [untouched] + [by_version[f"{name}@{gamma:g}"][metric] for gamma in gammas[1:]]
            normalised = [value / untouched if untouched > 0 else float("nan") for value in values]
            curves_of[name] = {"scores": values, "normalised": normalised, "R": area(gammas, normalised)}
        rows.append({"metric": metric, "signature": signature, "untouched": untouched, "curves": curves_of})
    return rows


def area(gammas: Sequence[float], values: Sequence[float]) -> float:
    """The area below straight lines between the points."""
    points = pairwise(zip(gammas, values))
    return sum((right - left) * (low + high) / 2 for (left, low), (right, high) in points)
