"""From a file to a table of raw values: JSON, JSONL, CSV, TSV and Parquet.

JSON is decoded straight into typed rows; only when that fails is it read again the slow way, which accepts more and can
tell what is wrong and where.
"""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import msgspec
from msgspec import UNSET

from capeval.errors import DataError
from capeval.io import longcells
from capeval.io.captions.objects import table_from_object
from capeval.io.captions.table import (
    ANNOTATIONS,
    REFERENCES,
    AnnotationFile,
    Kind,
    Table,
    counted,
    describe,
    made_table,
    repeats,
    table_from_structs,
    without_blanks,
)
from capeval.io.files import PathLike, format_from_name, import_pyarrow, read_bytes, source_name, utf8_without_bom


def read_table(path: PathLike, kind: Kind) -> Table:
    source, data = source_name(path), read_bytes(path)
    file_format = format_from_name(path) or _sniff(data)
    if data and file_format == "parquet":
        return _table_from_parquet(data, source, kind)
    data = utf8_without_bom(data, source)
    if not data or data.isspace():
        raise DataError("the file is empty", file=source)
    readers: dict[str, Callable[[bytes, str, Kind], Table]] = {
        "json": _table_from_json,
        "jsonl": _table_from_jsonl,
        "csv": _table_from_csv,
        "tsv": _table_from_tsv,
    }
    return readers[file_format](data, source, kind)


def _sniff(data: bytes) -> str:
    """The format by the first line; nothing is parsed."""
    if data.startswith(b"PAR1"):
        return "parquet"
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    end = text.find(b"\n") + 1
    if text.startswith(b"{"):
        # An object that ends with its line, and more after it: one object per line.
        is_line = text[:end].rstrip().endswith(b"}") and text[end : end + 4096].strip()
        return "jsonl" if is_line else "json"
    if text.startswith(b"["):
        return "json"
    return "tsv" if b"\t" in text[: end or None] else "csv"


def _table_from_json(data: bytes, source: str, kind: Kind) -> Table:
    try:
        if data.lstrip()[:1] == b"[":
            rows = msgspec.json.decode(data, type=kind.rows)
            return table_from_structs(rows, source, kind)
        if kind is REFERENCES and b'"annotations"' in data:
            annotations = msgspec.json.decode(data, type=AnnotationFile).annotations
            if annotations is not UNSET:
                return table_from_structs(annotations, source, ANNOTATIONS)
    except (msgspec.DecodeError, RecursionError):
        pass  # below it is read again, to accept what is legal though unusual and to explain the rest
    return table_from_object(_parse_json(data, source), source, kind)


def _table_from_jsonl(data: bytes, source: str, kind: Kind) -> Table:
    # BytesIO ends lines at \n only: the other line breaks of Unicode may stand inside a caption.
    return next(jsonl_tables(io.BytesIO(data), source, kind))


def jsonl_tables(lines: Iterable[bytes], source: str, kind: Kind, size: int | None = None) -> Iterator[Table]:
    """Tables of so many rows each, the last of fewer; one of all rows without a size."""
    decode = msgspec.json.Decoder(kind.row).decode
    rows, numbers, before = list[Any](), array("q"), 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = decode(line)
        except (msgspec.DecodeError, RecursionError):
            row = _struct_from_line(line, number, source, kind)
        rows.append(row)
        numbers.append(number)
        if len(rows) == size:
            yield table_from_structs(rows, source, kind, "line", numbers)
            rows, numbers, before = [], array("q"), before + len(rows)
    if rows or not before:
        yield table_from_structs(rows, source, kind, "line", numbers)


def _struct_from_line(line: bytes, number: int, source: str, kind: Kind) -> Any:
    row = _parse_json(line, source, number)
    if not isinstance(row, dict):
        raise DataError(f"a JSON object is needed, not {describe(row)}", file=source, line=number)
    return kind.row(**{name: row[name] for name in kind.fields if name in row})  # types are checked later


def _parse_json(data: bytes, source: str, line: int | None = None) -> Any:
    """Any JSON value. `line` is the number of the only line there is, else lines are counted in `data`."""
    text = data.decode("utf-8")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = list(dict.fromkeys(keys[i] for i in repeats(keys)))
            raise DataError("a JSON object has the same key twice.", file=source, line=line, ids=repeated)
        return values

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        message = f"broken JSON at column {error.colno}: {error.msg}"
        if line is None and error.msg == "Extra data":
            message += ". For one JSON object per line name the file .jsonl"
        raise DataError(message, file=source, line=line or error.lineno) from None
    except RecursionError:
        raise DataError("the JSON is nested too deeply", file=source, line=line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DataError(f"broken JSON: {error}", file=source, line=line) from None


def _table_from_tsv(data: bytes, source: str, kind: Kind) -> Table:
    return _table_from_csv(data, source, kind, delimiter="\t")


def _table_from_csv(data: bytes, source: str, kind: Kind, delimiter: str = ",") -> Table:
    return next(csv_tables(io.BytesIO(data), source, kind, delimiter))


def csv_tables(
    stream: IO[bytes], source: str, kind: Kind, delimiter: str = ",", size: int | None = None
) -> Iterator[Table]:
    """Tables of so many rows each, the last of fewer; one of all rows without a size."""
    rows, numbers, before = list[list[str]](), array("q"), 0
    header: list[str] = []
    for number, cells in _csv_rows(stream, source, delimiter):
        if not header:
            header = [name.strip() for name in cells]
            check_header(header, source)
        elif len(cells) != len(header):
            message = f"{counted(len(cells), 'cell')} under a header of {len(header)}"
            raise DataError(f"{message}. A caption that holds the delimiter needs quotes", file=source, line=number)
        else:
            rows.append(cells)
            numbers.append(number)
        if len(rows) == size:
            yield _table_of_cells(rows, numbers, header, source, kind)
            rows, numbers, before = [], array("q"), before + len(rows)
    if rows or not before:
        yield _table_of_cells(rows, numbers, header, source, kind)


def _table_of_cells(rows: list[list[str]], numbers: array[int], header: list[str], source: str, kind: Kind) -> Table:
    places = {name: header.index(name) for name in kind.fields if name in header}
    columns: dict[str, list[Any]] = {name: [cells[place] for cells in rows] for name, place in places.items()}
    return made_table(source, kind, without_blanks(columns, kind), "line", numbers, header)


def _csv_rows(stream: IO[bytes], source: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the number of the line where it begins; quoted cells may hold line breaks."""
    number = 1
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    reader = longcells.reader(text, delimiter=delimiter, strict=True)
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


def _table_from_parquet(data: bytes, source: str, kind: Kind) -> Table:
    arrow, parquet = import_pyarrow()
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        header = list(file.schema_arrow.names)
        check_header(header, source)
        wanted = [name for name in kind.fields if name in header]
        values = file.read(columns=wanted)
        columns = {name: values.column(name).to_pylist() for name in wanted}
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"not a readable Parquet file: {error}", file=source) from error
    columns = without_blanks(columns, kind)
    return made_table(source, kind, columns, "row", range(1, file.metadata.num_rows + 1), header)
