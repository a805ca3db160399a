"""Training words to be found in pictures: by contrast, by wrong words, and by what people have judged."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.models.sight_words import SightWords, SightWordsShape, Words, fits_of_all, fits_of_pairs
from capeval.train.task import Batch
from capeval.train.tasks.meaning.task import ordered
from capeval.train.tasks.scan.task import recalls
from capeval.train.tasks.sight.material import SHARPEST, Axes, PicturesAndCaptions, blocks
from capeval.train.tasks.sight.task import in_proportion, nearest
from capeval.train.tasks.uice_sem.task import contrast
from capeval.types import Longs


class SightWordsTask(PicturesAndCaptions[SightWords]):
    name: ClassVar[str] = "sight-words"

    def build(self) -> SightWords:
        width = self.states.values.shape[1]
        shape = SightWordsShape(self.pool.dim, self.pool.region_dim, width, width=self.config.width)
        return SightWords(shape, self.config.dropout)

    def loss(self, model: SightWords, batch: Batch) -> Tensor:
        config = self.config
        has_wrong, scores = batch["has_wrong"], batch["scores"]
        # All pairs of words and regions are many: cosines too have 16 bits.
        with torch.autocast(scores.device.type, torch.bfloat16, enabled=config.bfloat16):
            seen = model.look(batch["vectors"], batch["regions"])
            read = model.telling_words(batch["states"], batch["lengths"])
            count = len(seen) - len(scores)
            own, wrong, said = (Words(*each) for each in zip(*_split(read, [count, len(has_wrong), len(scores)])))
            pictures, judged_pictures = seen.split([count, len(scores)])
            fits = fits_of_all(pictures, own)
            false = fits_of_pairs(pictures[has_wrong], wrong)
            judged_fits = fits_of_pairs(judged_pictures, said)
        sharp = model.sharpness.exp().clamp(max=SHARPEST)
        alike = batch["alike"]
        total = contrast(fits * sharp)
        total = total + config.alike * (nearest(fits * sharp, alike / config.softness) + in_proportion(fits, alike))
        if len(has_wrong):
            total = total + config.wrong * F.softplus((false - fits.diagonal()[has_wrong]) * sharp).mean()
        if len(scores):
            human = F.binary_cross_entropy_with_logits(model.logits(judged_fits), scores)
            total = total + config.human * (human + ordered(judged_fits, scores) / 4)
        return total

    def validate(self, model: SightWords) -> dict[str, float]:
        """The right picture found, exchanged words heard, and rank correlation with people."""
        own, changed, said = (self._read_all(model, rows) for rows in (self._there, self._changed, self._said_there))
        seen = self._see_all(model, self._begin_there + np.arange(len(self.held_out)))
        fits = fits_of_all(seen, own).numpy()
        found = recalls(fits, np.arange(len(fits)))
        wrong = fits_of_pairs(seen, changed).numpy()
        images, numbers = np.unique(self._judged_there, return_inverse=True)
        judged_pictures = self._see_all(model, self._begin_judged + images)
        judged_fits = fits_of_pairs(judged_pictures[numbers], said).double().numpy()
        tau = correlations(self._scores_there.astype(np.float64), judged_fits)["kendall_b"].value
        return {
            "chosen": found["recall"] / 3 + tau,
            **found,
            "exchanged": float((fits.diagonal() > wrong).mean()),
            "sits": tau,
        }

    def _read_all(self, model: SightWords, rows: Longs) -> Words:
        read = [model.telling_words(*self.states.padded(part)) for part in blocks(rows)]
        most = max(each.shares.shape[1] for each in read)
        padded = [(most - each.shares.shape[1], each) for each in read]
        return Words(
            torch.cat([F.pad(each.vectors, (0, 0, 0, more)) for more, each in padded]),
            torch.cat([F.pad(each.shares, (0, more)) for more, each in padded]),
        )

    def export(self, model: SightWords, folder: Path) -> tuple[str, ...]:
        words: Axes = {"words": {1: "pieces"}, "telling": {1: "pieces"}}
        return self._export(model, folder, words, {"seen": {1: "places"}})


def _split(words: Words, sizes: list[int]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    return words.vectors.split(sizes), words.shares.split(sizes)
