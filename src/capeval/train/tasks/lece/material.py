"""What LECE is trained on: human captions, machine captions, Monte Carlo samples and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capeval.errors import CapevalError, DataError
from capeval.io.captions import read_references
from capeval.io.features import Names
from capeval.train.captions import Texts
from capeval.train.data import captions, machine_captions, some_of
from capeval.train.pictures import PictureVectors, Pool
from capeval.train.task import Inputs
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.examples import MACHINE, MC


@dataclass(frozen=True)
class Material:
    """What there is to train on: pictures and their captions."""

    train: Sequence[str]
    validation: Sequence[str]
    """None: a critique is trained to the last epoch."""
    humans: Texts
    machines: Texts = field(default_factory=dict)
    samples: Texts = field(default_factory=dict)
    sources: Sequence[Sequence[str]] = ()
    """The training pictures by source, each source as often as an epoch shows it; nothing: all are one source."""
    named: Sequence[str] = ()
    """The names of data sets among the sources."""
    vectors: PictureVectors | None = None
    """None without pictures."""


def gather(config: Config, inputs: Inputs) -> Material:
    """The captions and pictures that the config asks for, with all that a benchmark uses left out."""
    pool = Pool(inputs.features) if config.context != "reference" else None
    humans: dict[str, tuple[str, ...]] = {}
    validation: list[str] = []
    if not config.negatives:
        raise CapevalError("lece: captions that are not human are needed: name one kind in `negatives` at least")
    for kind in (MACHINE, MC):
        if kind in inputs.extra and kind not in config.negatives:
            raise CapevalError(f"lece: the input {kind} is not used: {kind} is not among the negatives")
    if MC in config.negatives and MC not in inputs.extra:
        raise CapevalError(
            "lece: Monte Carlo samples are needed as the input mc; or leave mc out of the negatives",
            remedy="training_inputs",
        )
    by_source = {source: _usable(captions(source, "train", inputs.data), pool) for source in config.sources}
    known = Names(image for found in by_source.values() for image in found)
    machines = _machines(config, inputs, known) if MACHINE in config.negatives else {}
    samples = _read_several(inputs.extra.get(MC), known) if MC in config.negatives else {}
    sources: list[list[str]] = []
    needs_machines = {MACHINE, MC} & {*config.negatives}
    for source in config.sources:
        found = by_source[source]
        if needs_machines:
            found = {image: texts for image, texts in found.items() if image in machines or image in samples}
        chosen = some_of(sorted(found), config.images)
        sources.append(chosen)
        humans |= {image: found[image] for image in chosen}
        if not needs_machines:
            kept = _usable(captions(source, "val", inputs.data), pool)
            kept = {image: texts for image, texts in kept.items() if image not in found}  # a user's file has no splits
            validation += [image for image in kept if image not in humans]
            humans |= kept
    validation = some_of(validation, config.validation)
    train = list(dict.fromkeys(image for source in sources for image in source))
    if not validation:
        validation = some_of(sorted(train), max(2, min(config.validation, len(train) // 10)), seed=1)
    left_out = {*validation}
    sources = [[image for image in source if image not in left_out] for source in sources]
    train = [image for image in train if image not in left_out]
    return Material(train, validation, humans, machines, samples, sources, config.sources, pool)


def _usable(found: Mapping[str, tuple[str, ...]], pool: Pool | None) -> dict[str, tuple[str, ...]]:
    return {image: texts for image, texts in found.items() if len(texts) > 1 and (pool is None or image in pool)}


def _machines(config: Config, inputs: Inputs, known: Names) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in config.machines:
        for by_image in machine_captions(name, inputs.data, "train").values():
            for image, text in by_image.items():
                found.setdefault(image, []).append(text)
    for image, texts in _read_several(inputs.extra.get(MACHINE), known).items():
        found.setdefault(image, []).extend(texts)
    return found


def _read_several(path: str | None, known: Names) -> dict[str, list[str]]:
    """Captions by picture, as many as there are, from a file in any form that references may have.

    Pictures have the names that the human captions know them by: 9 and 000000000009 are one.
    """
    found: dict[str, list[str]] = {}
    for image, texts in read_references(path).items() if path else ():
        if name := known.find(image):
            found.setdefault(name, []).extend(texts)
    if path and not found:
        raise DataError("none of its pictures is one to train on: see `sources`, and the features given", file=path)
    return found
