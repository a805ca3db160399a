"""Score curves over the strength of a transformation (Cui et al. 2018, figure 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Metrics, Scorer, ScoreTable
from capeval.errors import CapevalError, UnknownName
from capeval.io.files import PathLike
from capeval.perturb.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.perturb.degrees import GAMMAS, TRANSFORMS, worse_by_degrees
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.types import Features


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
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> RobustnessResult:
    """Scores of captions that get worse and worse, divided by the score of the untouched ones; R is the area below.

    Without candidates one reference of each image is held out. Gamma 0 and 1 are always among the gammas. With
    pictures (`images`) or their `features`, the neighbours of `rc` are images that look alike; without them, images
    whose references share words.
    """
    for name in transforms:
        if name not in TRANSFORMS:
            raise UnknownName("transformation", name, TRANSFORMS)
    wanted = list(dict.fromkeys(transforms))
    steps = sorted({0.0, 1.0, *map(float, gammas)})
    if any(not 0 <= gamma <= 1 for gamma in steps):
        raise CapevalError(f"gammas must be from 0 to 1, not {', '.join(map(str, steps))}")
    run = run or Run()
    scorer = Scorer.of(metrics, scores, run, open_pictures(images, features, run))
    run.progress.step("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, run=run)
    changed = worse_by_degrees(base, wanted, steps, scorer.pictures, seed=seed, run=run)
    versions = Versions(base, {f"{name}@{gamma:g}": texts for (name, gamma), texts in changed.items()})
    found = scorer.score(versions.dataset)
    data: dict[str, Any] = {
        "kind": "robust-curves",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "neighbours": "references" if scorer.pictures is None else "pictures",
        "transforms": {name: TRANSFORMS[name] for name in wanted},
        "gammas": steps,
        "metrics": _measured(versions, found, wanted, steps, run),
    }
    return RobustnessResult(data, versions.dataset, versions.tags())


def _measured(
    versions: Versions, found: ScoreTable, transforms: Sequence[str], gammas: Sequence[float], run: Run
) -> list[dict[str, Any]]:
    by_version = {name: found.of_rows(places) for name, places in versions.places.items()}
    rows = []
    for metric, signature in found.signatures.items():
        untouched = by_version[UNTOUCHED][metric]
        if not untouched > 0:
            run.progress.note(f"{metric} gives the untouched captions {untouched:g}: its curves cannot be normalised.")
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
