"""Results on disk, and joining those of parts that were scored apart.

The file is a NumPy archive: the statistics as arrays, everything else as one JSON text. Nothing in it is executed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import CapevalError, DataError
from capeval.evaluate import Result, Scored
from capeval.io.files import PathLike, writing
from capeval.registry import label, parse

_FORMAT = 2
_COLUMNS = ("ids", "images", "candidates", "systems")


def save(result: Result, path: PathLike) -> None:
    """Writes a result with its statistics, so that it can be resampled, or joined with others, later."""
    meta = {
        "format": _FORMAT,
        "version": result.version,
        "tokenizer": result.tokenizer,
        "pictures": result.pictures,
        "metrics": [
            {
                "expression": label(s.metric, s.metric.info.name),
                "names": s.names,
                "revision": s.metric.info.revision,
                "extras": dict(s.extras),
                "looks": s.looks,
            }
            for s in result.scored
        ],
        **{name: getattr(result, name) for name in _COLUMNS},
    }
    arrays: dict[str, Any] = {f"stats_{i}": scored.stats for i, scored in enumerate(result.scored)}
    if result.picture_hashes is not None:
        arrays["picture_hashes"] = result.picture_hashes
    with writing(path) as file:
        np.savez_compressed(
            file,
            meta=np.frombuffer(json.dumps(meta).encode(), np.uint8),
            reference_counts=result.reference_counts,
            reference_hashes=result.reference_hashes,
            **arrays,
        )


def load(path: PathLike) -> Result:
    """Reads what `save` wrote."""
    name = str(path)
    if not Path(path).is_file():
        raise DataError("there is no such file", file=name)
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return _result(archive, name)
    except CapevalError:
        raise
    except Exception as problem:  # a damaged archive fails in a dozen ways, and each means the same to the user
        raise DataError(
            f"not a result that `capeval score --save` wrote, or damaged ({problem}). Score the part again", file=name
        ) from problem


def join(results: Sequence[Result]) -> Result:
    """One result from results of parts, as if all rows had been scored together."""
    if not results:
        raise DataError("there are no results to join")
    first = results[0]
    for other in results[1:]:
        if other.tokenizer != first.tokenizer or _kinds(other) != _kinds(first):
            raise DataError(f"the parts were scored differently: {_kinds(first)} and {_kinds(other)}")
        if other.pictures != first.pictures:
            raise DataError("the parts were scored with features of different kinds: score them with the same encoder")
        if (used := _extras(other)) != _extras(first):
            raise DataError(
                f"the parts were scored with different tables or checkpoints: {_extras(first)} and {used}. Score "
                "them again with the same ones"
            )
    for scored in first.scored:
        if len(results) > 1 and not scored.metric.joinable():
            name = scored.metric.info.name
            raise DataError(
                f"{name} weighs n-grams by the images scored together, so parts cannot be joined. Score each part with "
                f"one shared table: {name}(df=coco-val2014), or a table made with `capeval df REFERENCES -o TABLE`"
            )
    seen: set[tuple[str, str]] = set()
    keys = [(i, s) for result in results for i, s in zip(result.ids, result.systems, strict=True)]
    repeated = [key[0] for key in keys if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    if repeated:
        raise DataError(f"{len(repeated)} captions are in several parts.", ids=repeated)
    return Result(
        **{name: [value for result in results for value in getattr(result, name)] for name in _COLUMNS},
        reference_counts=np.concatenate([result.reference_counts for result in results]),
        reference_hashes=np.concatenate([result.reference_hashes for result in results]),
        scored=tuple(
            replace(scored, stats=np.concatenate([result.scored[i].stats for result in results]))
            for i, scored in enumerate(first.scored)
        ),
        tokenizer=first.tokenizer,
        pictures=first.pictures,
        picture_hashes=_joined([result.picture_hashes for result in results]),
        version="+".join(sorted({result.version for result in results})),
    )


def _joined(columns: Sequence[npt.NDArray[np.uint64] | None]) -> npt.NDArray[np.uint64] | None:
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if len(there) == len(columns) else None


def _extras(result: Result) -> list[dict[str, Any]]:
    return [dict(scored.extras) for scored in result.scored]


def _kinds(result: Result) -> list[str]:
    return [key for scored in result.scored for key in scored.labels]


def _result(archive: Any, name: str) -> Result:
    meta = json.loads(archive["meta"].tobytes())
    if meta["format"] != _FORMAT:
        raise ValueError(f"it has format {meta['format']}, this capeval reads {_FORMAT}")
    columns: dict[str, Any] = {column: _strings(meta[column]) for column in _COLUMNS}
    counts, hashes = archive["reference_counts"], archive["reference_hashes"]
    scored = []
    for i, each in enumerate(meta["metrics"]):
        metric = parse(each["expression"]).metric
        if metric.info.revision != each["revision"]:
            raise DataError(f"{metric.info.name} has changed since: score the part again with this capeval", file=name)
        if not isinstance(each["extras"], dict) or not isinstance(each["looks"], bool):
            raise ValueError("its signatures are not complete")
        scored.append(
            Scored(metric, tuple(_strings(each["names"])), archive[f"stats_{i}"], each["extras"], each["looks"])
        )
        if not set(scored[-1].names) <= set(metric.info.names):
            raise ValueError("unknown score names")
    seen = archive.get("picture_hashes")
    lengths = {*map(len, columns.values()), len(counts), len(hashes), *(len(s.stats) for s in scored)}
    lengths |= set() if seen is None else {len(seen)}
    kinds = {hashes.dtype} if seen is None else {hashes.dtype, seen.dtype}
    if len(lengths) != 1 or 0 in lengths or counts.dtype != np.int32 or kinds != {np.dtype(np.uint64)}:
        raise ValueError("its columns do not fit together")
    if any(s.stats.dtype != np.float64 or s.stats.ndim != 2 for s in scored):
        raise ValueError("its statistics are not numbers")
    return Result(
        **columns,
        reference_counts=counts,
        reference_hashes=hashes,
        scored=tuple(scored),
        tokenizer=str(meta["tokenizer"]),
        pictures=str(meta["pictures"]),
        picture_hashes=seen,
        version=str(meta["version"]),
    )


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of names is expected")
    return values
