"""Scores of captions in files: ours are written, those made elsewhere are read.

What is written is JSONL, JSON, CSV, TSV or Parquet, by the name of the file. A row is `{"id", "image", "candidate",
"scores": {name: number or None}}`, with `"system"` where there is one; it can be read again as candidates. What is read
is CSV, TSV or JSONL with an `id` and one or more scores in each row.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Literal

import msgspec
import numpy as np

from capeval.errors import DataError
from capeval.io import longcells
from capeval.io.files import (
    PathLike,
    format_from_name,
    import_pyarrow,
    read_bytes,
    source_name,
    utf8_without_bom,
    writing,
)
from capeval.types import Array

Rows = Iterable[Mapping[str, Any]]

# Columns of our own files that are no scores: of scores, of captions, and of what `capeval robust` writes.
_NOT_SCORES = frozenset({
    "id", "image", "candidate", "system", "image_id", "caption", "references", "of", "version", "pair", "category",
    "right",
})  # fmt: skip
_SHOWN = 60  # characters of a wrong value


# Writing ----------------------------------------------------------------------------------------------------------


def write_rows(path: PathLike, rows: Rows) -> None:
    """Write rows in the format of the file name (JSONL where it says nothing); `-` is standard output.

    The file appears whole or not at all. Scores that are not finite raise ValueError: JSON has no word for them.
    """
    writers: dict[str, Callable[[IO[bytes], Rows], None]] = {
        "json": _write_json,
        "jsonl": _write_jsonl,
        "csv": _write_csv,
        "tsv": _write_tsv,
        "parquet": _write_parquet,
    }
    with writing(path) as stream:
        writers[format_from_name(path) or "jsonl"](stream, rows)


def _encoded(rows: Rows) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for row in rows:
        system = {"system": row["system"]} if row.get("system") else {}
        yield encode(
            {"id": row["id"], "image": row["image"]} | system | {"candidate": row["candidate"], "scores": _scores(row)}
        )


def _write_jsonl(stream: IO[bytes], rows: Rows) -> None:
    for line in _encoded(rows):
        stream.write(line + b"\n")


def _write_json(stream: IO[bytes], rows: Rows) -> None:
    stream.write(b"[")
    for number, entry in enumerate(_encoded(rows)):
        stream.write((b",\n" if number else b"\n") + entry)
    stream.write(b"\n]\n")


def _write_tsv(stream: IO[bytes], rows: Rows) -> None:
    _write_csv(stream, rows, delimiter="\t")


def _write_csv(stream: IO[bytes], rows: Rows, delimiter: str = ",") -> None:
    columns = _flat_columns(rows)
    # Before Python 3.13 the writer leaves a carriage return without the quotes it needs, unless all texts are quoted.
    has_return = any(isinstance(cell, str) and "\r" in cell for cells in columns.values() for cell in cells)
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    text.detach()  # flushes, and leaves the stream open for its owner


def _write_parquet(stream: IO[bytes], rows: Rows) -> None:
    arrow, parquet = import_pyarrow()
    columns = _flat_columns(rows)
    texts = ("id", "image", "system", "candidate")
    types = {name: arrow.string() if name in texts else arrow.float64() for name in columns}
    parquet.write_table(arrow.table({name: arrow.array(columns[name], types[name]) for name in columns}), stream)


def _flat_columns(rows: Rows) -> dict[str, list[Any]]:
    """One column per field and per score; `system` only where some row has one."""
    columns: dict[str, list[Any]] = {"id": [], "image": [], "system": [], "candidate": []}
    score_names: list[str] | None = None
    for row in rows:
        scores = _scores(row)
        if score_names is None:
            score_names = list(scores)
            columns.update({name: [] for name in score_names})
        elif list(scores) != score_names:
            raise ValueError(f"row {row['id']!r} has the scores {list(scores)}, the first row has {score_names}")
        columns["id"].append(row["id"])
        columns["image"].append(row["image"])
        columns["system"].append(row.get("system", ""))
        columns["candidate"].append(row["candidate"])
        for name, score in scores.items():
            columns[name].append(score)
    if not any(columns["system"]):
        del columns["system"]
    return columns


def _scores(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Scores as plain numbers, whatever kind of NumPy scalar they are; None is a score that does not exist."""
    scores = {name: None if score is None else float(score) for name, score in row["scores"].items()}
    for name, score in scores.items():
        if score is not None and not math.isfinite(score):
            raise ValueError(f"row {row['id']!r}: the score {name} is {score}")
    return scores


