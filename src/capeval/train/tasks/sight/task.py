"""Training pictures and captions into one space: by contrast, by wrong words, and by what people have judged."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.models.sight import Sight, SightShape
from capeval.train.task import Batch
from capeval.train.tasks.meaning.task import ordered
from capeval.train.tasks.scan.task import recalls
from capeval.train.tasks.sight.material import SHARPEST, PicturesAndCaptions, blocks
from capeval.train.tasks.uice_sem.task import contrast
from capeval.types import Longs


class SightTask(PicturesAndCaptions[Sight]):
    name: ClassVar[str] = "sight"

    def build(self) -> Sight:
        width = self.states.values.shape[1]
        shape = SightShape(self.pool.dim, self.pool.region_dim, width, width=self.config.width)
        return Sight(shape, self.config.dropout)

    def loss(self, model: Sight, batch: Batch) -> Tensor:
        config = self.config
        has_wrong, scores = batch["has_wrong"], batch["scores"]
        with torch.autocast(scores.device.type, torch.bfloat16, enabled=config.bfloat16):
            seen = model.look(batch["vectors"], batch["regions"]).float()
            read = model.read(batch["states"], batch["lengths"]).float()
        count = len(seen) - len(scores)
        own, wrong, said = read.split([count, len(has_wrong), len(scores)])
        pictures, judged_pictures = seen.split([count, len(scores)])
        sharp = model.sharpness.exp().clamp(max=SHARPEST)
        fits = pictures @ own.T
        alike = batch["alike"]
        total = contrast(fits * sharp)
        total = total + config.alike * (nearest(fits * sharp, alike / config.softness) + in_proportion(fits, alike))
        if len(wrong):
            right = fits.diagonal()[has_wrong]
            false = (pictures[has_wrong] * wrong).sum(-1)
            total = total + config.wrong * F.softplus((false - right) * sharp).mean()
        if len(said):
            cosines = (judged_pictures * said).sum(-1)
            human = F.binary_cross_entropy_with_logits(model.logits(cosines), scores)
            total = total + config.human * (human + ordered(cosines, scores) / 4)
        return total

    def validate(self, model: Sight) -> dict[str, float]:
        """The right picture found, exchanged words heard, and rank correlation with people."""
        read = self._read_all(model, np.concatenate([self._there, self._changed, self._said_there]))
        own, changed, said = read.split([len(self._there), len(self._changed), len(self._said_there)])
        seen = self._see_all(model, self._begin_there + np.arange(len(self.held_out)))
        fits = (seen @ own.T).numpy()
        found = recalls(fits, np.arange(len(own)))
        wrong = (seen * changed).sum(-1).numpy()
        right = fits.diagonal()
        images, numbers = np.unique(self._judged_there, return_inverse=True)
        judged_pictures = self._see_all(model, self._begin_judged + images)
        cosines = (judged_pictures[numbers] * said).sum(-1).double().numpy()
        tau = correlations(self._scores_there.astype(np.float64), cosines)["kendall_b"].value
        return {
            "chosen": found["recall"] / 3 + tau,
            **found,
            "exchanged": float((right > wrong).mean()),
            "sits": tau,
        }

    def _read_all(self, model: Sight, rows: Longs) -> Tensor:
        order = np.argsort(np.diff(self.states.offsets)[rows], kind="stable")
        found = [model.read(*self.states.padded(rows[part])) for part in blocks(order)]
        return torch.cat(found)[torch.from_numpy(np.argsort(order))]

    def export(self, model: Sight, folder: Path) -> tuple[str, ...]:
        return self._export(model, folder, {"captions": {}}, {"pictures": {}})


def nearest(odds: Tensor, alike: Tensor) -> Tensor:
    """Small if a picture prefers captions that say what its own ones say, and a caption such pictures."""
    forth = F.cross_entropy(odds, alike.softmax(1))
    return (forth + F.cross_entropy(odds.T, alike.T.softmax(1))) / 2


def in_proportion(fits: Tensor, alike: Tensor) -> Tensor:
    """Small if captions fit pictures in proportion to how much they say what the pictures' own ones say."""
    one, other = ((each - each.mean()) / each.std() for each in (fits, alike))
    return F.mse_loss(one, other)
