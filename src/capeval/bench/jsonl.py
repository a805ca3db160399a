"""Judgements as JSONL, one object a line: the layout of a user's own benchmark, and of several of ours.

    ratings     id, candidate, references, and a number for each kind of judgement
    pairs       id, positive (the better caption), negative, references, and their kind

`image` names the picture; without it every row is an image of its own. Without `references` only metrics that need none
can score a row. Other fields, such as `system`, are for whoever looks for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench.pairs import Pairs
from capeval.bench.ratings import Ratings
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.types import Array, Dataset


@dataclass(frozen=True)
class Row:
    """A line of a file; its fields are checked when they are asked for."""

    file: str
    line: int
    fields: Mapping[str, Any]
    id_of: tuple[str, ...] = ("id",)
    """The fields that name the row."""

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def number(self, name: str) -> float:
        if not is_number(self.fields.get(name)):
            raise self.wrong(name, "a number")
        return float(self.fields[name])

    def name(self, name: str) -> str:
        """A text, or the whole number that many data sets have instead."""
        value = self.fields.get(name)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(name)

    @property
    def id(self) -> str:
        return "-".join(map(self.name, self.id_of))

    @property
    def image(self) -> str:
        return self.id if self.fields.get("image") is None else self.name("image")

    @property
    def references(self) -> tuple[str, ...]:
        return self.texts("references") if "references" in self.fields else ()

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(name, "a list of captions")
        return tuple(value)

    def wrong(self, name: str, needed: str) -> DataError:
        found = f"it is {json.dumps(self.fields[name])[:60]}" if name in self.fields else "the line has no such field"
        return DataError(f"`{name}` must be {needed}, and {found}", file=self.file, line=self.line)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_jsonl(path: Path, id_of: tuple[str, ...] = ("id",)) -> list[Row]:
    """The rows of a file, which may be gzipped; no two have the same id, which is in the fields `id_of`."""
    rows: list[Row] = []
    first: dict[str, int] = {}
    for number, line in enumerate(utf8_without_bom(read_bytes(path), str(path)).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise DataError(f"broken JSON: {problem}", file=str(path), line=number) from None
        if not isinstance(fields, dict):
            raise DataError(f"a JSON object is needed, not a {type(fields).__name__}", file=str(path), line=number)
        row = Row(str(path), number, fields, id_of)
        if (before := first.setdefault(row.id, number)) != number:
            raise DataError(f"the id {row.id!r} is in line {before} already", file=str(path), line=number)
        rows.append(row)
    if not rows:
        raise DataError("the file is empty", file=str(path))
    return rows


def ratings_of(rows: Sequence[Row], judgements: Sequence[str], main: str) -> Ratings:
    """The first of the judgements is the one that metrics are measured by, the others are there to be chosen."""
    dataset = Dataset(
        [row.id for row in rows],
        [row.image for row in rows],
        [row.text("candidate") for row in rows],
        [row.references for row in rows],
        np.arange(len(rows), dtype=np.int32),
        [row.text("system") if "system" in row.fields else "" for row in rows],
    )
    by_name: dict[str, Array] = {name: np.array([[row.number(name)] for row in rows]) for name in judgements}
    return Ratings(dataset, by_name[judgements[0]], main, by_name)


def pairs_of(rows: Sequence[Row]) -> Pairs:
    """Pairs in the order of the file."""
    return Pairs(
        [row.id for row in rows],
        [row.image for row in rows],
        [row.text("positive") for row in rows],
        [row.text("negative") for row in rows],
        [row.references for row in rows],
        np.ones(len(rows), np.bool_),
        [row.text("kind") if "kind" in row.fields else "all" for row in rows],
    )
