"""Scoring with a critique that has just been trained, in torch: what is scored once and thrown away is not exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from capeval.io.files import writing
from capeval.models.lece import Lece
from capeval.run import Run
from capeval.train.captions import Texts
from capeval.train.checkpoint import BEST, LAST
from capeval.train.loop import fit, torch_settings
from capeval.train.tasks.lece.task import LeceTask
from capeval.types import Array

Scores = dict[str, Array]

SCORES = "scores.npz"
_BLOCK = 500  # captions at once


def trained_scores(
    task: LeceTask, folder: Path, score: Callable[[LeceTask, Lece], Scores], run: Run | None = None
) -> Scores:
    """Trains and scores, or goes on where a former call was interrupted; only the scores are kept."""
    run = run or Run(threads=1)
    if not (folder / SCORES).is_file():
        model, _ = fit(task, folder, resume=True, device="cpu", run=run)
        with torch_settings(run.threads), torch.no_grad():
            found = score(task, model)
        with writing(folder / SCORES) as stream:
            np.savez(stream, **found)  # type: ignore[arg-type]
    for left in (BEST, LAST):
        (folder / left).unlink(missing_ok=True)
    return read_scores(folder)


def read_scores(folder: Path) -> Scores:
    with np.load(folder / SCORES, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def read(task: LeceTask, model: Lece, texts: Sequence[str]) -> Tensor:
    """Encoded captions."""
    tokens, lengths = (torch.from_numpy(each) for each in task.vocabulary.encode_texts(texts, task.config.words))
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(texts), _BLOCK)]
    return torch.cat([model.encode(tokens[block], lengths[block]) for block in blocks])


def human_probability(
    task: LeceTask, model: Lece, captions: Tensor, images: Sequence[str], references: Tensor | None = None
) -> Array:
    """Scores of encoded captions by their pictures and encoded references, as far as the model has them."""
    found = []
    for start in range(0, len(captions), _BLOCK):
        block = slice(start, start + _BLOCK)
        vectors = None if task.pictures is None else torch.from_numpy(task.pictures.vectors(list(images[block])))
        context = model.context(vectors, None if references is None else references[block])
        found.append(torch.softmax(model.judge(context, captions[block]).double(), dim=1)[:, 1].numpy())
    return np.concatenate([np.empty(0), *found])


def mean_over_references(task: LeceTask, model: Lece, images: Sequence[str], texts: Texts, humans: Texts) -> Array:
    """For each image the mean score of its captions in `texts`.

    Where references, of `humans`, are the context, a caption's score is the mean over those that are not the caption
    itself.
    """
    known = [(i, image, text) for i, image in enumerate(images) for text in texts[image]]
    references = None
    if task.config.context != "image":
        shown = [
            (pair, other)
            for pair in known
            for other in [text for text in humans[pair[1]] if text != pair[2]] or humans[pair[1]]
        ]
        known = [pair for pair, _ in shown]
        references = _read_once(task, model, [other for _, other in shown])
    captions = _read_once(task, model, [text for _, _, text in known])
    scores = human_probability(task, model, captions, [image for _, image, _ in known], references)
    lengths = task.vocabulary.encode_texts([text for _, _, text in known], task.config.words)[1]
    scores[lengths <= 1] = 0.0  # nothing but <eos>: a caption without words says nothing
    place = np.array([i for i, _, _ in known])
    return np.asarray(np.bincount(place, scores, len(images)) / np.bincount(place, minlength=len(images)))


def _read_once(task: LeceTask, model: Lece, texts: Sequence[str]) -> Tensor:
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return read(task, model, list(number))[[number[text] for text in texts]]
