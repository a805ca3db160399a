"""How far metrics fall for captions that no person would take for better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Metrics, Scorer, ScoreTable
from capeval.io.files import PathLike
from capeval.perturb.attacks import ATTACKS, attacked
from capeval.perturb.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.types import Features


def attacks(
    references: Captions,
    metrics: Metrics = None,
    *,
    candidates: Captions | None = None,
    seed: int = 0,
    sample: int | None = None,
    scores: Sequence[PathLike] = (),
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> RobustnessResult:
    """Scores of repeated, padded, cut, off-topic and empty captions, divided by the score of the untouched ones.

    `not_lower` is the percentage of captions that score as much as before, or more. Without candidates one reference
    of each image is held out.
    """
    run = run or Run()
    scorer = Scorer.of(metrics, scores, run, open_pictures(images, features, run))
    run.progress.step("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, run=run)
    versions = Versions(base, attacked(base, seed=seed, run=run))
    found = scorer.score(versions.dataset)
    data = {
        "kind": "robust-attacks",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "attacks": ATTACKS,
        "metrics": [
            {
                "metric": metric,
                "signature": signature,
                "untouched": found.of_rows(versions.places[UNTOUCHED])[metric],
                "attacks": _measured(versions, found, metric),
            }
            for metric, signature in found.signatures.items()
        ],
    }
    return RobustnessResult(data, versions.dataset, versions.tags())


def _measured(versions: Versions, found: ScoreTable, metric: str) -> dict[str, Any]:
    values = found.per_caption[metric]
    measured = {}
    for name in versions.changed:
        rows, places = versions.rows[name], versions.places[name]
        before = found.of_rows(versions.places[UNTOUCHED][rows])[metric]
        after = found.of_rows(places)[metric]
        gap = values[places] - values[versions.places[UNTOUCHED][rows]]
        gap = gap[np.isfinite(gap)]
        measured[name] = {
            "score": after,
            "relative": after / before if before > 0 else float("nan"),
            "not_lower": 100 * float((gap >= 0).mean()) if len(gap) else float("nan"),
        }
    return measured
