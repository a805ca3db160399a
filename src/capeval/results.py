"""Scores with all that is known of them: signatures, intervals, rows; on disk, and joined from parts scored apart.

A saved result is a NumPy archive: statistics as arrays, everything else as one JSON text. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from capeval import markup
from capeval.documents import Limits, ScoreDocument, SystemScores, as_dict
from capeval.errors import CapevalError, DataError, Unavailable, counted, without_pickle_advice
from capeval.io.files import PathLike, writing
from capeval.registry import label, parse
from capeval.showing import number, short_signature, table
from capeval.significance import bootstrap_scores, interval
from capeval.text.marking import mark
from capeval.types import Array, Metric
from capeval.version import __version__

if TYPE_CHECKING:
    import pandas as pd

Ranges = dict[str, tuple[float, float]]
"""The interval of each score."""

_FORMAT = 3
_COLUMNS = ("ids", "images", "candidates", "systems")


@dataclass(frozen=True)
class Scored:
    """One metric's statistics for all rows, and which of its scores are wanted."""

    metric: Metric
    names: tuple[str, ...]
    stats: Array
    extras: Mapping[str, Any]
    """What the signature says beyond the parameters, as it was when the statistics were made."""
    pictures: str = ""
    """What the features of the pictures are that it looked at: their encoder, else the start of their hash."""

    @cached_property
    def columns(self) -> list[int]:
        return [self.metric.info.names.index(name) for name in self.names]

    @cached_property
    def labels(self) -> list[str]:
        return [label(self.metric, name) for name in self.names]

    def corpus(self) -> Array:
        return self.metric.corpus_score(self.stats)[self.columns]

    def per_caption(self) -> Array:
        return self.metric.per_sample(self.stats)[:, self.columns]


_SHOWN_CAPTIONS = 5


