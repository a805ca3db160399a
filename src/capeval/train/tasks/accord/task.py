"""Training a network to tell whether a caption belongs to its references."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capeval.models.accord import Accord, AccordShape, Words
from capeval.runtime.accord import JUDGE, SCALE, WORDS, accord_outputs
from capeval.runtime.meaning import open_meaning
from capeval.train.batching import by_near_groups
from capeval.train.checkpoint import write_bytes
from capeval.train.export import to_onnx
from capeval.train.facts import digest_of
from capeval.train.task import Arrays, Batch, Inputs, Task
from capeval.train.tasks.accord.config import Config
from capeval.train.tasks.accord.material import ANY, KINDS, NEAR, OWN, WORSE, Beside, Material
from capeval.train.tasks.sight.material import MEANING
from capeval.train.tasks.uice_syn.task import area
from capeval.train.tasks.unified.task import agreement
from capeval.types import Array

_CLEAR, _CLEARLY_ALIKE = 0.04, 0.1
"""By how much two human scores, or cosines of sentences, must differ for their order to count."""
_REFERENCES = 4
_BLOCK = 256


class AccordTask(Task[Accord]):
    name: ClassVar[str] = "accord"
    monitor = "chosen"
    extras = (MEANING,)

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self.config: Config = config
        self.sources = config.sources
        self.meaning = open_meaning(inputs.extra.get(MEANING, "meaning"), inputs.run)
        self.material = Material(config, self.meaning, inputs)

    def build(self) -> Accord:
        shape = AccordShape(self.material.states.values.shape[1], self.config.width)
        return Accord(shape, self.config.dropout)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            model.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def batches(self, epoch: int, random: np.random.Generator) -> Iterator[Batch]:
        config, material = self.config, self.material
        judged = [material.judged[kind, "A"] for kind in ("sits", "sts")]
        for pictures in by_near_groups(material.together, material.sources, config.near, config.batch, random):
            if len(pictures) < 2:
                continue  # one picture has no negative
            rows: list[Beside] = []
            kinds: list[int] = []
            of: list[int] = []
            for place in range(len(pictures)):
                references, shown = self._drawn(pictures, place, random)
                rows += [Beside(caption, references) for caption, _ in shown]
                kinds += [kind for _, kind in shown]
                of += [place] * len(shown)
            asked = [[each[row] for row in random.integers(len(each), size=config.judged)] for each in judged if each]
            said = [row.score for each in asked for row in each]
            batch = self._batch([*rows, *(row for each in asked for row in each)])
            candidates = [row.candidate for row in rows]
            alike = (material.together[pictures[of]] * material.sentences[candidates]).sum(1)
            yield batch | {
                "kinds": torch.tensor(kinds),
                "of": torch.tensor(of),
                "alike": torch.from_numpy(alike),
                "said": torch.tensor(said),
            }

    def _drawn(
        self, pictures: Any, place: int, random: np.random.Generator
    ) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """References of a picture, and captions beside them: of itself, of pictures near it, of any, and worse ones."""
        config, material, number = self.config, self.material, int(pictures[place])
        caption = int(material.turned[number])
        count = int(random.integers(1, _REFERENCES)) if random.random() < config.fewer else _REFERENCES
        references = tuple(random.permutation(material.others_of(number, caption))[:count].tolist())
        begin = place // config.near * config.near
        group = np.delete(np.arange(begin, min(begin + config.near, len(pictures))), place - begin)
        apart = np.delete(np.arange(len(pictures)), np.append(group, place))
        shown = [(caption, OWN)]
        for kind, able, most in ((NEAR, group, config.others), (ANY, apart, 1)):
            shown += [
                (material.any_of(int(pictures[other]), random), kind) for other in random.permutation(able)[:most]
            ]
        made = material.made[number]
        drawn = random.permutation(len(made))[: config.worse].tolist()
        return references, shown + [(made[each].caption, WORSE) for each in drawn]

    def _batch(self, rows: Sequence[Beside]) -> Batch:
        """Each caption once, and which of them stand beside which."""
        every = list(dict.fromkeys(caption for row in rows for caption in (row.candidate, *row.references)))
        number = {caption: place for place, caption in enumerate(every)}
        references = np.full((len(rows), max(len(row.references) for row in rows)), -1)
        for place, row in enumerate(rows):
            references[place, : len(row.references)] = [number[caption] for caption in row.references]
        states, lengths = self.material.states.padded(np.array(every))
        return {
            "states": states,
            "lengths": lengths,
            "candidates": torch.tensor([number[row.candidate] for row in rows]),
            "references": torch.from_numpy(references),
        }

    def _odds(self, model: Accord, batch: Batch) -> Tensor:
        with torch.autocast(batch["states"].device.type, torch.bfloat16, enabled=self.config.bfloat16):
            words = model.words(batch["states"], batch["lengths"])
            is_there = (batch["references"] >= 0)[..., None]
            vectors, telling, is_word = words.rows(batch["references"].clamp(min=0))
            beside = Words(vectors, telling * is_there, is_word & is_there)
            found: Tensor = model(words.rows(batch["candidates"]), beside)
        return found.float()

    def loss(self, model: Accord, batch: Batch) -> Tensor:
        """Five orders. Captions of all pictures of a step are compared with each other, as benchmarks do."""
        config, kinds, of = self.config, batch["kinds"], batch["of"]
        odds = self._odds(model, batch)
        shown, asked = odds[: len(kinds)], odds[len(kinds) :]
        own, near, others, worse = (shown[kinds == kind] for kind in (OWN, NEAR, ANY, WORSE))
        total = _above(own[:, None], near) + _above(own[of[kinds == NEAR]], near)
        total = total + 0.5 * _above(own[:, None], others) + config.wrong * _above(own[of[kinds == WORSE]], worse)
        is_other = (kinds == NEAR) | (kinds == ANY)
        total = total + config.alike * ordered(shown[is_other], batch["alike"][is_other], _CLEARLY_ALIKE)
        if len(asked):
            parts = (each.split(config.judged) for each in (asked, batch["said"]))
            for weight, found, said in zip((config.human, config.likeness), *parts):
                total = total + weight * ordered(found, said, _CLEAR)
            # The scale; it decides no order.
            scaled = model.slope * asked.detach() + model.offset
            total = total + F.binary_cross_entropy_with_logits(scaled, batch["said"])
        return total

    def validate(self, model: Accord) -> dict[str, float]:
        """Rank correlation with people; how often own captions are above those of like pictures, and these above any;
        and how often worse ones score as high as what they were made of.
        """
        found: dict[str, float] = {}
        for kind in ("sits", "sts"):
            rows = self.material.judged[kind, "C"]
            odds, said = self._all_odds(model, rows), np.array([row.score for row in rows])
            found[kind] = agreement(said, odds)
            if kind == "sits":
                is_other = np.array([not row.is_own for row in rows], bool)
                found["others"] = agreement(said[is_other], odds[is_other])
        fooled = []
        for source in self.config.validation:
            rows, of, kinds = self.material.shown(source)
            odds, named, place = self._all_odds(model, rows), np.array(kinds), np.array(of)
            own, near, others = (odds[named == kind] for kind in ("own", "near", "any"))
            found[f"own_{source}"], found[f"near_{source}"] = area(own, near), area(near, others)
            for kind in KINDS:
                its = named == kind
                if its.any():
                    found[f"{kind}_{source}"] = float((odds[its] >= own[place[its]]).mean())
                    fooled.append(found[f"{kind}_{source}"])
        good = [found[key] for key in found if key.startswith(("own_", "near_", "sits", "others", "sts"))]
        return {"chosen": float(np.mean(good)) - float(np.mean(fooled or [0.0])) / 2, **found}

    def _all_odds(self, model: Accord, rows: Sequence[Beside]) -> Array:
        parts = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
        found = [self._odds(model, self._batch(part)).double().numpy() for part in parts]
        return np.concatenate([np.empty(0), *found])

    def export(self, model: Accord, folder: Path) -> tuple[str, ...]:
        width = model.shape.width
        states = {"states": torch.zeros(2, 5, model.shape.state_width)}
        pieces = {name: {1: "pieces"} for name in ("states", "words", "says")}
        to_onnx(_Reader(model), states, ["words", "says"], folder / WORDS, dynamic=pieces, weights="float16")
        given = {
            "own": torch.zeros(1, 3, width), "own_telling": torch.ones(1, 3),
            "references": torch.zeros(1, 2, 4, width), "telling": torch.ones(1, 2, 4),
            "is_word": torch.ones(1, 2, 4, dtype=torch.bool),
        }  # fmt: skip
        free = {name: {1: "words"} for name in ("own", "own_telling")}
        free |= {name: {1: "references", 2: "pieces"} for name in ("references", "telling", "is_word")}
        to_onnx(_Judge(model), given, ["odds"], folder / JUDGE, dynamic=free, weights="float16")
        stream = io.BytesIO()
        np.savez(stream, slope=float(model.slope), offset=float(model.offset))
        write_bytes(folder / SCALE, stream.getvalue())
        return WORDS, JUDGE, SCALE

    def probe(self, folder: Path) -> tuple[Arrays, Arrays]:
        random, width = np.random.default_rng(0), self.config.width

        def drawn(*size: int) -> Any:
            return random.normal(size=size).astype(np.float32)

        inputs: Arrays = {
            "states": drawn(4, 6, self.material.states.values.shape[1]),
            "own": drawn(1, 4, width),
            "own_telling": np.abs(drawn(1, 4)),
            "references": drawn(1, 3, 5, width),
            "telling": np.abs(drawn(1, 3, 5)),
            "is_word": np.ones((1, 3, 5), bool),
        }
        return inputs, accord_outputs(folder, inputs)

    def facts(self) -> dict[str, Any]:
        material = self.material
        return {
            "pictures": sum(map(len, material.sources)),
            "captions": len(material.sentences),
            "judgements": sum(len(material.judged[kind, "A"]) for kind in ("sits", "sts")),
            MEANING: self.meaning.checkpoint.digest,
            "data": digest_of(material.states.offsets, material.together),
        }


class _Reader(nn.Module):
    def __init__(self, model: Accord) -> None:
        super().__init__()
        self.model = model

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.model.read(states)


class _Judge(nn.Module):
    """Candidates fill their rows."""

    def __init__(self, model: Accord) -> None:
        super().__init__()
        self.model = model

    def forward(self, own: Tensor, own_telling: Tensor, references: Tensor, telling: Tensor, is_word: Tensor) -> Any:
        own_words = Words(own, own_telling, torch.ones_like(own_telling, dtype=torch.bool))
        return self.model(own_words, Words(references, telling, is_word))


def _above(one: Tensor, other: Tensor) -> Tensor:
    """Small if the one is above the other."""
    apart = one - other
    return F.softplus(-apart).mean() if apart.numel() else torch.zeros(())


def ordered(odds: Tensor, said: Tensor, clear: float) -> Tensor:
    """Small if what is said to be more has higher odds, where the difference is clear."""
    return _above(*((odds[:, None] - odds[None])[said[:, None] > said[None] + clear], torch.zeros(())))
