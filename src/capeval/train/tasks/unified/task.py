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
from capeval.models.unified import Gate, Unified
from capeval.perturb.worse import BROKEN, HALVED, JOINED, WRONG, Worsener, tagged
from capeval.registry import parse
from capeval.runtime.unified import FORM, INPUTS, SOUND, WEIGHTS, Weighing, probe_outputs, read_weighing, weighed
from capeval.runtime.unified import parts_of as parts_named
from capeval.text.tokenize import tokenize
from capeval.train.batching import count_of, parts_of
from capeval.train.checkpoint import write_bytes
from capeval.train.config import config_to_dict
from capeval.train.data import captions, some_of
from capeval.train.facts import digest_of
from capeval.train.parts import Judged, judged
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.unified.config import Config
from capeval.types import Array, Dataset, Flags, Longs, Sample

_ONE_WORD, _OTHER = "one word", "other"
_KINDS = (*BROKEN, "permuted", "replaced", _OTHER, _OTHER, _ONE_WORD, HALVED, *WRONG, JOINED)
"""How captions are made worse; words in disorder, random words and captions of other pictures twice as often."""
_PARTLY = (*WRONG, JOINED, HALVED, "cut")
_PARTLY_IS_WORTH = 0.6
"""What a caption with something wrong in it, or one that stops short, keeps of its score."""
_GOOD = 0.5
_CLEAR = 0.02
"""By how much two human scores must differ for their order to count."""
_SHARPNESS = 2.0
_SURE = 1e-4
_ELSEWHERE = 2000
"""Captions of each other source by which soundness is measured."""
_PICTURES = "pictures"
"""The input for which likeness to another caption says nothing."""


