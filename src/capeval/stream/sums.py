"""What scored blocks leave behind: totals that decide corpus scores and their intervals, without the rows.

Totals of shards add up, in whatever order and on whatever machines they were made, to those of all rows together.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.documents import Limits, ScoreDocument
from capeval.errors import DataError
from capeval.results import Result, Scored, distinct_digest, sign
from capeval.significance import draws, interval
from capeval.stream.counting import merged
from capeval.stream.folder import Folder
from capeval.totals import exact_parts
from capeval.types import Array, Selection

GROUPS = 1024
"""Images fall into so many groups, by their ids. Intervals come from drawing groups: as good as drawing images, where
these are many, and the totals of a group are all that is kept of its rows."""


def group_of(image: str) -> int:
    return zlib.crc32(image.encode(errors="surrogatepass")) % GROUPS


class Sums:
    """Of one shard."""

    def __init__(self, selections: Sequence[Selection]) -> None:
        self._selections = selections
        self.n, self._low, self._high = 0, 0, 0
        self._parts: list[list[list[float]]] = []
        self._groups: list[Array] = []
        self._counts = np.zeros(GROUPS)
        self._extras: list[Mapping[str, Any]] = []
        self._pictures: list[str] = []
        self._references: list[npt.NDArray[np.uint64]] = []
        self._seen: list[npt.NDArray[np.uint64]] = []

    def add(self, result: Result) -> None:
        low, high = int(result.reference_counts.min()), int(result.reference_counts.max())
        summands = [each.metric.summands(each.stats) for each in result.scored]
        if not self.n:
            self._low, self._high = low, high
            self._parts = [[[] for _ in range(values.shape[1])] for values in summands]
            self._groups = [np.zeros((GROUPS, values.shape[1])) for values in summands]
            self._extras = [dict(each.extras) for each in result.scored]
            self._pictures = [each.pictures for each in result.scored]
        group = np.array([group_of(image) for image in result.images], np.intp)
        self._counts += np.bincount(group, minlength=GROUPS)
        for parts, groups, values in zip(self._parts, self._groups, summands, strict=True):
            for k, column in enumerate(values.T):
                parts[k] = exact_parts([*parts[k], *column.tolist()])
                groups[:, k] += np.bincount(group, column, GROUPS)
        self.n += len(result)
        self._low, self._high = min(self._low, low), max(self._high, high)
        self._references.append(np.unique(result.reference_hashes))
        if result.picture_hashes is not None:
            self._seen.append(np.unique(result.picture_hashes))

    def record(self) -> dict[str, Any]:
        """The small part, as JSON holds it."""
        return {
            "n": self.n,
            "references": [self._low, self._high],
            "sums": self._parts,
            "extras": self._extras,
            "pictures": self._pictures,
        }

    def save(self, folder: Folder, name: str) -> None:
        """The arrays."""
        if self.n:
            folder.write_array(f"{name}.groups.npy", np.column_stack([self._counts, *self._groups]))
            folder.write_array(f"{name}.references.npy", np.unique(np.concatenate(self._references)))
            if self._seen:
                folder.write_array(f"{name}.pictures.npy", np.unique(np.concatenate(self._seen)))


def document(
    selections: Sequence[Selection],
    records: Mapping[str, Mapping[str, Any]],
    folder: Folder,
    tokenizer: str,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> ScoreDocument:
    """Scores, intervals and signatures of all shards together, from what each has left."""
    there = {name: record for name, record in records.items() if record["n"]}
    if not there:
        raise DataError("there are no captions to score")
    first = next(iter(there.values()))
    for name, record in there.items():
        if (record["extras"], record["pictures"]) != (first["extras"], first["pictures"]):
            raise DataError(
                f"shards were scored with different tables, checkpoints or features, {name} unlike the first: "
                f"{first['extras']} and {record['extras']}. Score them again into another folder"
            )
    scored = [
        Scored(selection.metric, selection.names, np.empty((0, 0)), extras, pictures)
        for selection, extras, pictures in zip(selections, first["extras"], first["pictures"], strict=True)
    ]
    n = sum(record["n"] for record in there.values())
    groups = sum((np.asarray(folder.read_array(f"{name}.groups.npy")) for name in there), np.zeros(1))
    counts, place = groups[:, 0], 1
    scores: dict[str, float | None] = {}
    limits: dict[str, Limits] = {}
    for k, each in enumerate(scored):
        columns = range(len(first["sums"][k]))
        totals = np.array([math.fsum(p for r in there.values() for p in r["sums"][k][c]) for c in columns])
        values = each.metric.from_totals(totals, n)[each.columns]
        drawn = _drawn(each, groups[:, place : place + len(columns)], counts, resamples, seed)
        place += len(columns)
        for key, value, low, high in zip(each.labels, values, *interval(drawn[:, each.columns]), strict=True):
            scores[key] = None if math.isnan(value) else float(value)
            if not math.isnan(low):
                limits[key] = Limits(low=float(low), high=float(high))
    signatures = sign(
        scored,
        tokenizer,
        (min(r["references"][0] for r in there.values()), max(r["references"][1] for r in there.values())),
        _digest(folder, there, "references"),
        _digest(folder, there, "pictures") if any(first["pictures"]) else "",
    )
    return ScoreDocument(n=n, scores=scores, signatures=signatures, intervals=limits)


def _drawn(scored: Scored, groups: Array, counts: Array, resamples: int, seed: int) -> Array:
    """Corpus scores of resamples of the groups that have rows."""
    used = counts > 0
    found = [
        scored.metric.from_totals(weights @ groups[used], weights @ counts[used][:, None])
        for weights in draws(int(used.sum()), resamples, seed)
    ]
    return np.concatenate(found)


def _digest(folder: Folder, names: Mapping[str, Any], kind: str) -> str:
    return distinct_digest(distinct for distinct, _ in merged(folder, [f"{n}.{kind}.npy" for n in names]))
