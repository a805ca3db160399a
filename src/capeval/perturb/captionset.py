"""The captions that are changed, and their versions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from capeval.errors import DataError, counted
from capeval.io import captions
from capeval.perturb.transforms import Places
from capeval.run import Run
from capeval.types import Dataset

Captions = str | os.PathLike[str] | Mapping[Any, Any] | Sequence[Any]
"""A file, or what `capeval.score` takes in its place."""

UNTOUCHED = "untouched"


def references_of(source: Captions, sample: int | None = None, seed: int = 0) -> captions.References:
    """References by image; with `sample` only of that many images, drawn with the seed."""
    if isinstance(source, str | os.PathLike):
        found = captions.read_references(source)
    else:
        found = captions.references_from(source)
    return {image: found[image] for image in _drawn(list(found), sample, seed)}


def _drawn(images: Sequence[str], sample: int | None, seed: int) -> list[str]:
    if sample is None or sample >= len(images):
        return list(images)
    chosen = np.random.default_rng(seed).choice(len(images), sample, replace=False)
    return [images[place] for place in sorted(chosen.tolist())]


def caption_set(
    candidates: Captions | None,
    references: Captions,
    *,
    seed: int = 0,
    sample: int | None = None,
    run: Run | None = None,
) -> Dataset:
    """The candidates with their references. Without candidates: one reference of each image, drawn with the seed, is
    held out as the candidate, and the others stay."""
    if candidates is None:
        return _human_captions(references_of(references, sample, seed), seed, run or Run())
    if isinstance(candidates, str | os.PathLike):
        given = captions.read_candidates(candidates)
    else:
        given = captions.candidates_from(candidates)
    if len(set(given.systems)) > 1:
        raise DataError("captions of one system are needed, and this file has several", file=given.source)
    dataset = captions.join(given, references_of(references)).dataset
    chosen = set(_drawn(list(dict.fromkeys(dataset.images)), sample, seed))
    return dataset.rows([row for row, image in enumerate(dataset.images) if image in chosen])


def _human_captions(references: captions.References, seed: int, run: Run) -> Dataset:
    rng = np.random.default_rng(seed)
    several = {image: texts for image, texts in references.items() if len(texts) > 1}
    if not several:
        raise DataError(
            "to hold out one reference of each image, images need two at least. Give candidates to change instead"
        )
    if len(several) < len(references):
        run.progress.note(f"{counted(len(references) - len(several), 'image')} with one reference only left out.")
    held = [int(rng.integers(len(texts))) for texts in several.values()]
    return Dataset(
        list(several),
        list(several),
        [texts[place] for texts, place in zip(several.values(), held)],
        [texts[:place] + texts[place + 1 :] for texts, place in zip(several.values(), held)],
        np.arange(len(several), dtype=np.int32),
    )


@dataclass(frozen=True)
class Versions:
    """Captions as they are, and changed in several ways. None stands where a caption could not be changed so."""

    base: Dataset
    changed: Mapping[str, Sequence[str | None]]
    """By version, a text for each row of `base`."""

    @cached_property
    def rows(self) -> dict[str, Places]:
        """By version, which rows of `base` it has."""
        everything = {UNTOUCHED: np.arange(len(self.base), dtype=np.intp)}
        return everything | {
            name: np.array([row for row, text in enumerate(texts) if text is not None], np.intp)
            for name, texts in self.changed.items()
        }

    @cached_property
    def places(self) -> dict[str, Places]:
        """By version, its rows in `dataset`."""
        ends = np.cumsum([len(rows) for rows in self.rows.values()])
        return {name: np.arange(end - len(self.rows[name]), end) for name, end in zip(self.rows, ends.tolist())}

    @cached_property
    def dataset(self) -> Dataset:
        """All versions one after the other. They share reference sets, so document frequencies are those of `base`."""
        base, picked = self.base, list(self.rows.items())
        if len(set(base.ids)) != len(base):
            raise DataError("ids of captions occur twice")
        texts: dict[str, Sequence[str | None]] = {UNTOUCHED: base.candidates, **self.changed}
        return Dataset(
            [f"{base.ids[row]}|{name}" for name, rows in picked for row in rows],
            [base.images[row] for _, rows in picked for row in rows],
            [str(texts[name][row]) for name, rows in picked for row in rows],
            base.reference_sets,
            np.concatenate([base.group[rows] for _, rows in picked]),
        )

    def tags(self) -> list[dict[str, str]]:
        return [{"of": self.base.ids[row], "version": name} for name, rows in self.rows.items() for row in rows]