class Rows(NamedTuple):
    """Captions with the scores of their parts."""

    values: Array
    """[n, parts]"""
    targets: Array
    """From 0 to 1."""
    is_judged: Flags
    """By people; the others are worse captions."""
    is_own: Flags
    """Judged, and written for the picture."""
    is_broken: Flags
    """No person would write so, whatever the picture."""
    of: Longs
    """The row that a worse caption was made of."""
    alike: Array
    """[m, parts]: captions beside one other, whose likeness people have judged."""
    likeness: Array
    """[m], from 0 to 1."""

    @property
    def is_of_any_other(self) -> Flags:
        """Sound captions of any other picture, which people need not be asked about."""
        return np.asarray(~self.is_judged & ~self.is_broken & (self.targets == 0))


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
        self.parts = tuple(dict.fromkeys(part for name in (*INPUTS, SOUND) for part in getattr(config, name)))
        self._place = self._places()
        self.fitted, self.kept = (self._scored(part, inputs) for part in ("B", "C"))
        self._heard = [self._soundness(source, inputs) for source in config.people]
        seen = weighed(self.fitted.values, self._columns)
        judged_rows = seen[self.fitted.is_judged]
        self._mean, self._spread = judged_rows.mean(0), np.maximum(seen.std(0), 1e-3)
        self._usual = np.median(self.fitted.values[self.fitted.is_judged], axis=0)

    def _places(self) -> dict[str, list[int]]:
        """Which columns are weighed for each input, and for soundness."""
        wanted: dict[str, tuple[str, ...]] = {name: getattr(self.config, name) for name in INPUTS}
        wanted[SOUND] = (*self.config.sound, *FORM)
        return {name: [self._columns.index(part) for part in parts] for name, parts in wanted.items()}

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*self.parts, *FORM)

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
        worse, of, targets, broken = self._worse(rows, inputs)
        given = [(row, row.candidate) for row in rows] + [(rows[number], text) for number, text in zip(of, worse)]
        beside = [row for row in judged("sts", part, inputs.data) if row.image in self.features and row.references]
        given += [(row, row.candidate) for row in beside]
        samples = [Sample(str(number), row.image, text, row.references) for number, (row, text) in enumerate(given)]
        dataset = Dataset.from_samples(samples)
        dataset.features = self.features
        corpus = Corpus(dataset, inputs.run)
        columns = []
        for expression in self.parts:
            inputs.run.progress.step(f"scoring {expression} (part {part})")
            metric, names = parse(expression)
            assert not isinstance(metric, Composite) or metric.parts
            columns.append(metric.per_sample(corpus.stats(metric))[:, metric.info.names.index(names[0])])
        every = np.column_stack([*columns, form(corpus)])
        values, alike = np.split(every, [len(rows) + len(of)])
        said, likeness = (np.array([row.score for row in several]) for several in (rows, beside))
        is_judged = np.arange(len(values)) < len(rows)
        owners = np.concatenate([np.arange(len(rows)), np.array(of, np.int64)])
        is_broken = np.concatenate([np.zeros(len(rows), bool), broken])
        is_own = np.concatenate([[row.is_own for row in rows], np.zeros(len(of), bool)])
        return Rows(values, np.concatenate([said, targets]), is_judged, is_own, is_broken, owners, alike, likeness)

    def _soundness(self, source: str, inputs: Inputs) -> Array:
        """[n, parts] of captions that people wrote elsewhere; what is not said of soundness is 0."""
        texts = [text for several in captions(source, "train", inputs.data).values() for text in several]
        samples = [Sample(str(number), "", text) for number, text in enumerate(some_of(texts, _ELSEWHERE))]
        corpus = Corpus(Dataset.from_samples(samples), inputs.run)
        found = np.zeros((len(samples), len(self._columns)))
        for expression in self.config.sound:
            metric, names = parse(expression)
            scores = metric.per_sample(corpus.stats(metric))[:, metric.info.names.index(names[0])]
            found[:, self.parts.index(expression)] = scores
        found[:, -len(FORM) :] = form(corpus)
        return found

    def _worse(self, rows: Sequence[Judged], inputs: Inputs) -> tuple[list[str], list[int], Array, Flags]:
        """Worse captions, the row that each was made of, what it is worth, and whether it is broken."""
        random = np.random.default_rng(1)
        parsed = tagged(tokenize([row.candidate for row in rows], inputs.run), inputs.run)
        worsener = Worsener(parsed)
        good = [number for number, row in enumerate(rows) if row.score > _GOOD]
        texts, of, targets, broken = [], [], [], []
        for place, number in enumerate(
            random.permutation(np.resize(good, round(self.config.spoiled * len(good)))).tolist()
        ):
            kind = _KINDS[place % len(_KINDS)]
            caption, row = parsed[number], rows[number]
            other = int(random.integers(len(rows)))
            known = {word for text in tokenize(row.references, inputs.run) for word in text} | set(caption.words)
            if kind == _OTHER:
                made: Sequence[str] | None = parsed[other].words if rows[other].image != row.image else None
            elif kind == _ONE_WORD:
                made = caption.words[:1]
            else:
                made = worsener.worse(kind, caption, known, parsed[other].words, random)
            if made:
                texts.append(" ".join(made))
                of.append(number)
                targets.append(_PARTLY_IS_WORTH * row.score if kind in _PARTLY else 0.0)
                broken.append(kind not in _PARTLY and kind != _OTHER)
        return texts, of, np.array(targets), np.array(broken, bool)

    def build(self) -> Unified:
        widths: dict[str, int] = {name: len(self._place[name]) for name in INPUTS}
        model = Unified(widths, len(self._place[SOUND]))
        self._fit_gate(model.gate)
        return model

    def _fit_gate(self, gate: Gate) -> None:
        """Soundness comes first, and stays: people's captions against broken ones, and then such that it takes nothing
        from nearly all that people have written, whatever the data set.
        """
        rows = self.fitted
        given = self._given(rows.values)[SOUND]
        people, broken = given[torch.from_numpy(rows.is_judged)], given[torch.from_numpy(rows.is_broken)]
        solver = torch.optim.LBFGS(gate.parameters(), max_iter=200, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            solver.zero_grad()
            found = F.softplus(-gate.odds(people)).mean() + F.softplus(gate.odds(broken)).mean()
            found.backward()
            return found

        if len(broken):
            solver.step(loss)
        several = [people, *(self._given(values)[SOUND] for values in self._heard)]
        with torch.no_grad():
            spared = torch.stack([torch.quantile(gate.odds(each), 1 - self.config.spared) for each in several]).min()
            factor = self.config.strictness
            gate.raw.copy_(_before_softplus(gate.weights * factor))
            gate.bias.copy_((gate.bias - spared) * factor)
        gate.requires_grad_(False)

    def steps(self) -> int:
        return count_of(int(self.fitted.is_judged.sum()), self.config.batch)

    def _given(self, values: Array) -> dict[str, Tensor]:
        """What is weighed."""
        seen = (weighed(values, self._columns) - self._mean) / self._spread
        return {name: torch.from_numpy(seen[:, its].astype(np.float32)) for name, its in self._place.items()}

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        """Judged captions; as many that were written for another picture, one like it or any; as many beside another
        caption; and worse ones, each with what it was made of.
        """
        fitted = self.fitted
        others = np.flatnonzero(fitted.is_judged & ~fitted.is_own | fitted.is_of_any_other)
        worse = np.flatnonzero(~fitted.is_judged & ~fitted.is_broken)
        for rows in parts_of(random.permutation(np.flatnonzero(fitted.is_judged)), self.config.batch):
            drawn = [_drawn(each, len(rows), random) for each in (others, worse, np.arange(len(fitted.alike)))]
            by_picture = np.concatenate([rows, drawn[0], drawn[1], fitted.of[drawn[1]]])
            given = self._given(np.concatenate([fitted.values[by_picture], fitted.alike[drawn[2]]]))
            yield {
                **given,
                "any": _tensor(fitted.targets[rows]),
                "others": _tensor(fitted.targets[drawn[0]]),
                "worse": _tensor(fitted.targets[drawn[1]]),
                "likeness": _tensor(fitted.likeness[drawn[2]]),
            }

    def loss(self, model: Unified, batch: Batch) -> Tensor:
        """Four orders. Captions that were written for the picture are nearly all good, and what people say of them is
        mostly noise: the order of those that were written for another one tells how to weigh.
        """
        config = self.config
        any_said, others_said, likeness = batch["any"], batch["others"], batch["likeness"]
        sizes = [len(batch[key]) for key in ("any", "others", "worse", "worse", "likeness")]
        total = torch.zeros(())
        for name in INPUTS:
            odds: Tensor = model.weighings[name](batch[name])
            judged_odds, others, worse, owners, beside = odds.split(sizes)
            total = total + ordered(judged_odds, any_said) + ordered(others, others_said)
            if len(worse):
                total = total + config.worse * F.softplus(-_SHARPNESS * (owners - worse)).mean()
            if name != _PICTURES:
                total = total + config.likeness * ordered(beside, likeness)
        return total

    def validate(self, model: Unified) -> dict[str, float]:
        """Rank correlation with people, over all judged captions and over those of other pictures, and how often a
        worse caption scores as high as what it was made of.
        """
        rows, is_judged = self.kept, self.kept.is_judged
        is_other = is_judged & ~rows.is_own
        given = self._given(np.concatenate([rows.values, rows.alike]))
        told: dict[str, float] = {}
        for name, found in model({name: given[name] for name in INPUTS}, given[SOUND]).items():
            scores, beside = np.split(found.double().numpy(), [len(is_judged)])
            told[f"tau_{name}"] = agreement(rows.targets[is_judged], scores[is_judged])
            told[f"others_{name}"] = agreement(rows.targets[is_other], scores[is_other])
            if name != _PICTURES:
                told[f"alike_{name}"] = agreement(rows.likeness, beside)
            told[f"fooled_{name}"] = float((scores[~is_judged] >= scores[rows.of[~is_judged]]).mean())
        good = [key for key in told if not key.startswith("fooled")]
        fooled = sum(told[f"fooled_{name}"] for name in INPUTS)
        return {"chosen": (sum(told[key] for key in good) - fooled) / len(INPUTS), **told}

    def export(self, model: Unified, folder: Path) -> tuple[str, ...]:
        self._calibrate(model)
        stream = io.BytesIO()
        np.savez(stream, **self._arrays(model))
        write_bytes(folder / WEIGHTS, stream.getvalue())
        return (WEIGHTS,)

    def _calibrate(self, model: Unified) -> None:
        """Order decided the fit; now each kind of input is brought onto one scale: how likely it is that people would
        call the caption good. Captions that were written for the picture, for one like it and for any other count the
        same, however many there are.
        """
        rows, given = self.fitted, self._given(self.fitted.values)
        targets = _tensor(rows.targets > self.config.good)
        is_judged, is_own = rows.is_judged, rows.is_own
        kinds = [kind for kind in (is_judged & is_own, is_judged & ~is_own, rows.is_of_any_other) if kind.any()]
        counts = _tensor(np.sum([kind / kind.sum() for kind in kinds], axis=0) / len(kinds))
        left = model.gate(given[SOUND]).detach()
        for name in INPUTS:
            weighing: Any = model.weighings[name]
            odds = weighing(given[name]).detach()
            scale = torch.zeros(2, requires_grad=True)
            solver = torch.optim.LBFGS([scale], max_iter=100, line_search_fn="strong_wolfe")

            def loss(odds: Tensor = odds, scale: Tensor = scale, solver: Any = solver) -> Tensor:
                solver.zero_grad()
                scores = (scale[0].exp() * odds + scale[1]).sigmoid() * left
                found = F.binary_cross_entropy(scores.clamp(_SURE, 1 - _SURE), targets, counts, reduction="sum")
                found.backward()
                return found

            with torch.enable_grad():
                solver.step(loss)
            factor, offset = scale.detach()
            weights = weighing.weights * factor.exp()
            weighing.raw.data = _before_softplus(weights)
            weighing.bias.data = weighing.bias * factor.exp() + offset

    def _arrays(self, model: Unified) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        for name in INPUTS:
            weighing: Any = model.weighings[name]
            places = [*self._place[name], *self._place[SOUND]]
            of = {
                "mean": self._mean[places],
                "spread": self._spread[places],
                "usual": self._usual[places],
                "weights": weighing.weights.double().numpy(),
                "bias": weighing.bias.double().numpy(),
                "gate": model.gate.weights.double().numpy(),
                "gate_bias": model.gate.bias.double().numpy(),
            }
            arrays |= {f"{name}.{key}": value for key, value in of.items()}
        return arrays

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random = np.random.default_rng(0)
        weighings: dict[str, Weighing] = {
            name: read_weighing(folder / WEIGHTS, name, parts_named(config_to_dict(self.config), name))
            for name in INPUTS
        }
        inputs: Arrays = {name: random.random((5, len(each.parts))) for name, each in weighings.items()}
        return inputs, probe_outputs(weighings, inputs)

    def facts(self) -> dict[str, Any]:
        return {
            "judgements": int(self.fitted.is_judged.sum()),
            "worse": int((~self.fitted.is_judged).sum()),
            "pairs": len(self.fitted.alike),
            "data": digest_of(self.fitted.values.astype(np.float32), self.fitted.targets),
            "trained_on": ["judgements:cxc"],
        }


def _drawn(rows: Longs, count: int, random: np.random.Generator) -> Longs:
    """So many of the rows, with repetition; none of none."""
    return rows[random.integers(len(rows), size=count)] if len(rows) else rows


def _before_softplus(weights: Tensor) -> Tensor:
    """Its inverse, so that weights are what they should be."""
    return weights + torch.log(-torch.expm1(-weights))


def _tensor(values: Array | Flags) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))


def agreement(human: Array, scores: Array) -> float:
    """Kendall's tau-b; 0 where people put nothing in order."""
    return correlations(human, scores)["kendall_b"].value if len(human) and np.ptp(human) else 0.0


def ordered(odds: Tensor, said: Tensor) -> Tensor:
    """Small if what people score higher has higher odds."""
    better = said[:, None] > said[None] + _CLEAR
    apart = (odds[:, None] - odds[None])[better]
    return F.softplus(-_SHARPNESS * apart).mean() if len(apart) else torch.zeros(())