# Reading ----------------------------------------------------------------------------------------------------------


def read_scores(path: PathLike, ids: Sequence[str]) -> dict[str, Array]:
    """By metric, the score of each id; NaN where the file leaves it blank (or null).

    Every id must be in the file once. Ids that the benchmark does not have are ignored. JSONL rows may hold their
    scores in an object `scores`, as `capeval score --per-caption` writes them.
    """
    source = source_name(path)
    place = {name: number for number, name in enumerate(ids)}
    columns: dict[str, Array] = {}
    seen: set[str] = set()
    for line, row in score_rows(path):
        name = str(row.get("id", ""))
        if name not in place:
            continue
        if name in seen:
            raise DataError("the same id twice.", file=source, line=line, ids=[name])
        seen.add(name)
        for metric, value in scores_of(row, source, line).items():
            columns.setdefault(metric, np.full(len(ids), np.nan))[place[name]] = value
    missing = [name for name in ids if name not in seen]
    if missing:
        remedy = "" if seen else "score_ids"
        raise DataError(f"{len(missing)} of {len(ids)} rows have no score.", file=source, ids=missing, remedy=remedy)
    if not columns:
        raise DataError("it has no column of scores", file=source)
    return columns


def score_rows(path: PathLike) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the file with their lines."""
    source = source_name(path)
    text = utf8_without_bom(read_bytes(path), source).decode()
    kind = format_from_name(path) or ("jsonl" if text.lstrip().startswith("{") else "csv")
    if kind not in ("csv", "tsv", "jsonl"):
        raise DataError("scores come as CSV, TSV or JSONL", file=source)
    if kind != "jsonl":
        yield from _table_rows(text, "\t" if kind == "tsv" else ",", source)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise DataError(f"broken JSON: {problem}", file=source, line=number) from None
            if not isinstance(row, dict) or "id" not in row:
                raise DataError("an object with an `id` is needed", file=source, line=number)
            yield number, row


def _table_rows(text: str, delimiter: str, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = longcells.reader(io.StringIO(text), delimiter=delimiter)
    try:
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except longcells.Error as problem:
        raise DataError(f"not a table: {problem}", file=source, line=reader.line_num) from None
    names = [name.strip() for name in rows[0][1]] if rows else []
    if "id" not in names:
        raise DataError("a column `id` is needed", file=source, line=1)
    if "" in names or len({*names}) < len(names):
        raise DataError("a column has no name, or two have the same", file=source, line=1)
    for line, cells in rows[1:]:
        if len(cells) != len(names):
            raise DataError("more or fewer cells than the header has", file=source, line=line)
        yield line, dict(zip(names, cells))


def scores_of(row: dict[str, Any], source: str, line: int) -> dict[str, float]:
    """By metric, the scores of one row; NaN for a blank."""
    nested = row.get("scores")
    given = nested if isinstance(nested, dict) else {key: row[key] for key in row if key not in _NOT_SCORES}
    scores = {}
    for name, value in given.items():
        try:
            if isinstance(value, bool):
                raise TypeError
            number = math.nan if value in (None, "") else float(value)
        except (TypeError, ValueError, OverflowError):
            shown = repr(value) if len(repr(value)) <= _SHOWN else f"{repr(value)[:_SHOWN]}..."
            raise DataError(f"{name} is {shown}, not a number", file=source, line=line) from None
        if math.isinf(number):
            raise DataError(f"{name} is infinite", file=source, line=line)
        scores[str(name)] = number
    return scores
