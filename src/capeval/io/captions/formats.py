"""From a file to a table of raw values: JSON, JSONL, CSV, TSV, Parquet and lines of text.

JSON is decoded straight into typed rows; only when that fails is it read again the slow way, which accepts more and can
tell what is wrong and where.
"""

from __future__ import annotations

import io
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from capeval.errors import DataError
from capeval.io.captions.cells import check_header, csv_tables, delimiter_of
from capeval.io.captions.layout import PLAIN, Layout, Reading, layout_of
from capeval.io.captions.lines import ENDINGS, WITH_IDS, table_from_lines
from capeval.io.captions.objects import table_from_object
from capeval.io.captions.rows import from_mappings, laid_out
from capeval.io.captions.table import (
    ANNOTATIONS,
    REFERENCES,
    AnnotationFile,
    Kind,
    Table,
    describe,
    made_table,
    repeats,
    table_from_structs,
    without_blanks,
)
from capeval.io.files import (
    PathLike,
    format_from_name,
    import_pyarrow,
    is_standard_stream,
    read_bytes,
    source_name,
    utf8_without_bom,
)


def read_table(path: PathLike, kind: Kind, reading: Reading = PLAIN) -> Table:
    source, data = source_name(path), read_bytes(path)
    file_format = format_from_name(path) or _sniff(data)
    if data and file_format == "parquet":
        return _table_from_parquet(data, source, kind, reading)
    data = utf8_without_bom(data, source)
    if not data or data.isspace():
        raise DataError("the file is empty", file=source)
    if file_format in ("csv", "tsv") and not format_from_name(path) and _holds_lines(path, data, kind, reading):
        return table_from_lines(data, source, kind, reading)
    readers: dict[str, Callable[[bytes, str, Kind, Reading], Table]] = {
        "json": _table_from_json,
        "jsonl": _table_from_jsonl,
        "csv": _table_from_csv,
        "tsv": _table_from_tsv,
    }
    return readers[file_format](data, source, kind, reading)


def _holds_lines(path: PathLike, data: bytes, kind: Kind, reading: Reading) -> bool:
    """Whether a file whose name does not tell is lines of text: its first line has no names of columns."""
    first = data.lstrip().split(b"\n", 1)[0].decode(errors="replace")
    delimiter = delimiter_of(first, ",")
    names = [name.strip() for name in first.split(delimiter)]
    if {*names} & {*kind.image_names, *kind.text_names, *reading.id} or layout_of(names, kind, reading, str(path)):
        return False
    ending = Path(os.fspath(path).lower().removesuffix(".gz")).suffix
    is_stream = is_standard_stream(path)
    return delimiter not in first or (ending in ENDINGS and not is_stream) or bool(WITH_IDS.match(first))


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


def _table_from_json(data: bytes, source: str, kind: Kind, reading: Reading) -> Table:
    try:
        if data.lstrip()[:1] == b"[" and _is_ours(_first_names(data), source, kind, reading):
            rows = msgspec.json.decode(data, type=kind.rows)
            return table_from_structs(rows, source, kind)
        if kind is REFERENCES and b'"annotations"' in data and not (reading.id or reading.split or _is_vizwiz(data)):
            annotations = msgspec.json.decode(data, type=AnnotationFile).annotations
            if annotations is not UNSET:
                return table_from_structs(annotations, source, ANNOTATIONS)
    except (msgspec.DecodeError, RecursionError):
        pass  # below it is read again, to accept what is legal though unusual and to explain the rest
    return table_from_object(_parse_json(data, source), source, kind, reading)


def _is_vizwiz(data: bytes) -> bool:
    """Whether annotations say of themselves that they do not count."""
    return b'"is_rejected"' in data or b'"is_precanned"' in data


def _first_names(data: bytes) -> list[str]:
    """The names in the first object of a list; none where that cannot be told at once."""
    begin = data.find(b"{")
    head = data[begin : begin + 65536].decode(errors="ignore")
    try:
        first, _ = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return []
    return list(first) if isinstance(first, dict) else []


def _is_ours(names: Sequence[str], source: str, kind: Kind, reading: Reading) -> bool:
    """Whether rows with these names can be decoded at once: ours are there, and nothing else is asked for."""
    if reading.split and "split" in names:
        return False
    has_ours = any(name in names for name in kind.image_names) and any(name in names for name in kind.text_names)
    return not names or (has_ours and layout_of(names, kind, reading, source) is None)


def _table_from_jsonl(data: bytes, source: str, kind: Kind, reading: Reading) -> Table:
    # BytesIO ends lines at \n only: the other line breaks of Unicode may stand inside a caption.
    return next(jsonl_tables(io.BytesIO(data), source, kind, reading=reading))


def jsonl_tables(
    lines: Iterable[bytes], source: str, kind: Kind, size: int | None = None, reading: Reading = PLAIN
) -> Iterator[Table]:
    """Tables of so many rows each, the last of fewer; one of all rows without a size."""
    decode = msgspec.json.Decoder(kind.row).decode
    layout: Layout | None = None
    rows, numbers, before = list[Any](), array("q"), 0

    def table() -> Table:
        if layout:
            return from_mappings(rows, source, kind, layout, "line", numbers)
        return table_from_structs(rows, source, kind, "line", numbers)

    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        if not rows and not before:  # the first row tells what the others are like
            names = _names_in_line(line)
            layout = layout_of(names, kind, reading, source)
            if layout:
                reading.tell(f"{source}: {layout.described(names)}")
        if layout:
            row = _object_in_line(line, number, source)
        else:
            try:
                row = decode(line)
            except (msgspec.DecodeError, RecursionError):
                row = _struct_from_line(line, number, source, kind)
        rows.append(row)
        numbers.append(number)
        if len(rows) == size:
            yield table()
            rows, numbers, before = [], array("q"), before + len(rows)
    if rows or not before:
        yield table()


def _names_in_line(line: bytes) -> list[str]:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return []
    return list(row) if isinstance(row, dict) else []


def _object_in_line(line: bytes, number: int, source: str) -> dict[str, Any]:
    row = _parse_json(line, source, number)
    if not isinstance(row, dict):
        raise DataError(f"a JSON object is needed, not {describe(row)}", file=source, line=number)
    return row


def _struct_from_line(line: bytes, number: int, source: str, kind: Kind) -> Any:
    row = _object_in_line(line, number, source)
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


def _table_from_tsv(data: bytes, source: str, kind: Kind, reading: Reading) -> Table:
    return _table_from_csv(data, source, kind, reading, delimiter="\t")


def _table_from_csv(data: bytes, source: str, kind: Kind, reading: Reading, delimiter: str = ",") -> Table:
    return next(csv_tables(io.BytesIO(data), source, kind, delimiter, reading=reading))


def _table_from_parquet(data: bytes, source: str, kind: Kind, reading: Reading) -> Table:
    arrow, parquet = import_pyarrow()
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        header = list(file.schema_arrow.names)
        check_header(header, source)
        layout = layout_of(header, kind, reading, source)
        wanted = [name for name in kind.fields if name in header]
        if layout:
            wanted = layout.columns()
        values = file.read(columns=wanted)
        columns = {name: values.column(name).to_pylist() for name in wanted}
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"not a readable Parquet file: {error}", file=source) from error
    numbers = range(1, file.metadata.num_rows + 1)
    if layout:
        reading.tell(f"{source}: {layout.described(header)}")
        return laid_out(source, kind, layout, columns.__getitem__, "row", numbers, header)
    columns = without_blanks(columns, kind)
    return made_table(source, kind, columns, "row", numbers, header)
