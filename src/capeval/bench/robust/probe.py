"""How much scores change when captions say the same in other words (Kilickaya et al. 2017, table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Metrics, Scorer
from capeval.io.files import PathLike
from capeval.perturb.captionset import UNTOUCHED, Captions, Versions, caption_set
from capeval.perturb.rewording import REWORDINGS, reworded
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.types import Features

_SHOWN = 5


def probe(
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
    """How much scores change when captions say the same in another way.

    A version leaves captions out that it cannot change; its score is compared with that of the same captions
    untouched. Without candidates one reference of each image is held out.
    """
    run = run or Run()
    scorer = Scorer.of(metrics, scores, run, open_pictures(images, features, run))
    run.progress.step("changing captions")
    base = caption_set(candidates, references, seed=seed, sample=sample, run=run)
    changed = reworded(base.candidates, seed=seed, run=run)
    versions = Versions(base, changed)
    found = scorer.score(versions.dataset)
    by_version = {name: found.of_rows(places) for name, places in versions.places.items()}
    before = {name: found.of_rows(rows) for name, rows in versions.rows.items()}
    data: dict[str, Any] = {
        "kind": "robust-probe",
        "captions": len(base),
        "images": len(set(base.images)),
        "from": "references" if candidates is None else "candidates",
        "seed": seed,
        "versions": REWORDINGS,
        "changed": {name: len(versions.rows[name]) for name in changed},
        "metrics": [
            {
                "metric": metric,
                "signature": signature,
                "untouched": by_version[UNTOUCHED][metric],
                "versions": {name: _change(before[name][metric], by_version[name][metric]) for name in changed},
            }
            for metric, signature in found.signatures.items()
        ],
        "examples": [
            {"id": base.ids[row], UNTOUCHED: base.candidates[row], **{name: changed[name][row] for name in changed}}
            for row in range(min(_SHOWN, len(base)))
        ],
    }
    return RobustnessResult(data, versions.dataset, versions.tags())


def _change(before: float, after: float) -> dict[str, float]:
    return {
        "untouched": before,
        "score": after,
        "change": after - before,
        "relative": after / before if before > 0 else float("nan"),
    }
