"""Scores that were made elsewhere: CSV, TSV or JSONL with an `id` and one or more scores in each row."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from capeval.errors import DataError
from capeval.io.files import PathLike, format_from_name, read_bytes, source_name, utf8_without_bom
from capeval.types import Array

# Columns of our own files that are no scores: of scores, of captions, and of what `capeval robust` writes.
_NOT_SCORES = frozenset({
    "id", "image", "candidate", "system", "image_id", "caption", "references", "of", "version", "pair", "category",
    "right",
})  # fmt: skip
_SHOWN = 60  # characters of a wrong value


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
        hint = "" if seen else " `capeval bench rows NAME`, or `capeval robust` with --write, shows the ids."
        raise DataError(f"{len(missing)} of {len(ids)} rows have no score.{hint}", file=source, ids=missing)
    if not columns:
        raise DataError("there is no column of scores in it", file=source)
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
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    usual_limit = csv.field_size_limit(len(text))  # a caption may be as long as the file
    try:
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as problem:
        raise DataError(f"not a table: {problem}", file=source, line=reader.line_num) from None
    finally:
        csv.field_size_limit(usual_limit)
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
