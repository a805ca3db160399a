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

# Columns of our own score files that are no scores.
_NOT_SCORES = frozenset({"id", "image", "candidate", "system", "image_id", "caption"})


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
        reader = csv.DictReader(io.StringIO(text), delimiter="\t" if kind == "tsv" else ",")
        if "id" not in (reader.fieldnames or ()):
            raise DataError("a column `id` is needed", file=source, line=1)
        for row in reader:
            if None in row or None in row.values():
                raise DataError("more or fewer cells than the header has", file=source, line=reader.line_num)
            yield reader.line_num, row
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


def scores_of(row: dict[str, Any], source: str, line: int) -> dict[str, float]:
    """By metric, the scores of one row; NaN for a blank."""
    nested = row.get("scores")
    given = nested if isinstance(nested, dict) else {key: row[key] for key in row if key not in _NOT_SCORES}
    scores = {}
    for name, value in given.items():
        try:
            number = math.nan if value in (None, "") else float(value)
        except (TypeError, ValueError):
            raise DataError(f"{name} is {value!r}, not a number", file=source, line=line) from None
        if math.isinf(number):
            raise DataError(f"{name} is infinite", file=source, line=line)
        scores[str(name)] = number
    return scores
