"""Candidates and their references brought together by image, and what is odd about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from capeval.errors import DataError, counted
from capeval.io.captions.table import Table
from capeval.io.captions.texts import Candidates, References
from capeval.types import Dataset


@dataclass(frozen=True)
class Joined:
    """Candidates with their references, and how many images with references no candidate asked for."""

    dataset: Dataset
    unused_images: int
    endings: str = ""
    """Endings of file names that were left out of the ids, because the other file has none."""


def join(candidates: Candidates, references: References | None, *, strict: bool = False) -> Joined:
    """Give every candidate the references of its image. `strict` refuses references that no candidate uses.

    None is for references that stand in the candidates' file, and for metrics that need none. Where no image has the
    same id in both, ids are compared without the endings of file names.
    """
    images, endings = candidates.images, ""
    if references is None:
        references = candidates.references
    if references is None:
        references = dict.fromkeys(images, ())
    else:
        if candidates.by_line:
            _refuse_other_count(candidates, references)
        if not any(image in references for image in images):
            references, images, endings = _without_endings(references, images)
        _refuse_missing(candidates, images, references)
    used: dict[str, int] = {}
    group = [used.setdefault(image, len(used)) for image in images]
    unused = len(references) - len(used)
    if strict and unused:
        message = f"{counted(unused, 'image')} with references but without a candidate."
        raise DataError(message, file=candidates.source, ids=[image for image in references if image not in used])
    sets = [references[image] for image in used]
    dataset = Dataset(candidates.ids, candidates.images, candidates.captions, sets, group, candidates.systems)
    return Joined(dataset, unused, endings)


def _refuse_missing(candidates: Candidates, names: Sequence[str], references: References) -> None:
    missing = [i for i, image in enumerate(names) if not references.get(image)]
    if not missing:
        return
    line = candidates.lines[missing[0]] if candidates.lines else None
    images = list(dict.fromkeys(candidates.images[i] for i in missing))
    message = f"{counted(len(images), 'image')} of the candidates without references."
    if len(missing) == len(names):
        there = ", ".join(repr(image) for image in list(references)[:3])
        message = f"none of the {counted(len(images), 'image')} has references, whose ids are like {there}."
    raise DataError(message, file=candidates.source, line=line, ids=images)


_ENDING = re.compile(r"\.(jpe?g|png|webp|gif|bmp|tiff?|wav|mp3|flac|ogg|m4a|mp4|avi|webm|mkv|mov)$", re.IGNORECASE)


def _without_endings(references: References, images: list[str]) -> tuple[References, list[str], str]:
    """Both without the endings of file names, if that brings them together and keeps images apart."""
    shorter = {_ENDING.sub("", image): captions for image, captions in references.items()}
    names = [_ENDING.sub("", image) for image in images]
    if len(shorter) < len(references) or len(set(names)) < len(set(images)) or not set(names) <= shorter.keys():
        return references, images, ""
    endings = sorted({match[0] for name in [*references, *images] if (match := _ENDING.search(name))})
    return shorter, names, ", ".join(endings)


def refuse_other_lines(first: Table, other: Table) -> None:
    if len(first.numbers) != len(other.numbers):
        raise DataError(
            f"{counted(len(other.numbers), 'line')}, but {first.source} has {len(first.numbers)}: files of lines "
            "belong together line by line",
            file=other.source,
        )


def _refuse_other_count(candidates: Candidates, references: References) -> None:
    images = list(dict.fromkeys(candidates.images))
    if list(references) != images:
        raise DataError(
            f"{counted(len(images), 'line')}, but the references are {len(references)} or go by ids: a file of lines "
            "goes with files of lines, line by line",
            file=candidates.source,
        )


def remarks(dataset: Dataset) -> list[str]:
    """What is odd about captions, though it can be scored."""
    empty = [key for key, text in zip(dataset.ids, dataset.candidates, strict=True) if not text.strip()]
    holes = [
        key
        for key, text in zip(dataset.ids, dataset.candidates, strict=True)
        if text.strip().lower() in ("nan", "none", "null", "<na>")
    ]
    blank = sum(not text.strip() for texts in dataset.reference_sets for text in texts)
    found = []
    if empty:
        found.append(f"{counted(len(empty), 'caption')} without a word (score 0): {_first(empty)}")
    if holes:
        found.append(f"{counted(len(holes), 'caption')} that only says nan, none or null: {_first(holes)}")
    if blank:
        found.append(f"{counted(blank, 'reference')} without a word")
    return found


def _first(ids: Sequence[str]) -> str:
    return ", ".join(repr(key) for key in ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
