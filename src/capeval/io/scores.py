"""Writing per-caption scores: JSONL, JSON, CSV, TSV or Parquet, by the name of the file.

A row is `{"id", "image", "candidate", "scores": {name: number or None}}`, with `"system"` where there is one. What is
written can be read again as candidates.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Literal

import msgspec

from capeval.io.files import PathLike, format_from_name, import_pyarrow, writing

Rows = Iterable[Mapping[str, Any]]


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