@dataclass(frozen=True, repr=False)
class Result:
    """Scores of a set of captions. Rows are in the order of the dataset; scores are labelled by expression."""

    ids: list[str]
    images: list[str]
    candidates: list[str]
    systems: list[str]
    reference_counts: npt.NDArray[np.int32]
    reference_hashes: npt.NDArray[np.uint64]
    scored: tuple[Scored, ...]
    tokenizer: str = "ptb"
    picture_hashes: npt.NDArray[np.uint64] | None = None
    """For each row a hash of its image's name and picture, where a metric looked at pictures."""
    version: str = __version__
    """Of the capeval that made the scores."""
    references: Sequence[tuple[str, ...]] | None = None
    """Of each row, where they are at hand: to show captions with what they share with their references."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def scores(self) -> dict[str, float]:
        """The corpus score of each label."""
        return {key: float(v) for each in self.scored for key, v in zip(each.labels, each.corpus(), strict=True)}

    @cached_property
    def per_caption(self) -> dict[str, Array]:
        """One score for each row and label."""
        return {key: v for each in self.scored for key, v in zip(each.labels, each.per_caption().T, strict=True)}

    @cached_property
    def signatures(self) -> dict[str, str]:
        """For each label, all that decides its score: parameters, tokenizer, references, revision, version."""
        return sign(
            self.scored,
            self.tokenizer,
            (int(self.reference_counts.min()), int(self.reference_counts.max())),
            _digest(self.reference_hashes),
            "" if self.picture_hashes is None else _digest(self.picture_hashes),
            self.version,
        )

    @cached_property
    def short_signatures(self) -> dict[str, str]:
        """The signatures as `capeval score` shows them below its table."""
        return {key: short_signature(signature) for key, signature in self.signatures.items()}

    def __repr__(self) -> str:
        """A small table: metrics, and systems side by side where there are several."""
        parts = {name: each.scores for name, each in self.parts().items()}
        rows = [[key, *(number(each[key]) for each in parts.values())] for key in self.scores]
        header = ["metric", *(name or "score" for name in parts)]
        told = f"{len(self):,} captions" + (f" of {len(parts)} systems" if len(parts) > 1 else "")
        return f"{told}\n{table(header, rows, numbers=range(1, len(header)), width=80)}"

    def _repr_html_(self) -> str:
        """For notebooks: the scores, and the first captions with their words marked."""
        inside = f"<p>{len(self):,} captions</p>" + markup.scores({n: each.scores for n, each in self.parts().items()})
        return markup.notebook(inside + self._captions_html())

    def _captions_html(self) -> str:
        first = list(range(min(_SHOWN_CAPTIONS, len(self))))
        references = [self.references[i] if self.references else () for i in first]
        marked = mark([self.candidates[i] for i in first], references)
        system = ["system"] if any(self.systems) else []
        rows = [
            [self.ids[i], *([self.systems[i]] if system else []), markup.Html(markup.words(words)),
             *(float(values[i]) for values in self.per_caption.values())]
            for i, words in zip(first, marked)
        ]  # fmt: skip
        told = f"The first {len(first)} captions" if len(first) < len(self) else "The captions"
        legend = markup.LEGEND if any(references) else ""
        inside = markup.table(["id", *system, "caption", *self.per_caption], rows)
        return f"<details open><summary>{told}</summary>{inside}{legend}</details>"

    def rows(self, indices: Sequence[int] | npt.NDArray[np.intp]) -> Result:
        """The scores of some rows: nothing is computed again."""
        picked = np.asarray(indices, dtype=np.intp)
        return Result(
            [self.ids[i] for i in picked],
            [self.images[i] for i in picked],
            [self.candidates[i] for i in picked],
            [self.systems[i] for i in picked],
            self.reference_counts[picked],
            self.reference_hashes[picked],
            tuple(replace(each, stats=each.stats[picked]) for each in self.scored),
            self.tokenizer,
            None if self.picture_hashes is None else self.picture_hashes[picked],
            self.version,
            None if self.references is None else [self.references[i] for i in picked],
        )

    @property
    def has_systems(self) -> bool:
        """Whether the rows come from several."""
        return len(set(self.systems)) > 1

    def by_system(self) -> dict[str, Result]:
        """The result of each system, in order of appearance."""
        members: dict[str, list[int]] = {}
        for row, system in enumerate(self.systems):
            members.setdefault(system, []).append(row)
        return {system: self.rows(rows) for system, rows in members.items()}

    def parts(self) -> dict[str, Result]:
        """What is shown side by side: the result of each system where there are several, else this one, named ""."""
        return self.by_system() if self.has_systems else {"": self}

    def ranges(self, *, resamples: int = 1000, seed: int = 0) -> dict[str, Ranges]:
        """The `intervals` of each of the `parts`."""
        return {name: each.intervals(resamples=resamples, seed=seed) for name, each in self.parts().items()}

    def intervals(self, *, resamples: int = 1000, seed: int = 0, level: float = 0.95) -> Ranges:
        """Bootstrap interval of each corpus score, resampling images."""
        numbers: dict[str, int] = {}
        image = np.array([numbers.setdefault(name, len(numbers)) for name in self.images], np.intp)
        found: Ranges = {}
        for each in self.scored:
            (drawn,) = bootstrap_scores(each.metric, [each.stats], [image], resamples, seed)
            low, high = interval(drawn[:, each.columns], level)
            found.update({key: (float(lo), float(hi)) for key, lo, hi in zip(each.labels, low, high, strict=True)})
        return found

    def records(self) -> Iterator[dict[str, Any]]:
        """One dict for each row: id, image, candidate, scores, and the system where there is one.

        A score that is not defined for a caption, such as SPICE's for colors where no reference has any, is None.
        """
        names = list(self.per_caption)
        values = zip(*(column.tolist() for column in self.per_caption.values()), strict=True)
        for i, row in enumerate(values):
            record: dict[str, Any] = {"id": self.ids[i], "image": self.images[i], "candidate": self.candidates[i]}
            if self.systems[i]:
                record["system"] = self.systems[i]
            record["scores"] = {name: _defined(value) for name, value in zip(names, row, strict=True)}
            yield record

    def document(self, ranges: Mapping[str, Ranges] | None = None) -> ScoreDocument:
        """For JSON and reports; with intervals where they are given, as `ranges` makes them."""
        known = {system: _limits(found) for system, found in (ranges or {}).items()}
        systems = None
        if self.has_systems:
            systems = {
                name: SystemScores(n=len(each), scores=_all_defined(each.scores), intervals=known.get(name))
                for name, each in self.by_system().items()
            }
        return ScoreDocument(
            n=len(self),
            scores=_all_defined(self.scores),
            signatures=self.signatures,
            systems=systems,
            intervals=None if systems else known.get(""),
        )

    def to_dict(self) -> dict[str, Any]:
        """`{"schema", "n", "scores", "signatures"}`, and `"systems"` where the rows come from several."""
        return as_dict(self.document())

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each caption (needs pandas)."""
        try:
            import pandas as pd
        except ImportError:
            raise Unavailable(
                "a data frame needs pandas. Install it with: pip install pandas. `records()` gives the rows without it"
            ) from None

        columns: dict[str, Any] = {"id": self.ids, "image": self.images, "candidate": self.candidates}
        if any(self.systems):
            columns["system"] = self.systems
        return pd.DataFrame(columns | self.per_caption)


def sign(
    scored: Sequence[Scored],
    tokenizer: str,
    references: tuple[int, int],
    data: str,
    seen: str = "",
    version: str = __version__,
) -> dict[str, str]:
    """The signature of each label: `references` is how few and how many a caption has, `data` and `seen` tell the
    reference sets and the pictures from all others."""
    low, high = references
    count = str(low) if low == high else f"{low}-{high}"
    signatures = {}
    for each in scored:
        extras = f"|pictures:{each.pictures}/{seen}" if each.pictures else ""
        extras += "".join(f"|{key}:{value}" for key, value in each.extras.items())
        for name, key in zip(each.names, each.labels, strict=True):
            signatures[key] = (
                f"{label(each.metric, name, full=True)}|tok:{tokenizer}|refs:{count}|data:{data}{extras}"
                f"|rev:{each.metric.info.revision}|capeval:{version}"
            )
    return signatures


