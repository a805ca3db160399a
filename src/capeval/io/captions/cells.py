"""From a text with cells to tables of raw values: CSV, TSV, and other signs between the cells."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, cast

from capeval.errors import DataError, counted
from capeval.io import longcells
from capeval.io.captions.layout import PLAIN, Layout, Reading, layout_of
from capeval.io.captions.rows import laid_out, of_split
from capeval.io.captions.table import Kind, Table, made_table, without_blanks


def csv_tables(
    stream: IO[bytes],
    source: str,
    kind: Kind,
    delimiter: str = ",",
    size: int | None = None,
    reading: Reading = PLAIN,
) -> Iterator[Table]:
    """Tables of so many rows each, the last of fewer; one of all rows without a size."""
    rows, numbers, before = list[list[str]](), array("q"), 0
    header: list[str] = []
    layout: Layout | None = None
    stream = stream if hasattr(stream, "peek") else io.BufferedReader(cast(Any, stream))
    delimiter = delimiter_of(cast(Any, stream).peek(4096).split(b"\n", 1)[0].decode(errors="replace"), delimiter)

    def table() -> Table:
        return _table_of_cells(rows, numbers, header, source, kind, layout, reading)

    for number, cells in _csv_rows(stream, source, delimiter):
        if header and delimiter == "|":
            cells = _pipe_cells(cells, header, source, number, reading)
        if not header:
            header = [name.strip() for name in cells]
            check_header(header, source)
            layout = layout_of(header, kind, reading, source)
            if layout:
                reading.tell(f"{source}: {layout.described(header)}")
        elif len(cells) != len(header):
            message = f"{counted(len(cells), 'cell')} under a header of {len(header)}"
            raise DataError(f"{message}. A caption that holds the delimiter needs quotes", file=source, line=number)
        else:
            rows.append(cells)
            numbers.append(number)
        if len(rows) == size:
            yield table()
            rows, numbers, before = [], array("q"), before + len(rows)
    if rows or not before:
        yield table()


def delimiter_of(header: str, usual: str) -> str:
    """What stands between the names of the columns: commas or tabs as usual, else bars or semicolons."""
    return next((each for each in (usual, "\t", "|", ";") if each in header), usual)


def _pipe_cells(cells: list[str], header: list[str], source: str, number: int, reading: Reading) -> list[str]:
    """Flickr30k's results.csv: spaces after the bars, and one line that lacks a bar after the number of the caption."""
    cells = [cell.strip() for cell in cells]
    lacking = len(cells) == len(header) - 1 == 2 and cells[1].split(None, 1)
    if lacking and len(lacking) == 2 and lacking[0].isdigit():
        reading.tell(f"{source}, line {number}: a bar is missing after {lacking[0]}; read as if it were there")
        return [cells[0], *lacking]
    return cells


def _table_of_cells(
    rows: list[list[str]],
    numbers: Sequence[int],
    header: list[str],
    source: str,
    kind: Kind,
    layout: Layout | None,
    reading: Reading,
) -> Table:
    if reading.split and "split" in header:
        place = header.index("split")
        kept = of_split(list(zip(rows, numbers, strict=True)), lambda row: row[0][place], reading, source)
        rows, numbers = [cells for cells, _ in kept], [number for _, number in kept]
    if layout:
        at = {name: header.index(name) for name in header}
        values = lambda name: [cells[at[name]] for cells in rows]  # noqa: E731
        return laid_out(source, kind, layout, values, "line", numbers, header)
    places = {name: header.index(name) for name in kind.fields if name in header}
    columns: dict[str, list[Any]] = {name: [cells[place] for cells in rows] for name, place in places.items()}
    return made_table(source, kind, without_blanks(columns, kind), "line", numbers, header)


def _csv_rows(stream: IO[bytes], source: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the number of the line where it begins; quoted cells may hold line breaks."""
    number = 1
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    quoting = csv.QUOTE_NONE if delimiter == "|" else csv.QUOTE_MINIMAL
    reader = longcells.reader(text, delimiter=delimiter, strict=True, quoting=quoting)
    try:
        for cells in reader:
            if cells:
                yield number, cells
            number = reader.line_num + 1
    except longcells.Error as error:
        message = f"broken table: {error}. A cell that holds quotes must be quoted, with each quote inside doubled"
        raise DataError(message, file=source, line=number) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error.reason}", file=source, line=number) from None
    finally:
        with suppress(ValueError):  # its owner has closed it already
            text.detach()


def check_header(header: Sequence[str], source: str) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1 and name})
    if repeated:
        raise DataError(f"the header has the same column twice: {', '.join(repeated)}", file=source)
