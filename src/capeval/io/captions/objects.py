"""From Python objects to a table of raw values; this is also what unusual JSON documents become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from capeval.errors import DataError
from capeval.io.captions.documents import table_of_document
from capeval.io.captions.layout import PLAIN, Reading, layout_of
from capeval.io.captions.rows import from_mappings, laid_out, of_split
from capeval.io.captions.table import CANDIDATES, Kind, Table, describe, made_table


def table_from_object(
    obj: Any, source: str, kind: Kind, reading: Reading = PLAIN, *, by_position: bool = False
) -> Table:
    """`by_position` lets bare captions in a list count as rows; a file has to name its images."""
    if isinstance(obj, Mapping):
        return _table_from_mapping(obj, source, kind, reading)
    if not isinstance(obj, (list, tuple)):
        raise DataError(f"{wanted(kind)}, not {describe(obj)}", file=source)
    if by_position and all(isinstance(entry, (str, list, tuple)) for entry in obj):
        return _table_of_pairs(list(map(str, range(len(obj)))), obj, source, kind, reading)
    return _table_from_mappings(obj, source, kind, reading)


def _table_from_mapping(obj: Mapping[Any, Any], source: str, kind: Kind, reading: Reading) -> Table:
    table = table_of_document(obj, source, kind, reading)
    if table:
        if kind is CANDIDATES and not reading.several:
            message = "these are COCO annotations, which serve as references. Are the two files swapped?"
            if "annotations" not in obj:
                message = "these are the captions of a data set, which serve as references. Are the two files swapped?"
            raise DataError(message, file=source)
        return table
    if any(name in obj for name in kind.image_names) and any(name in obj for name in kind.text_names):
        return _table_from_mappings([obj], source, kind, reading)  # one line of JSONL looks like this
    layout = layout_of([str(name) for name in obj], kind, reading, source)
    if layout:
        used = [obj[name] for name in (*layout.image, *layout.texts, *layout.references)]
        if all(isinstance(values, list) for values in used) and len({len(values) for values in used}) == 1:
            reading.tell(f"{source}: {layout.described(obj)}")
            numbers = range(1, len(used[0]) + 1)
            return laid_out(source, kind, layout, lambda name: list(obj[name]), "entry", numbers)
        if all(isinstance(obj[name], str) for name in layout.texts):
            return _table_from_mappings([obj], source, kind, reading)
    return _table_of_pairs(list(obj), list(obj.values()), source, kind, reading)


def _table_of_pairs(images: list[Any], texts: Sequence[Any], source: str, kind: Kind, reading: Reading) -> Table:
    if kind is CANDIDATES:
        texts = [text[0] if isinstance(text, (list, tuple)) and len(text) == 1 else text for text in texts]
    columns = {"image_id": images, kind.text_names[0]: list(texts)}
    return made_table(source, kind, columns, "entry", range(1, len(images) + 1))


def _table_from_mappings(rows: Sequence[Any], source: str, kind: Kind, reading: Reading) -> Table:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"entry {number}: {wanted(kind)}; this entry is {describe(row)}", file=source)
    names = [str(name) for name in rows[0]] if rows else []
    if reading.split and "split" in names:
        rows = of_split(rows, lambda row: row.get("split", ""), reading, source)
    numbers = range(1, len(rows) + 1)
    layout = layout_of(names, kind, reading, source)
    if layout:
        reading.tell(f"{source}: {layout.described(names)}")
        return from_mappings(rows, source, kind, layout, "entry", numbers)
    if _are_pairs(rows, kind):
        reading.tell(f"{source}: a list of objects, an id and its caption each")
        ids, texts = [next(iter(row)) for row in rows], [next(iter(row.values())) for row in rows]
        return _table_of_pairs(ids, texts, source, kind, reading)
    columns = {name: [row.get(name, UNSET) for row in rows] for name in kind.fields}
    return made_table(source, kind, columns, "entry", numbers)


def _are_pairs(rows: Sequence[Mapping[Any, Any]], kind: Kind) -> bool:
    """`[{"42": "a dog"}, {"43": "a cat"}]`: the only name in each is the id of its image."""
    return bool(rows) and all(len(row) == 1 and next(iter(row)) not in kind.fields for row in rows)


def wanted(kind: Kind) -> str:
    if kind is CANDIDATES:
        return 'a list of {"image_id", "caption"} objects is needed'
    return 'COCO annotations, an object id -> captions or a list of {"image_id", "references"} objects is needed'
