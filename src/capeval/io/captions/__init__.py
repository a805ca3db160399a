"""Reading candidate captions and references, and joining them by image id.

Every format becomes one `Table` of raw values, and one set of checks turns tables into texts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from capeval.errors import DataError
from capeval.io.captions.blocks import candidate_blocks
from capeval.io.captions.formats import read_table
from capeval.io.captions.objects import table_from_object
from capeval.io.captions.table import CANDIDATES, REFERENCES, counted
from capeval.io.captions.texts import Candidates, References, candidates_of, references_of
from capeval.io.files import PathLike
from capeval.types import Dataset

__all__ = [
    "Candidates",
    "Joined",
    "References",
    "candidate_blocks",
    "candidates_from",
    "join",
    "read_candidates",
    "read_references",
    "references_from",
]


@dataclass(frozen=True)
class Joined:
    """Candidates with their references, and how many images with references no candidate asked for."""

    dataset: Dataset
    unused_images: int


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Reading makes a great many objects and no garbage; the collector would walk through all of them repeatedly."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collector_paused()
def read_candidates(path: PathLike) -> Candidates:
    """Candidates from a file: COCO results JSON, JSONL, CSV, TSV or Parquet; `-` is standard input."""
    return candidates_of(read_table(path, CANDIDATES))


@_collector_paused()
def read_references(path: PathLike, *more: PathLike) -> References:
    """References from a file: COCO annotations, id -> captions, or rows as JSON, JSONL, CSV, TSV or Parquet.

    Those of more files are added in their order, image by image. A caption that two files have is there twice, as it
    would be in one file.
    """
    found = references_of(read_table(path, REFERENCES))
    for other in more:
        for image, captions in references_of(read_table(other, REFERENCES)).items():
            found[image] = found.get(image, ()) + captions
    return found


def candidates_from(obj: object, source: str = "candidates") -> Candidates:
    """Candidates from a list of captions (ids "0", "1", ...), a dict id -> caption, or a list of COCO result rows."""
    return candidates_of(table_from_object(obj, source, CANDIDATES, by_position=True))


def references_from(obj: object, source: str = "references") -> References:
    """References from a list of lists (ids "0", "1", ...), a dict id -> captions, COCO annotations, or rows."""
    return references_of(table_from_object(obj, source, REFERENCES, by_position=True))


def join(candidates: Candidates, references: References | None, *, strict: bool = False) -> Joined:
    """Give every candidate the references of its image. `strict` refuses references that no candidate uses.

    None is for metrics that need no references.
    """
    if references is None:
        references = dict.fromkeys(candidates.images, ())
    missing = [i for i, image in enumerate(candidates.images) if image not in references]
    if missing:
        line = candidates.lines[missing[0]] if candidates.lines else None
        images = list(dict.fromkeys(candidates.images[i] for i in missing))
        message = f"{counted(len(images), 'image')} of the candidates without references."
        raise DataError(message, file=candidates.source, line=line, ids=images)
    used: dict[str, int] = {}
    group = [used.setdefault(image, len(used)) for image in candidates.images]
    unused = len(references) - len(used)
    if strict and unused:
        message = f"{counted(unused, 'image')} with references but without a candidate."
        raise DataError(message, file=candidates.source, ids=[image for image in references if image not in used])
    sets = [references[image] for image in used]
    dataset = Dataset(candidates.ids, candidates.images, candidates.captions, sets, group, candidates.systems)
    return Joined(dataset, unused)
