"""Documents from JSON, and JSON from documents."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from capeval.documents.types import (
    Analysis,
    AttacksDocument,
    BenchDocument,
    ChoicesDocument,
    CompareDocument,
    Comparisons,
    CurvesDocument,
    Document,
    LeaderboardDocument,
    MetricRow,
    Part,
    ProbeDocument,
    RobustDocument,
    ScoreDocument,
)
from capeval.errors import DataError
from capeval.version import __version__

D = TypeVar("D", bound=Document)

_SCHEMAS: dict[str, type[Document]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (ScoreDocument, CompareDocument, BenchDocument, LeaderboardDocument, RobustDocument)
}
_CHECKS: dict[str, type[RobustDocument]] = {
    "robust-curves": CurvesDocument,
    "robust-distractors": ChoicesDocument,
    "robust-components": ChoicesDocument,
    "robust-probe": ProbeDocument,
    "robust-attacks": AttacksDocument,
}
# Lists of rows that have a key for each statistic, category or variant.
_OPEN_ROWS: dict[type[Document], dict[str, type[Part]]] = {
    BenchDocument: {"metrics": MetricRow, "comparisons": Comparisons, "analysis": Analysis},
    ChoicesDocument: {"metrics": MetricRow},
}
_GATHERED = ("tags", "estimates", "measures")


def decode(content: bytes | Mapping[str, Any], source: str = "") -> Document:
    """The document in a JSON text, or in what was read from one. A DataError says what is wrong with it, and where.

    `source` is what messages call it, such as the name of its file.
    """
    data = content if isinstance(content, Mapping) else _parsed(content, source)
    schema = data.get("schema") or _schema_by_keys(data)
    kind = _type_of(schema, data, source)
    rows = {
        key: [_gathered(row, row_type) for row in data[key]]
        for key, row_type in _OPEN_ROWS.get(kind, {}).items()
        if isinstance(data.get(key), list)
    }
    try:
        return msgspec.convert({**data, **rows, "schema": schema}, kind)
    except msgspec.ValidationError as problem:
        message = re.sub(rf"\.({'|'.join(_GATHERED)})\b", "", str(problem))
        raise DataError(f"the result is not as capeval wrote it: {message}", file=source or None) from None


def decode_as(kind: type[D], content: bytes | Mapping[str, Any], source: str = "") -> D:
    """A document that is known to be of one kind."""
    document = decode(content, source)
    if not isinstance(document, kind):
        raise DataError(f"a {kind.__name__} is needed, and this is a {type(document).__name__}", file=source or None)
    return document


def as_dict(document: Document) -> dict[str, Any]:
    """The document as JSON has it."""
    data: dict[str, Any] = msgspec.to_builtins(document)
    open_rows = data.keys() & _OPEN_ROWS.get(type(document), {}).keys()
    return data | {key: [_spread(row) for row in data[key]] for key in open_rows}


def _parsed(text: bytes, source: str) -> Mapping[str, Any]:
    try:
        # Not by msgspec, which refuses half a character in a caption, and an unfinished pair is somebody's data.
        data = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"broken JSON: {problem}", file=source or None, remedy="result") from None
    if not isinstance(data, dict):
        raise DataError(
            "this is not the result of a command. Scores of each caption come as JSONL, CSV or TSV", file=source or None
        )
    return data


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"{digits} is too large")
    return value


def _schema_by_keys(data: Mapping[str, Any]) -> str:
    """Of documents that were written before they had a `schema`."""
    if str(data.get("kind", "")).startswith("robust-"):
        return "capeval.robust/1"
    for key, schema in (("benchmark", "bench"), ("comparisons", "compare"), ("scores", "score")):
        if key in data:
            return f"capeval.{schema}/1"
    return ""


def _type_of(schema: Any, data: Mapping[str, Any], source: str) -> type[Document]:
    name = str(schema)
    if name not in _SCHEMAS:
        known = {each.partition("/")[0]: each for each in _SCHEMAS}
        if ours := known.get(name.partition("/")[0]):
            raise DataError(
                f"made by a newer capeval: the result is {name}, and this version ({__version__}) reads {ours}. Update "
                "capeval, or make the result again with this version",
                file=source or None,
            )
        raise DataError(
            "this is not a result that a report can show. It takes those of `capeval score`, `compare`, `bench run`, "
            "`bench all` and `robust`",
            file=source or None,
            remedy="result",
        )
    if _SCHEMAS[name] is not RobustDocument:
        return _SCHEMAS[name]
    check = str(data.get("kind"))
    if check not in _CHECKS:
        raise DataError(
            f"the result is of a check that this version ({__version__}) does not know: {check}", file=source or None
        )
    return _CHECKS[check]


def _gathered(row: Any, kind: type[Part]) -> Any:
    """The row with its open keys in the fields that its type has for them, by the form of their values."""
    if not isinstance(row, Mapping):
        return row  # which the decoder refuses
    fixed = set(kind.__struct_fields__) - set(_GATHERED)
    found: dict[str, Any] = {key: row[key] for key in row if key in fixed}
    for key, value in row.items():
        if key in fixed:
            continue
        is_text, is_estimate = isinstance(value, str), isinstance(value, Mapping) and "value" in value
        place = "tags" if is_text else "estimates" if is_estimate else "measures"
        if is_text or isinstance(value, Mapping):
            found.setdefault(place, {})[key] = value
    return found


def _spread(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its open keys beside the others."""
    found: dict[str, Any] = dict(row.get("tags", {}))
    for key, value in row.items():
        found |= value if key in _GATHERED else {key: value}
    return found
