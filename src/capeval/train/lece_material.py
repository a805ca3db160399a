"""What LECE is trained on: human captions, machine captions, Monte Carlo samples and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capeval.errors import CapevalError
from capeval.io.captions import read_references
from capeval.train.data import Pool, captions, machine_captions
from capeval.train.lece import MACHINE, MC, Texts
from capeval.train.lece_config import Config
from capeval.train.task import Inputs


@dataclass(frozen=True)
class Material:
    """What there is to train on: pictures and their captions."""

    train: Sequence[str]
    validation: Sequence[str]
    humans: Texts
    machines: Texts = field(default_factory=dict)
    samples: Texts = field(default_factory=dict)
    sources: Sequence[Sequence[str]] = ()
    """The training pictures by source, each source as often as an epoch shows it; nothing: all are one source."""
    vectors: Any = None
    """Something with `vectors(images)`, `dim` and `encoder`; None without pictures."""


def gather(config: Config, inputs: Inputs) -> Material:
    """The captions and pictures that the config asks for, with all that a benchmark uses left out."""
    pool = Pool(inputs.features) if config.context != "reference" else None
    humans: dict[str, tuple[str, ...]] = {}
    validation: list[str] = []
    machines = _machines(config, inputs) if MACHINE in config.negatives else {}
    samples = _read_several(inputs.extra.get("mc")) if MC in config.negatives else {}
    if MC in config.negatives and not samples:
        raise CapevalError("lece: Monte Carlo samples are needed: --input mc=FILE, or leave mc out of the negatives")
    sources: list[list[str]] = []
    needs_machines = {MACHINE, MC} & {*config.negatives}
    for source in config.sources:
        found = _usable(captions(source, "train", inputs.data), pool)
        if needs_machines:
            found = {image: texts for image, texts in found.items() if image in machines or image in samples}
        chosen = _some(sorted(found), config.images)
        sources.append(chosen)
        humans |= {image: found[image] for image in chosen}
        if not needs_machines:
            kept = _usable(captions(source, "val", inputs.data), pool)
            kept = {image: texts for image, texts in kept.items() if image not in found}  # a user's file has no splits
            validation += [image for image in kept if image not in humans]
            humans |= kept
    validation = _some(validation, config.validation)
    train = list(dict.fromkeys(image for source in sources for image in source))
    if not validation:
        validation = _some(sorted(train), max(1, min(config.validation, len(train) // 10)), seed=1)
    left_out = {*validation}
    sources = [[image for image in source if image not in left_out] for source in sources]
    train = [image for image in train if image not in left_out]
    return Material(train, validation, humans, machines, samples, sources, pool)


def _usable(found: Mapping[str, tuple[str, ...]], pool: Pool | None) -> dict[str, tuple[str, ...]]:
    return {image: texts for image, texts in found.items() if len(texts) > 1 and (pool is None or image in pool)}


def _some(images: Sequence[str], count: int, seed: int = 0) -> list[str]:
    if not count or count >= len(images):
        return list(images)
    picked = np.random.default_rng(seed).permutation(len(images))[:count]
    return [images[i] for i in np.sort(picked)]


def _machines(config: Config, inputs: Inputs) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in config.machines:
        for by_image in machine_captions(name, inputs.data, "train").values():
            for image, text in by_image.items():
                found.setdefault(image, []).append(text)
    for image, texts in _read_several(inputs.extra.get("machine")).items():
        found.setdefault(image, []).extend(texts)
    return found


def _read_several(path: str | None) -> dict[str, list[str]]:
    """Captions by picture, as many as there are, from a file in any form that references may have."""
    return {image: list(texts) for image, texts in read_references(path).items()} if path else {}
