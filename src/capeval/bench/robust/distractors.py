"""How often metrics choose the correct caption, and not the distracted one (Hodosh and Hockenmaier 2016)."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.bench.pairs import Pairs
from capeval.bench.robust.choices import choices
from capeval.bench.robust.result import RobustnessResult
from capeval.bench.scoring import Metrics, Scorer
from capeval.io.files import PathLike
from capeval.perturb.captionset import Captions, references_of
from capeval.perturb.choices import TASKS
from capeval.perturb.distractors import distracted
from capeval.run import Run
from capeval.runtime.pictures import open_pictures
from capeval.scene.pipeline import default_parser
from capeval.types import Features


def distractors(
    references: Captions,
    metrics: Metrics = None,
    *,
    parser: str | None = None,
    seed: int = 0,
    sample: int | None = None,
    resamples: int = 1000,
    scores: Sequence[PathLike] = (),
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> RobustnessResult:
    """Builds the six tasks from captions and measures how often metrics choose the correct one."""
    run = run or Run()
    scorer = Scorer.of(metrics, scores, run, open_pictures(images, features, run))
    run.progress.step("parsing captions")
    chosen = parser or default_parser(run)
    run.progress.note(f"parser: {chosen}")
    pairs = Pairs.of_choices(distracted(references_of(references, sample, seed), seed=seed, parser=chosen, run=run))
    return choices("robust-distractors", pairs, scorer, {"parser": chosen}, order=TASKS, resamples=resamples, seed=seed)