def distinct_digest(chunks: Iterable[npt.NDArray[np.uint64]]) -> str:
    """Of distinct hashes that come in ascending order."""
    state = hashlib.blake2b(digest_size=4)
    for chunk in chunks:
        state.update(chunk.tobytes())
    return state.hexdigest()


def _digest(hashes: npt.NDArray[np.uint64]) -> str:
    """Of the distinct hashes, in whatever order they come."""
    ordered = np.sort(hashes)
    distinct = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]  # np.unique loads a lot of code
    return distinct_digest([distinct])


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _all_defined(scores: dict[str, float]) -> dict[str, float | None]:
    return {name: _defined(value) for name, value in scores.items()}


def _limits(ranges: Ranges) -> dict[str, Limits]:
    return {key: Limits(low=low, high=high) for key, (low, high) in ranges.items() if not math.isnan(low)}


def save(result: Result, path: PathLike) -> None:
    """Writes a result with its statistics, so that it can be resampled, or joined with others, later."""
    meta = {
        "format": _FORMAT,
        "version": result.version,
        "tokenizer": result.tokenizer,
        "metrics": [
            {
                "expression": label(s.metric, s.metric.info.name),
                "names": s.names,
                "revision": s.metric.info.revision,
                "extras": dict(s.extras),
                "pictures": s.pictures,
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
            f"not a saved result, or damaged ({without_pickle_advice(problem)}). Score the part again",
            file=name,
            remedy="saved_result",
        ) from problem


def join(results: Sequence[Result]) -> Result:
    """One result from results of parts, as if all rows had been scored together."""
    if not results:
        raise DataError("there are no results to join")
    first = results[0]
    for other in results[1:]:
        refuse_to_join(first, other)
    seen: set[tuple[str, str]] = set()
    keys = [(i, s) for result in results for i, s in zip(result.ids, result.systems, strict=True)]
    repeated = [key[0] for key in keys if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    if repeated:
        raise DataError(f"{counted(len(repeated), 'caption')} in several parts.", ids=repeated)
    return stack(results)


def stack(results: Sequence[Result]) -> Result:
    """The rows of results that were scored in the same way, one after the other."""
    first = results[0]
    return Result(
        **{name: [value for result in results for value in getattr(result, name)] for name in _COLUMNS},
        reference_counts=np.concatenate([result.reference_counts for result in results]),
        reference_hashes=np.concatenate([result.reference_hashes for result in results]),
        scored=tuple(
            replace(scored, stats=np.concatenate([result.scored[i].stats for result in results]))
            for i, scored in enumerate(first.scored)
        ),
        tokenizer=first.tokenizer,
        picture_hashes=_joined([result.picture_hashes for result in results]),
        version="+".join(sorted({result.version for result in results})),
        references=_all_references(results),
    )


def refuse_to_join(first: Result, other: Result) -> None:
    """Where two results were scored in different ways, or a metric's scores depend on all rows together."""
    if other.tokenizer != first.tokenizer or _kinds(other) != _kinds(first):
        raise DataError(f"the parts were scored differently: {_kinds(first)} and {_kinds(other)}")
    if [each.pictures for each in other.scored] != [each.pictures for each in first.scored]:
        raise DataError("the parts were scored with features of different kinds: score them with the same encoder")
    if (used := _extras(other)) != _extras(first):
        raise DataError(
            f"the parts were scored with different tables or checkpoints: {_extras(first)} and {used}. Score "
            "them again with the same ones"
        )
    for scored in first.scored:
        refuse_unless_joinable(scored.metric)


def refuse_unless_joinable(metric: Metric) -> None:
    if not metric.joinable():
        name = metric.info.name
        raise DataError(
            f"{name} weighs n-grams by the images scored together, so parts cannot be joined. Score each part with "
            f"one shared table: {name}(df=coco-val2014), or a table made with `capeval df`"
        )


def _joined(columns: Sequence[npt.NDArray[np.uint64] | None]) -> npt.NDArray[np.uint64] | None:
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if len(there) == len(columns) else None


def _all_references(results: Sequence[Result]) -> list[tuple[str, ...]] | None:
    if any(result.references is None for result in results):
        return None
    return [each for result in results for each in result.references or ()]


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
        if not isinstance(each["extras"], dict) or not isinstance(each["pictures"], str):
            raise ValueError("its signatures are not complete")
        scored.append(
            Scored(metric, tuple(_strings(each["names"])), archive[f"stats_{i}"], each["extras"], each["pictures"])
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
        picture_hashes=seen,
        version=str(meta["version"]),
    )


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of names is expected")
    return values
