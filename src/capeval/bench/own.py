"""A benchmark of the user's own: a JSONL file of ratings or of pairs, laid out as `capeval.bench.jsonl` says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from capeval.bench.benchmark import Benchmark, picture_in
from capeval.bench.forms import Form
from capeval.bench.jsonl import Row, is_number, pairs_of, ratings_of, read_jsonl
from capeval.errors import DataError
from capeval.io.files import format_from_name
from capeval.run import Run

_NOT_JUDGED = ("id", "image")
"""Fields that may be numbers and are no judgements."""


def is_own(name: str) -> bool:
    """Whether the name of a benchmark is that of a file."""
    return format_from_name(name) == "jsonl"


def own_benchmark(name: str, human: str | None = None) -> Benchmark:
    """`human` is the field of the judgement; it can be left out where one field only has numbers."""
    return Benchmark(
        name=Path(name).name,
        summary="judgements of your own",
        citation="",
        licence="",
        published="",
        sources=(),
        holds=(),
        load=partial(_load, Path(name), human),
        pictures=_picture,
    )


def _load(path: Path, human: str | None, root: Path, variant: str, run: Run) -> Form:
    rows = read_jsonl(path)
    if "positive" in rows[0].fields or "negative" in rows[0].fields:
        return pairs_of(rows)
    if "candidate" not in rows[0].fields:
        raise DataError(
            "neither ratings, which need `candidate`, nor pairs, which need `positive` and `negative`",
            file=str(path),
            line=rows[0].line,
        )
    return ratings_of(rows, [human or _only_number(rows)], "kendall_c")


def _only_number(rows: Sequence[Row]) -> str:
    first = rows[0]
    found = [name for name, value in first.fields.items() if is_number(value) and name not in _NOT_JUDGED]
    if len(found) != 1:
        several = f"these fields are numbers: {', '.join(found)}" if found else "no field is a number"
        raise DataError(
            f"which field is people's judgement? {several}", file=first.file, line=first.line, remedy="human"
        )
    return found[0]


def _picture(root: Path, image: str) -> Path | None:
    """By its path below the folder of pictures, or by its name without the ending."""
    return path if (path := root / image).is_file() else picture_in("")(root, image)
