"""Fitting the parts together: all scores of judged captions and of worse ones, and how near the whole is to people."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from capeval.bench.correlation import correlations
from capeval.corpus import Corpus
from capeval.errors import DataError
from capeval.io.features import open_features
from capeval.metrics.composite import Composite
from capeval.metrics.unified import form
from capeval.models.unified import Unified
from capeval.perturb.worse import BROKEN, WRONG, Worsener, tagged
from capeval.registry import parse
from capeval.runtime.unified import FORM, INPUTS, NETWORKS, Network, probe_outputs, read_network, weighed
from capeval.text.tokenize import tokenize
from capeval.train.batching import count_of, parts_of
from capeval.train.checkpoint import write_bytes
from capeval.train.facts import digest_of
from capeval.train.parts import Judged, judged
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.unified.config import Config
from capeval.types import Array, Dataset, Flags, Sample

_KINDS = (*BROKEN, "permuted", "replaced", "other", "one word", *WRONG)
"""How captions are made worse; words in disorder and random words twice as often."""
_WRONG_IS_WORTH = 0.6
"""What a caption with one thing wrong in it keeps of its score."""
_GOOD = 0.5
_CLEAR = 0.02
"""By how much two human scores must differ for their order to count."""
_SHARPNESS = 2.0


class Rows(NamedTuple):
    """Captions with the scores of their parts."""

    values: Array
    """[n, parts]"""
    targets: Array
    """From 0 to 1."""
    is_judged: Flags
    """By people; the others are worse captions."""
    of: Array
    """The row that a worse caption was made of."""


class UnifiedTask(Task[Unified]):
    name: ClassVar[str] = "unified"
    monitor = "chosen"

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        if len(inputs.features) != 1:
            raise DataError(
                "one file of features is needed, of the pictures of Crisscrossed Captions", remedy="training_features"
            )
        self.features = open_features(inputs.features[0])
        self.encoder = self.features.encoder
        self.parts = tuple(dict.fromkeys(part for name in INPUTS for part in getattr(config, name)))
        self._place = self._places()
        self.fitted, self.kept = (self._scored(part, inputs) for part in ("B", "C"))
        seen = np.column_stack([weighed(self.fitted.values, (*self.parts, *FORM))])
        judged_rows = seen[self.fitted.is_judged]
        self._mean, self._spread = judged_rows.mean(0), np.maximum(seen.std(0), 1e-3)
        self._usual = np.median(self.fitted.values[self.fitted.is_judged], axis=0)

    def _places(self) -> dict[str, list[int]]:
        """Which columns each network sees."""
        columns = (*self.parts, *FORM)
        return {name: [columns.index(part) for part in (*getattr(self.config, name), *FORM)] for name in INPUTS}

    def of_fewer(self, config: Config) -> UnifiedTask:
        """The same with other settings, and parts that are all among its own: nothing is scored again."""
        other = copy(self)
        other.config = config
        other._place = other._places()
        return other

    def _scored(self, part: Any, inputs: Inputs) -> Rows:
        rows = [row for row in judged("sits", part, inputs.data) if row.image in self.features and row.references]
        if not rows:
            raise DataError("no picture of Crisscrossed Captions is among the features")
        worse, of, targets = self._worse(rows, inputs)
        samples = [
            Sample(str(number), row.image, text, row.references)
            for number, (row, text) in enumerate(
                [*((row, row.candidate) for row in rows), *((rows[number], text) for number, text in zip(of, worse))]
            )
        ]
        dataset = Dataset.from_samples(samples)
        dataset.features = self.features
        corpus = Corpus(dataset, inputs.run)
        columns = []
        for expression in self.parts:
            inputs.run.progress.step(f"scoring {expression} (part {part})")
            metric, names = parse(expression)
            assert not isinstance(metric, Composite) or metric.parts
            columns.append(metric.per_sample(corpus.stats(metric))[:, metric.info.names.index(names[0])])
        values = np.column_stack([*columns, form(corpus)])
        said = np.array([row.score for row in rows])
        is_judged = np.arange(len(samples)) < len(rows)
        owners = np.concatenate([np.arange(len(rows)), np.array(of, np.int64)])
        return Rows(values, np.concatenate([said, targets]), is_judged, owners)

    def _worse(self, rows: Sequence[Judged], inputs: Inputs) -> tuple[list[str], list[int], Array]:
        """Worse captions, the row that each was made of, and what it is worth."""
        random = np.random.default_rng(1)
        parsed = tagged(tokenize([row.candidate for row in rows], inputs.run), inputs.run)
        worsener = Worsener(parsed)
        good = [number for number, row in enumerate(rows) if row.score > _GOOD]
        texts, of, targets = [], [], []
        for place, number in enumerate(
            random.permutation(np.resize(good, round(self.config.spoiled * len(good)))).tolist()
        ):
            kind = _KINDS[place % len(_KINDS)]
            caption, row = parsed[number], rows[number]
            other = int(random.integers(len(rows)))
            known = {word for text in tokenize(row.references, inputs.run) for word in text} | set(caption.words)
            if kind == "other":
                made: Sequence[str] | None = parsed[other].words if rows[other].image != row.image else None
            elif kind == "one word":
                made = caption.words[:1]
            else:
                made = worsener.worse(kind, caption, known, parsed[other].words, random)
            if made:
                texts.append(" ".join(made))
                of.append(number)
                targets.append(_WRONG_IS_WORTH * row.score if kind in WRONG else 0.0)
        return texts, of, np.array(targets)

    def build(self) -> Unified:
        return Unified({name: len(places) for name, places in self._place.items()}, self.config.hidden)

    def steps(self) -> int:
        return count_of(len(self.fitted.targets), self.config.batch)

    def _given(self, rows: Rows, places: Any) -> dict[str, Tensor]:
        seen = (weighed(rows.values[places], (*self.parts, *FORM)) - self._mean) / self._spread
        return {name: torch.from_numpy(seen[:, its].astype(np.float32)) for name, its in self._place.items()}

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        for rows in parts_of(random.permutation(len(self.fitted.targets)), self.config.batch):
            targets = torch.from_numpy(self.fitted.targets[rows].astype(np.float32))
            is_judged = torch.from_numpy(self.fitted.is_judged[rows])
            yield {**self._given(self.fitted, rows), "targets": targets, "judged": is_judged}

    def loss(self, model: Unified, batch: Batch) -> Tensor:
        targets, judged_rows = batch["targets"], batch["judged"]
        said = targets[judged_rows]
        better = said[:, None] > said[None] + _CLEAR
        total = torch.zeros(())
        for logits in model({name: batch[name] for name in INPUTS}).values():
            total = total + self.config.scores * F.binary_cross_entropy_with_logits(logits, targets)
            apart = logits[judged_rows][:, None] - logits[judged_rows][None]
            if better.any():
                total = total + F.softplus(-_SHARPNESS * apart[better]).mean()
        return total

    def validate(self, model: Unified) -> dict[str, float]:
        """Rank correlation with people, and how often a worse caption scores higher than what it was made of."""
        rows = self.kept
        found = model(self._given(rows, slice(None)))
        is_judged = rows.is_judged
        told: dict[str, float] = {}
        for name, logits in found.items():
            scores = logits.double().numpy()
            human = rows.targets[is_judged]
            told[f"tau_{name}"] = correlations(human, scores[is_judged])["kendall_b"].value
            told[f"fooled_{name}"] = float((scores[~is_judged] >= scores[rows.of[~is_judged]]).mean())
        return {"chosen": float(np.mean([told[f"tau_{name}"] - told[f"fooled_{name}"] for name in INPUTS])), **told}

    def export(self, model: Unified, folder: Path) -> tuple[str, ...]:
        self._calibrate(model)
        stream = io.BytesIO()
        np.savez(stream, **self._arrays(model))
        write_bytes(folder / NETWORKS, stream.getvalue())
        return (NETWORKS,)

    def _calibrate(self, model: Unified) -> None:
        """Order decided most of the fit; now each network's values are brought onto people's scale."""
        given = self._given(self.fitted, slice(None))
        targets = torch.from_numpy(self.fitted.targets.astype(np.float32))
        for name in INPUTS:
            network: Any = model.networks[name]
            logits = network(given[name]).detach()
            scale = torch.zeros(2, requires_grad=True)
            solver = torch.optim.LBFGS([scale], max_iter=100, line_search_fn="strong_wolfe")

            def loss(logits: Tensor = logits, scale: Tensor = scale, solver: Any = solver) -> Tensor:
                solver.zero_grad()
                found = F.binary_cross_entropy_with_logits(scale[0].exp() * logits + scale[1], targets)
                found.backward()
                return found

            with torch.enable_grad():
                solver.step(loss)
            factor, offset = scale.detach()
            out = network.out * factor.exp()
            # The inverse of softplus, so that the weights are what they should be.
            network.raw_out.data = out + torch.log(-torch.expm1(-out))
            network.out_bias.data = network.out_bias * factor.exp() + offset

    def _arrays(self, model: Unified) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        for name, places in self._place.items():
            network: Any = model.networks[name]
            of = {
                "mean": self._mean[places],
                "spread": self._spread[places],
                "usual": self._usual[places],
                "weights": network.weights.double().numpy(),
                "bias": network.bias.double().numpy(),
                "out": network.out.double().numpy(),
                "out_bias": network.out_bias.double().numpy(),
            }
            arrays |= {f"{name}.{key}": value for key, value in of.items()}
        return arrays

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)
        networks: dict[str, Network] = {
            name: read_network(folder / NETWORKS, name, getattr(self.config, name)) for name in INPUTS
        }
        inputs: Arrays = {name: random.random((5, len(places))) for name, places in self._place.items()}
        return inputs, probe_outputs(networks, inputs)

    def facts(self) -> dict[str, Any]:
        return {
            "judgements": int(self.fitted.is_judged.sum()),
            "worse": int((~self.fitted.is_judged).sum()),
            "data": digest_of(self.fitted.values.astype(np.float32), self.fitted.targets),
            "trained_on": ["judgements:cxc"],
        }
