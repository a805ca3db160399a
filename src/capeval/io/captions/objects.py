"""From Python objects to a table of raw values; this is also what unusual JSON documents become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from capeval.errors import DataError
from capeval.io.captions.table import ANNOTATIONS, CANDIDATES, Kind, Table, describe, made_table


def table_from_object(obj: Any, source: str, kind: Kind, *, by_position: bool = False) -> Table:
    """`by_position` lets bare captions in a list count as rows; a file has to name its images."""
    if isinstance(obj, Mapping):
        return _table_from_mapping(obj, source, kind)
    if not isinstance(obj, (list, tuple)):
        raise DataError(f"{wanted(kind)}, not {describe(obj)}", file=source)
    if by_position and all(isinstance(entry, (str, list, tuple)) for entry in obj):
        return _table_of_pairs(list(map(str, range(len(obj)))), obj, source, kind)
    return _table_from_mappings(obj, source, kind)


def _table_from_mapping(obj: Mapping[Any, Any], source: str, kind: Kind) -> Table:
    if "annotations" in obj:
        if kind is CANDIDATES:
            message = "these are COCO annotations, which serve as references. Are the two files swapped?"
            raise DataError(message, file=source)
        return _table_from_mappings(obj["annotations"], source, ANNOTATIONS)
    if any(name in obj for name in kind.image_names) and any(name in obj for name in kind.text_names):
        return _table_from_mappings([obj], source, kind)  # one line of JSONL looks like this
    return _table_of_pairs(list(obj), list(obj.values()), source, kind)


def _table_of_pairs(images: list[Any], texts: Sequence[Any], source: str, kind: Kind) -> Table:
    if kind is CANDIDATES:
        texts = [text[0] if isinstance(text, (list, tuple)) and len(text) == 1 else text for text in texts]
    columns = {"image_id": images, kind.text_names[0]: list(texts)}
    return made_table(source, kind, columns, "entry", range(1, len(images) + 1))


def _table_from_mappings(rows: Any, source: str, kind: Kind) -> Table:
    if not isinstance(rows, (list, tuple)):
        raise DataError(f"`{kind.noun}` must be a list, not {describe(rows)}", file=source)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"entry {number}: {wanted(kind)}; this entry is {describe(row)}", file=source)
    columns = {name: [row.get(name, UNSET) for row in rows] for name in kind.fields}
    return made_table(source, kind, columns, "entry", range(1, len(rows) + 1))


def wanted(kind: Kind) -> str:
    if kind is CANDIDATES:
        return 'a list of {"image_id", "caption"} objects is needed'
    return 'COCO annotations, an object id -> captions or a list of {"image_id", "references"} objects is needed'
