"""How often metrics prefer a similar word to a wrong one, for objects, actions and properties (Jiang et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.bench.pairs import Pairs
from capeval.bench.robust.choices import choices
from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Metrics, Scorer
from capeval.io.files import PathLike
from capeval.perturb.captionset import Captions, caption_set
from capeval.perturb.components import COMPONENTS, PROPERTIES, changed_words
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.scene.pipeline import default_parser
from capeval.types import Features


def components(
    references: Captions,
    metrics: Metrics = None,
    *,
    candidates: Captions | None = None,
    parser: str | None = None,
    seed: int = 0,
    sample: int | None = None,
    resamples: int = 1000,
    scores: Sequence[PathLike] = (),
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> RobustnessResult:
    """How often metrics prefer a caption with a similar word to one with a wrong word in the same place.

    Without candidates one reference of each image is held out.
    """
    run = run or Run()
    scorer = Scorer.of(metrics, scores, run, open_pictures(images, features, run))
    base = caption_set(candidates, references, seed=seed, sample=sample, run=run)
    run.progress.step("parsing captions")
    chosen = parser or default_parser(run)
    run.progress.note(f"parser: {chosen}")
    pairs = Pairs.of_choices(changed_words(base, seed=seed, parser=chosen, run=run))
    facts = {"from": "references" if candidates is None else "candidates", "parser": chosen, "components": COMPONENTS}
    within = dict.fromkeys(PROPERTIES, "property")
    return choices(
        "robust-components", pairs, scorer, facts, order=COMPONENTS, resamples=resamples, seed=seed, within=within
    )
