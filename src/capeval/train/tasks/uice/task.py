"""Fitting the integration: both scores of judged captions, and how near the whole comes to people."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.bench.ratings import Ratings
from capeval.bench.registry import benchmark, load
from capeval.errors import CapevalError, DataError
from capeval.models.uice import Fusion
from capeval.perturb.transforms import permuted, replaced
from capeval.runtime.uice import FUSION, fused, open_semantics, open_syntax, weighed
from capeval.text.tokenize import tokenize
from capeval.train.batching import count_of, parts_of
from capeval.train.checkpoint import write_bytes
from capeval.train.facts import digest_of
from capeval.train.pictures import Pool
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.uice.config import Config
from capeval.types import Array

SEMANTICS, SYNTAX = "semantics", "syntax"


class UiceTask(Task[Fusion]):
    name: ClassVar[str] = "uice"
    monitor = "loss"
    better = "min"
    extras = (SEMANTICS, SYNTAX)

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        judged = load(config.judgements, inputs.data)
        if not isinstance(judged, Ratings):
            raise CapevalError(f"uice: {config.judgements} has no scores of captions to be fitted")
        self.pool = Pool(inputs.features)
        judged = judged.of_images({image for image in judged.distinct_images if image in self.pool})
        if not len(judged.dataset):
            raise DataError(f"no picture of {config.judgements} is among the features")
        self.semantics = open_semantics(inputs.extra.get(SEMANTICS, "uice-sem"))
        self.syntax = open_syntax(inputs.extra.get(SYNTAX, "uice-syn-photo"))
        self.semantics.checkpoint.check_encoder(self.pool.encoder)
        # Squeezed into 0 to 1; the mean of those who judged.
        said = np.nanmean(judged.human, axis=1)
        self.human = (said - judged.human[np.isfinite(judged.human)].min()) / np.ptp(
            judged.human[np.isfinite(judged.human)]
        )
        texts = tokenize(judged.dataset.candidates)
        self.images = judged.distinct_images
        number = {image: place for place, image in enumerate(self.images)}
        self.picture = np.array([number[image] for image in judged.dataset.images])
        self._seen = self.semantics.look(self.pool.vectors(self.images))
        self.scores = self._scored(texts, self.picture)
        held_out = np.random.default_rng(0).permutation(len(self.images))[: round(config.validation * len(self.images))]
        self._is_held_out = np.isin(self.picture, held_out)
        random, pool = np.random.default_rng(1), sorted({word for text in texts for word in text})
        rows = random.permutation(np.resize(np.arange(len(texts)), round(config.spoiled * len(texts))))
        spoiled = [
            permuted(texts[row], config.tau, random) if place % 2 else replaced(texts[row], config.tau, pool, random)
            for place, row in enumerate(rows.tolist())
        ]
        bad = self._scored(spoiled, self.picture[rows]) if spoiled else np.empty((0, 2))
        self._rows = np.concatenate([self.scores, bad]).astype(np.float32)
        self._targets = np.concatenate([self.human, np.zeros(len(rows))]).astype(np.float32)
        self._is_kept_apart = np.concatenate([self._is_held_out, self._is_held_out[rows]])

    def _scored(self, texts: Sequence[Sequence[str]], picture: np.ndarray[Any, Any]) -> Array:
        """Both scores as the fusion sees them, [n, 2]."""
        captions = self.semantics.read(texts)
        match = self.semantics.match(captions, np.arange(len(texts)), self._seen, picture)
        return weighed(np.column_stack([match, self.syntax.judge(texts)]))

    def build(self) -> Fusion:
        return Fusion(self.config.hidden)

    def steps(self) -> int:
        return count_of(int((~self._is_kept_apart).sum()), self.config.batch)

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        for rows in parts_of(random.permutation(np.flatnonzero(~self._is_kept_apart)), self.config.batch):
            yield {"scores": torch.from_numpy(self._rows[rows]), "human": torch.from_numpy(self._targets[rows])}

    def loss(self, model: Fusion, batch: Batch) -> Tensor:
        """Equation 14."""
        return F.binary_cross_entropy_with_logits(model(batch["scores"]), batch["human"])

    def validate(self, model: Fusion) -> dict[str, float]:
        """The loss on pictures that were kept apart, and rank correlations with people, of the parts too."""
        device = next(model.parameters()).device
        apart = np.flatnonzero(self._is_kept_apart)
        given = torch.from_numpy(self._rows[apart]).to(device)
        logits = model(given)
        loss = F.binary_cross_entropy_with_logits(logits, torch.from_numpy(self._targets[apart]).to(device))
        judged = apart[apart < len(self.human)]
        human = self.human[judged]
        whole = logits.cpu().numpy()[: len(judged)]
        found = {"loss": float(loss)}
        for name, values in (("", whole), ("_sem", self.scores[judged, 0]), ("_syn", self.scores[judged, 1])):
            found[f"tau_b{name}"] = correlations(human, values.astype(np.float64))["kendall_b"].value
        return found

    def export(self, model: Fusion, folder: Path) -> tuple[str, ...]:
        stream = io.BytesIO()
        np.savez(stream, **self._layers(model))  # type: ignore[arg-type]
        write_bytes(folder / FUSION, stream.getvalue())
        return (FUSION,)

    def _layers(self, model: Fusion) -> dict[str, np.ndarray[Any, Any]]:
        return {
            "hidden": model.hidden.weight.double().numpy(),
            "hidden_bias": model.hidden.bias.double().numpy(),
            "out": model.out.weight.double().numpy()[0],
            "out_bias": model.out.bias.double().numpy()[0],
        }

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        scores = np.array([[a, b] for a in (0.01, 0.3, 0.9) for b in (0.02, 0.5, 0.97)])
        with np.load(folder / FUSION, allow_pickle=False) as stored:
            return {"scores": scores}, {"score": fused(dict(stored), scores)}

    def facts(self) -> dict[str, Any]:
        wanted = benchmark(self.config.judgements)
        holds = () if wanted.purpose == "fitting" else wanted.holds
        return {
            "judgements": len(self.human),
            "pictures": len(self.images),
            SEMANTICS: self.semantics.checkpoint.digest,
            SYNTAX: self.syntax.checkpoint.digest,
            "data": digest_of(self._rows, self._targets),
            "trained_on": sorted({f"judgements:{wanted.name}", *holds}),
        }
