"""Scoring captioning systems as Cui et al. 2018 do (their section 3.5): a critique is trained for each system.

The captions of a system are split into two folds by picture. A critique learns to tell those of one fold from human
captions and scores the other; then the folds change places. A system's score is the mean over its captions. It is
repeated with several seeds, each with its own folds and first weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from capeval.errors import DataError
from capeval.io.files import writing
from capeval.models.lece import Lece
from capeval.runtime.checkpoint import read_config_file
from capeval.train.checkpoint import BEST, LAST
from capeval.train.config import config_to_dict
from capeval.train.lece_config import Config
from capeval.train.lece_material import Material, PictureVectors
from capeval.train.loop import train
from capeval.train.task import Arrays, Batch, Inputs
from capeval.train.tasks.lece import LeceTask

Scores = dict[str, npt.NDArray[np.float64]]
Note = Callable[[str], None]

SCORES = "scores.npz"
_BLOCK = 500
_SMALLEST = 4  # pictures: two for each fold, since captions of other pictures are needed


class ScoringTask(LeceTask):
    """A critique that is trained a fixed number of epochs, scores some captions, and is not needed any more."""

    monitor = "epoch"

    def __init__(self, config: Config, material: Material, score: Callable[[ScoringTask, Lece], Scores]) -> None:
        super().__init__(config, Inputs(), material)
        self._score, self._epoch = score, 0

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        self._epoch = epoch
        return super().batches(epoch, random)

    def validate(self, model: Lece) -> dict[str, float]:
        return {"epoch": float(self._epoch)}

    def export(self, model: Lece, folder: Path) -> tuple[str, ...]:
        with writing(folder / SCORES) as stream:
            np.savez(stream, **self._score(self, model))  # type: ignore[arg-type]
        return (SCORES,)

    def assets(self) -> dict[str, bytes]:
        return {}

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        found = read_scores(folder)
        return {name: np.arange(len(values)) for name, values in found.items()}, dict(found)

    def read(self, model: Lece, texts: Sequence[str]) -> Tensor:
        """Encoded captions."""
        tokens, lengths = (torch.from_numpy(each) for each in self.vocabulary.encode_texts(texts, self.config.words))
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(texts), _BLOCK)]
        return torch.cat([model.encode(tokens[block], lengths[block]) for block in blocks])

    def human_probability(
        self, model: Lece, captions: Tensor, images: Sequence[str], references: Tensor | None = None
    ) -> npt.NDArray[np.float64]:
        """Scores of encoded captions by their pictures and encoded references, as far as the model has them."""
        found = []
        for start in range(0, len(captions), _BLOCK):
            block = slice(start, start + _BLOCK)
            pool = self.pictures
            vectors = None if pool is None else torch.from_numpy(pool.vectors(list(images[block])))
            context = model.context(vectors, None if references is None else references[block])
            found.append(torch.softmax(model.judge(context, captions[block]).double(), dim=1)[:, 1].numpy())
        return np.concatenate([np.empty(0), *found])

    def mean_over_references(
        self,
        model: Lece,
        images: Sequence[str],
        texts: Mapping[str, Sequence[str]],
        humans: Mapping[str, Sequence[str]],
    ) -> npt.NDArray[np.float64]:
        """For each image the mean score of its captions in `texts`.

        Where references, of `humans`, are the context, a caption's score is the mean over those that are not the
        caption itself.
        """
        known = [(i, image, text) for i, image in enumerate(images) for text in texts[image]]
        references = None
        if self.config.context != "image":
            shown = [
                (pair, other)
                for pair in known
                for other in [text for text in humans[pair[1]] if text != pair[2]] or humans[pair[1]]
            ]
            known = [pair for pair, _ in shown]
            references = self._read_once(model, [other for _, other in shown])
        read = self._read_once(model, [text for _, _, text in known])
        scores = self.human_probability(model, read, [image for _, image, _ in known], references)
        lengths = self.vocabulary.encode_texts([text for _, _, text in known], self.config.words)[1]
        scores[lengths <= 1] = 0.0  # nothing but <eos>: a caption without words says nothing
        place = np.array([i for i, _, _ in known])
        return np.asarray(np.bincount(place, scores, len(images)) / np.bincount(place, minlength=len(images)))

    def _read_once(self, model: Lece, texts: Sequence[str]) -> Tensor:
        number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return self.read(model, list(number))[[number[text] for text in texts]]


def trained_scores(task: ScoringTask, folder: Path, threads: int = 1, note: Note = lambda text: None) -> Scores:
    """Trains and scores, or goes on where a former run was interrupted; only the scores are kept."""
    if not (folder / SCORES).is_file() or "files" not in read_config_file(folder):
        train(task, folder, resume=True, threads=threads, device="cpu", note=note)
    for left in (BEST, LAST):
        (folder / left).unlink(missing_ok=True)
    return read_scores(folder)


def read_scores(folder: Path) -> Scores:
    with np.load(folder / SCORES, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


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


def score_system(
    system: str,
    candidates: Mapping[str, str],
    humans: Mapping[str, Sequence[str]],
    vectors: PictureVectors | None,
    config: Config,
    seeds: Sequence[int],
    work: Path,
    *,
    threads: int = 1,
    tell: Callable[[int, int], None] = lambda seed, fold: None,
) -> SystemScore:
    """The two-fold protocol for one system: a caption for each picture, and the human captions of these pictures.

    Whatever was trained stays in `work`, so that the same call goes on where it was interrupted.
    """
    check_system(system, candidates, humans)
    images = sorted(candidates)
    texts = {image: [candidates[image]] for image in images}
    means, people = [], []
    for seed in seeds:
        order = np.random.default_rng([seed, len(images)]).permutation(len(images))
        folds = [[images[i] for i in np.sort(half)] for half in np.array_split(order, 2)]
        found: dict[str, list[npt.NDArray[np.float64]]] = {"machine": [], "human": []}
        for number, (learn, judge) in enumerate((folds, folds[::-1])):
            tell(seed, number)
            material = Material(learn, judge, humans, texts, {}, vectors=vectors)
            task = ScoringTask(replace(config, seed=seed), material, _held_out)
            cell = _digest(task, candidates, humans)
            for name, values in trained_scores(task, work / f"{cell}-{seed}-{number}", threads).items():
                found[name].append(values)
        means.append(float(np.concatenate(found["machine"]).mean()))
        people.append(float(np.concatenate(found["human"]).mean()))
    return SystemScore(system, tuple(means), tuple(people))


def check_system(system: str, candidates: Mapping[str, str], humans: Mapping[str, Sequence[str]]) -> None:
    """What would make `score_system` fail; asked before hours of training."""
    images = sorted(candidates)
    few = [image for image in images if len(humans.get(image, ())) < 2]
    if few:
        raise DataError("pictures with fewer than two human captions; a pair of them is needed.", ids=few)
    if len(images) < _SMALLEST:
        raise DataError(f"{system or 'the system'} has captions of {len(images)} pictures; {_SMALLEST} are needed")


def _held_out(task: ScoringTask, model: Lece) -> Scores:
    images, humans = task.material.validation, task.material.humans
    return {
        "machine": task.mean_over_references(model, images, task.material.machines, humans),
        "human": task.mean_over_references(model, images, humans, humans),
    }


def _digest(task: ScoringTask, candidates: Mapping[str, str], humans: Mapping[str, Sequence[str]]) -> str:
    """Names all that decides the scores, so that other captions never meet what is left of these."""
    state = hashlib.sha256(repr(sorted(config_to_dict(replace(task.config, seed=0)).items())).encode())
    for image, text in sorted(candidates.items()):
        state.update(repr((image, text, tuple(humans[image]))).encode())
    if task.pictures is not None:
        state.update(task.pictures.vectors(sorted(candidates)).tobytes())
    return state.hexdigest()[:16]
