"""Reading candidate captions and references, and joining them by image id.

Every format becomes one `Table` of raw values, and one set of checks turns tables into texts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from capeval.io.captions.blocks import candidate_blocks
from capeval.io.captions.formats import read_table
from capeval.io.captions.joining import Joined, join, refuse_other_lines, remarks
from capeval.io.captions.layout import PLAIN, Reading
from capeval.io.captions.objects import table_from_object
from capeval.io.captions.table import CANDIDATES, REFERENCES
from capeval.io.captions.texts import Candidates, References, candidates_of, references_of
from capeval.io.files import PathLike

__all__ = [
    "Candidates",
    "Joined",
    "Reading",
    "References",
    "candidate_blocks",
    "candidates_from",
    "join",
    "read_candidates",
    "read_references",
    "references_from",
    "remarks",
]


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
def read_candidates(path: PathLike, reading: Reading = PLAIN) -> Candidates:
    """Candidates from a file: COCO results JSON, JSONL, CSV, TSV, Parquet, lines, ...; `-` is standard input."""
    return candidates_of(read_table(path, CANDIDATES, reading), reading)


@_collector_paused()
def read_references(path: PathLike, *more: PathLike, reading: Reading = PLAIN) -> References:
    """References from a file: COCO annotations, id -> captions, rows, lines, or a data set's own form.

    Those of more files are added in their order, image by image. A caption that two files have is there twice, as it
    would be in one file.
    """
    table = read_table(path, REFERENCES, reading)
    found = references_of(table)
    for other in more:
        next_table = read_table(other, REFERENCES, reading)
        if table.by_line and next_table.by_line:
            refuse_other_lines(table, next_table)
        for image, captions in references_of(next_table).items():
            found[image] = found.get(image, ()) + captions
    return found


def candidates_from(obj: object, source: str = "candidates", reading: Reading = PLAIN) -> Candidates:
    """Candidates from a list of captions (ids "0", "1", ...), a dict id -> caption, or a list of COCO result rows."""
    return candidates_of(table_from_object(obj, source, CANDIDATES, reading, by_position=True), reading)


def references_from(obj: object, source: str = "references", reading: Reading = PLAIN) -> References:
    """References from a list of lists (ids "0", "1", ...), a dict id -> captions, COCO annotations, or rows."""
    return references_of(table_from_object(obj, source, REFERENCES, reading, by_position=True))
