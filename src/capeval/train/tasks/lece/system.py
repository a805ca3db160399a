"""Scoring captioning systems as Cui et al. 2018 do (their section 3.5): a critique is trained for each system.

The captions of a system are split into two folds by picture. A critique learns to tell those of one fold from human
captions and scores the other; then the folds change places. A system's score is the mean over its captions. It is
repeated with several seeds, each with its own folds and first weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from capeval.errors import DataError
from capeval.models.lece import Lece
from capeval.run import Progress, Run
from capeval.train.captions import Texts
from capeval.train.config import config_to_dict
from capeval.train.pictures import PictureVectors
from capeval.train.task import Inputs
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.material import Material
from capeval.train.tasks.lece.scoring import Scores, mean_over_references, trained_scores
from capeval.train.tasks.lece.task import LeceTask
from capeval.types import Array, Dataset

_SMALLEST = 4  # pictures: two for each fold, since captions of other pictures are needed


@dataclass(frozen=True)
class SystemScore:
    """One system's result: a number for each seed."""

    system: str
    scores: tuple[float, ...]
    human: tuple[float, ...]
    """Mean scores that the same critiques give to the human captions they were not trained on."""

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float:
        """Standard deviation over the seeds; 0 with one seed."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0


def score_systems(
    dataset: Dataset,
    vectors: PictureVectors | None,
    config: Config,
    seeds: Sequence[int],
    work: Path,
    *,
    run: Run | None = None,
) -> list[SystemScore]:
    """`score_system` for each system of a data set; all are checked before hours of training."""
    systems: dict[str, dict[str, str]] = {}
    for sample in dataset:
        own = systems.setdefault(sample.system, {})
        if sample.image in own:
            raise DataError(f"two captions of {sample.system or 'the system'} for one image.", ids=[sample.image])
        own[sample.image] = sample.candidate
    humans = {sample.image: sample.references for sample in dataset}
    for system, own in systems.items():
        check_system(system, own, humans)
    return [score_system(system, own, humans, vectors, config, seeds, work, run=run) for system, own in systems.items()]


def score_system(
    system: str,
    candidates: Mapping[str, str],
    humans: Texts,
    vectors: PictureVectors | None,
    config: Config,
    seeds: Sequence[int],
    work: Path,
    *,
    run: Run | None = None,
) -> SystemScore:
    """The two-fold protocol for one system: a caption for each picture, and the human captions of these pictures.

    Whatever was trained stays in `work`, so that the same call goes on where it was interrupted.
    """
    check_system(system, candidates, humans)
    run = run or Run(threads=1)
    quiet = replace(run, progress=_WithoutNotes(run.progress))
    images = sorted(candidates)
    texts = {image: [candidates[image]] for image in images}
    means, people = [], []
    for count, seed in enumerate(seeds, 1):
        order = np.random.default_rng([seed, len(images)]).permutation(len(images))
        folds = [[images[i] for i in np.sort(half)] for half in np.array_split(order, 2)]
        found: dict[str, list[Array]] = {"machine": [], "human": []}
        for number, (learn, judge) in enumerate((folds, folds[::-1])):
            which = f" for {system}" if system else ""
            run.progress.step(f"training a critique{which}, seed {count} of {len(seeds)}, fold {number + 1} of 2")
            # Nothing is validated: the fold that is judged must not choose the epoch.
            material = Material(learn, (), humans, texts, vectors=vectors)
            task = LeceTask(replace(config, seed=seed), Inputs(), material)
            cell = work / f"{_digest(task, candidates, humans)}-{seed}-{number}"
            for name, values in trained_scores(task, cell, partial(_scores, judge), quiet).items():
                found[name].append(values)
        means.append(float(np.concatenate(found["machine"]).mean()))
        people.append(float(np.concatenate(found["human"]).mean()))
    return SystemScore(system, tuple(means), tuple(people))


def check_system(system: str, candidates: Mapping[str, str], humans: Mapping[str, Sequence[str]]) -> None:
    """What would make `score_system` fail."""
    images = sorted(candidates)
    few = [image for image in images if len(humans.get(image, ())) < 2]
    if few:
        raise DataError("pictures with fewer than two human captions; a pair of them is needed.", ids=few)
    if len(images) < _SMALLEST:
        raise DataError(f"{system or 'the system'} has captions of {len(images)} pictures; {_SMALLEST} are needed")


def _scores(images: Sequence[str], task: LeceTask, model: Lece) -> Scores:
    humans, machines = task.material.humans, task.material.machines
    return {
        "machine": mean_over_references(task, model, images, machines, humans),
        "human": mean_over_references(task, model, images, humans, humans),
    }


class _WithoutNotes(Progress):
    """Bars of somebody else's; a line for each epoch of so many trainings would be too much."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        with self._shown.bar(what, total, unit) as show:
            yield show


def _digest(task: LeceTask, candidates: Mapping[str, str], humans: Texts) -> str:
    """Names all that decides the scores, so that other captions never meet what is left of these."""
    state = hashlib.sha256(repr(sorted(config_to_dict(replace(task.config, seed=0)).items())).encode())
    for image, text in sorted(candidates.items()):
        state.update(repr((image, text, tuple(humans[image]))).encode())
    if task.pictures is not None:
        state.update(task.pictures.vectors(sorted(candidates)).tobytes())
    return state.hexdigest()[:16]
