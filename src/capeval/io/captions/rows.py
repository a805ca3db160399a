"""From columns under any names to a table under ours."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from capeval.errors import DataError, counted
from capeval.io.captions.layout import Layout, Reading
from capeval.io.captions.table import CANDIDATES, Kind, Table, id_text, made_table, without_blanks

Column = Callable[[str], list[Any]]
"""The values of a column by its name, one for each row, UNSET where there is none."""


def laid_out(
    source: str,
    kind: Kind,
    layout: Layout,
    column: Column,
    unit: str,
    numbers: Sequence[int],
    header: Sequence[str] | None = None,
) -> Table:
    """The columns that the layout names, as a table of candidates or of references."""
    text = kind.text_names[0]
    columns: dict[str, list[Any]] = {"image_id": _ids(layout, column, len(numbers)), text: _texts(layout.texts, column)}
    for name in layout.own:
        columns[name] = column(name)
    if layout.references:
        columns["references"] = listed(_texts(layout.references, column, as_lists=True))
    if kind is not CANDIDATES:
        columns[text] = listed(columns[text])
    if header is not None:
        columns = without_blanks(columns, kind)
    called = {"image_id": ",".join(layout.image) or "the number of the row", text: layout.texts[0]}
    table = made_table(source, kind, columns, unit, numbers, header)
    return Table(source, kind, table.columns, unit, numbers, header, called)


def from_mappings(
    rows: Sequence[Mapping[str, Any]], source: str, kind: Kind, layout: Layout, unit: str, numbers: Sequence[int]
) -> Table:
    return laid_out(source, kind, layout, lambda name: [row.get(name, UNSET) for row in rows], unit, numbers)


def of_split(rows: Sequence[Any], split: Callable[[Any], Any], reading: Reading, source: str) -> list[Any]:
    """The rows of the parts that are wanted."""
    if not reading.split:
        return list(rows)
    kept = [row for row in rows if str(split(row)) in reading.split]
    if not kept:
        there = sorted({str(split(row)) for row in rows})
        wanted = " or ".join(repr(name) for name in reading.split)
        raise DataError(f"no rows of the split {wanted}; there are {', '.join(there)}", file=source, remedy="split")
    reading.tell(f"{source}: {counted(len(kept), 'row')} of {len(rows)}, the split {', '.join(reading.split)}")
    return kept


def _ids(layout: Layout, column: Column, count: int) -> list[Any]:
    if not layout.image:
        return [str(number) for number in range(1, count + 1)]
    if len(layout.image) == 1:
        return column(layout.image[0])
    parts = zip(*(column(name) for name in layout.image), strict=True)
    texts = [[id_text(value) for value in each] for each in parts]
    return [UNSET if None in each else "_".join(map(str, each)) for each in texts]


def _texts(names: Sequence[str], column: Column, *, as_lists: bool = False) -> list[Any]:
    """One column as it is; of several, those captions of each row that are there."""
    if len(names) == 1 and not as_lists:
        return column(names[0])
    if len(names) == 1:
        return column(names[0])
    return [[text for text in row if not is_blank(text)] for row in zip(*(column(name) for name in names), strict=True)]


def is_blank(value: Any) -> bool:
    return value is UNSET or value is None or (isinstance(value, str) and not value.strip())


def listed(values: list[Any]) -> list[Any]:
    """Cells that spell lists, as JSON or as Python does, as lists; others as they are."""
    if not values or not all(isinstance(value, str) and value.lstrip().startswith("[") for value in values):
        return values
    lists = [_list_in(value) for value in values]
    return values if None in lists else lists


def _list_in(cell: str) -> list[str] | None:
    for read in (json.loads, ast.literal_eval):  # the second reads literals alone, nothing is executed
        try:
            found = read(cell.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
    return None
