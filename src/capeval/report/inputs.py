"""Reading what a report is made from: results as the commands print them, and files of scores for each caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from capeval.documents import Document, decode
from capeval.errors import DataError, counted
from capeval.io.files import PathLike, format_from_name, read_bytes, source_name, utf8_without_bom
from capeval.io.scores import score_rows, scores_of
from capeval.results import Result
from capeval.types import Array

References = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class CaptionScores:
    """Captions with their scores, as columns; NaN where a caption has no score."""

    name: str
    ids: Sequence[str]
    images: Sequence[str]
    systems: Sequence[str]
    captions: Sequence[str]
    scores: Mapping[str, Array]
    references: References = field(default_factory=dict)
    """By image, where they are known."""
    elsewhere: frozenset[str] = frozenset()
    """Scores that were not made here."""

    def __len__(self) -> int:
        return len(self.ids)

    def with_scores(self, files: Iterable[PathLike]) -> CaptionScores:
        """The same with scores from files, joined by id, and by system where the file has one."""
        return self.beside(read_beside(files, self.ids, self.systems))

    def beside(self, added: Mapping[str, Array]) -> CaptionScores:
        """The same with scores that were made elsewhere."""
        _refuse_same_names(self.scores, added)
        return replace(self, scores={**self.scores, **added}, elsewhere=self.elsewhere | set(added))


def caption_scores(result: Result) -> CaptionScores:
    """Of a result, with its references where it has them."""
    references = dict(zip(result.images, result.references or ()))
    return CaptionScores(
        "each caption", result.ids, result.images, result.systems, result.candidates, result.per_caption, references
    )


def read_beside(files: Iterable[PathLike], ids: Sequence[str], systems: Sequence[str]) -> dict[str, Array]:
    """Scores from files for the captions with these ids, NaN where a file leaves one blank."""
    found: dict[str, Array] = {}
    for path in files:
        added = _joined(path, ids, systems)
        _refuse_same_names(found, added)
        found |= added
    return found


def _refuse_same_names(known: Mapping[str, Array], added: Mapping[str, Array]) -> None:
    both = [name for name in added if name in known]
    if both:
        raise DataError(f"scores from a file have the same names as others: {', '.join(both)}. Rename them in the file")


def read_result(path: PathLike) -> Document | CaptionScores:
    """A result of a command, or the scores of each caption (JSONL, CSV or TSV)."""
    if format_from_name(path) in ("jsonl", "csv", "tsv"):
        return read_caption_scores(path)
    source = source_name(path)
    return decode(utf8_without_bom(read_bytes(path), source), source)


def read_caption_scores(path: PathLike) -> CaptionScores:
    """As `capeval score --per-caption` writes them."""
    source = source_name(path)
    texts: dict[str, list[str]] = {"id": [], "image": [], "system": [], "candidate": []}
    columns: dict[str, list[float]] = {}
    seen: set[tuple[str, str]] = set()
    for line, row in score_rows(path):
        if "candidate" not in row:
            raise DataError("the row has no `candidate`", file=source, line=line, remedy="scores_alone")
        key = (str(row["id"]), str(row.get("system") or ""))
        if key in seen:
            raise DataError("the same id twice.", file=source, line=line, ids=[key[0]])
        seen.add(key)
        for name, column in texts.items():
            value = row.get(name)
            if value in (None, ""):
                value = row["id"] if name == "image" else ""
            column.append(str(value))
        scores = scores_of(row, source, line)
        if (columns and scores.keys() != columns.keys()) or not scores:
            raise DataError("the row has other scores than those before it, or none", file=source, line=line)
        for name, value in scores.items():
            columns.setdefault(name, []).append(value)
    if not columns:
        raise DataError("it has no rows", file=source)
    arrays = {name: np.array(values) for name, values in columns.items()}
    return CaptionScores(source, texts["id"], texts["image"], texts["system"], texts["candidate"], arrays)


def _joined(path: PathLike, ids: Sequence[str], systems: Sequence[str]) -> dict[str, Array]:
    source = source_name(path)
    place = {(key, system): row for row, (key, system) in enumerate(zip(ids, systems))}
    by_id = {key: row for row, key in enumerate(ids)}
    has_own_ids = len(by_id) == len(ids)
    columns: dict[str, Array] = {}
    seen: set[int] = set()
    for line, row in score_rows(path):
        key, system = str(row.get("id", "")), str(row.get("system") or "")
        if not system and not has_own_ids:
            raise DataError(
                "several systems use the same ids, so a field `system` is needed in each row", file=source, line=line
            )
        found = place.get((key, system)) if system and any(systems) else by_id.get(key)
        if found is None:
            continue
        if found in seen:
            raise DataError("the same id twice.", file=source, line=line, ids=[key])
        seen.add(found)
        for name, value in scores_of(row, source, line).items():
            columns.setdefault(name, np.full(len(ids), np.nan))[found] = value
    missing = [key for row, key in enumerate(ids) if row not in seen]
    if missing:
        raise DataError(
            f"{len(missing)} of {counted(len(ids), 'caption')} without a score in it.", file=source, ids=missing
        )
    if not columns:
        raise DataError("it has no column of scores", file=source)
    blank = [name for name, values in columns.items() if not np.isfinite(values).any()]
    if blank:
        raise DataError(f"no caption has a number for {', '.join(blank)}", file=source)
    return columns
