"""Scoring a dataset: tokenise once, compute each metric's statistics, label and sign the scores."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from capeval import __version__
from capeval.errors import CapevalError, DataError, MissingPictures, Unavailable
from capeval.registry import Selection, label, metric_classes, parse_all
from capeval.significance import bootstrap_scores, interval
from capeval.text.corpus import Corpus
from capeval.types import Array, Dataset, Metric, Pictures

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scored:
    """One metric's statistics for all rows, and which of its scores are wanted."""

    metric: Metric
    names: tuple[str, ...]
    stats: Array
    extras: Mapping[str, Any]
    """What the signature says beyond the parameters, as it was when the statistics were made."""
    looks: bool = False
    """Whether it looked at pictures."""

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


@dataclass(frozen=True)
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
    pictures: str = ""
    """What the picture features are: their encoder, else the start of their hash."""
    picture_hashes: npt.NDArray[np.uint64] | None = None
    """For each row a hash of its image's name and picture, where a metric looked at pictures."""
    version: str = __version__
    """Of the capeval that made the scores."""

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
        low, high = int(self.reference_counts.min()), int(self.reference_counts.max())
        count = str(low) if low == high else f"{low}-{high}"
        data = _digest(self.reference_hashes)
        seen = "" if self.picture_hashes is None else f"|pictures:{self.pictures}/{_digest(self.picture_hashes)}"
        signatures = {}
        for each in self.scored:
            extras = seen if each.looks else ""
            extras += "".join(f"|{key}:{value}" for key, value in each.extras.items())
            for name, key in zip(each.names, each.labels, strict=True):
                signatures[key] = (
                    f"{label(each.metric, name, full=True)}|tok:{self.tokenizer}|refs:{count}|data:{data}{extras}"
                    f"|rev:{each.metric.info.revision}|capeval:{self.version}"
                )
        return signatures

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
            self.pictures,
            None if self.picture_hashes is None else self.picture_hashes[picked],
            self.version,
        )

    def by_system(self) -> dict[str, Result]:
        """The result of each system, in order of appearance."""
        members: dict[str, list[int]] = {}
        for row, system in enumerate(self.systems):
            members.setdefault(system, []).append(row)
        return {system: self.rows(rows) for system, rows in members.items()}

    def intervals(self, *, resamples: int = 1000, seed: int = 0, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Bootstrap interval of each corpus score, resampling images."""
        numbers: dict[str, int] = {}
        image = np.array([numbers.setdefault(name, len(numbers)) for name in self.images], np.intp)
        found: dict[str, tuple[float, float]] = {}
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

    def to_dict(self) -> dict[str, Any]:
        """`{"n", "scores", "signatures"}`, and `"systems"` where the rows come from several."""
        result: dict[str, Any] = {"n": len(self), "scores": _all_defined(self.scores), "signatures": self.signatures}
        if len(set(self.systems)) > 1:
            result["systems"] = {
                name: {"n": len(each), "scores": _all_defined(each.scores)} for name, each in self.by_system().items()
            }
        return result

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each caption (needs pandas)."""
        import pandas as pd

        columns: dict[str, Any] = {"id": self.ids, "image": self.images, "candidate": self.candidates}
        if any(self.systems):
            columns["system"] = self.systems
        return pd.DataFrame(columns | self.per_caption)


def _digest(hashes: npt.NDArray[np.uint64]) -> str:
    """Of the distinct hashes, in whatever order they come."""
    ordered = np.sort(hashes)
    distinct = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]  # np.unique loads a lot of code
    return hashlib.blake2b(distinct.tobytes(), digest_size=4).hexdigest()


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _all_defined(scores: dict[str, float]) -> dict[str, float | None]:
    return {name: _defined(value) for name, value in scores.items()}


def evaluate(
    dataset: Dataset,
    metrics: Iterable[str | Metric] | None = None,
    *,
    tokenizer: str = "ptb",
    threads: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
    note: Callable[[str], None] = lambda message: None,
    lenient: bool | None = None,
) -> Result:
    """Scores a dataset with the given metric expressions.

    Without any, every metric is used that can be: those that lack a package, a file, references or pictures are named
    through `note`. `lenient` does so with given metrics too, or (False) makes it an error.
    """
    lenient = metrics is None if lenient is None else lenient
    if not len(dataset):
        raise DataError("there are no captions to score")
    selections = parse_all(metric_classes() if metrics is None else metrics)
    if not selections:
        raise CapevalError("no metric was asked for")
    progress("reading captions")
    corpus = Corpus(dataset, tokenizer, threads or os.cpu_count() or 1)
    scored = []
    for selection in selections:
        progress(f"scoring {selection.metric.info.name}")
        try:
            check_needs(selection.metric, dataset)
            scored.append(_score(selection, corpus))
        except Unavailable as problem:
            if not lenient:
                raise
            note(f"{selection.metric.info.name} is left out: {problem}")
    if not scored and metrics is None:
        raise CapevalError("there is no metric that needs no more than what is given")
    hashes, counts = _reference_columns(dataset)
    pictures = dataset.pictures if any(each.looks for each in scored) else None
    return Result(
        dataset.ids,
        dataset.images,
        dataset.candidates,
        dataset.systems,
        counts[dataset.group],
        hashes[dataset.group],
        tuple(scored),
        tokenizer,
        "" if pictures is None else pictures.encoder or pictures.digest[:12],
        None if pictures is None else _picture_hashes(pictures, dataset.images),
    )


def check_needs(metric: Metric, dataset: Dataset) -> None:
    """Raises Unavailable where the data set has no references or no pictures at all and the metric needs them.

    Pictures that are there for some images only are an error in the data.
    """
    if "references" in metric.needs() and not any(dataset.reference_sets):
        raise Unavailable(f"{metric.info.name} compares with references: give them with -r (references= in Python)")
    if "pictures" not in metric.needs():
        return
    if dataset.pictures is None:
        hint = f". {metric.instead()}" if metric.instead() else ""
        raise Unavailable(
            f"{metric.info.name} looks at pictures: give a folder of them with --images or features with --features "
            f"(images= or features= in Python){hint}"
        )
    missing = [image for image in dict.fromkeys(dataset.images) if image not in dataset.pictures]
    if missing:
        raise MissingPictures(
            f"{len(missing)} images have no picture, and {metric.info.name} looks at it.", ids=missing
        )


def _picture_hashes(pictures: Pictures, images: Sequence[str]) -> npt.NDArray[np.uint64]:
    """With the image's name: the same pictures under exchanged names are other data."""
    distinct = list(dict.fromkeys(images))
    contents = zip(distinct, pictures.contents(distinct), strict=True)
    hashes = {image: _hash(f"{image}\n{content}") for image, content in contents}
    return np.frombuffer(b"".join(hashes[image] for image in images), "<u8").astype(np.uint64)


def _score(selection: Selection, corpus: Corpus) -> Scored:
    before = dict(selection.metric.signature_extras())
    stats = selection.metric.stats(corpus)
    extras = dict(selection.metric.signature_extras())
    if extras != before:
        raise DataError(
            f"a file that {selection.metric.info.name} reads was changed while it was scoring: {before} before, "
            f"{extras} after. Score again"
        )
    if stats.shape[0] != len(corpus) or not np.isfinite(stats).all():
        raise CapevalError(f"{selection.metric.info.name} gave wrong statistics: shape {stats.shape} or not finite")
    return Scored(selection.metric, selection.names, stats, extras, "pictures" in selection.metric.needs())


def _reference_columns(dataset: Dataset) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """A hash of each reference set, which the order of its captions does not change, and its size."""
    digests = [_hash("\n".join(sorted(references))) for references in dataset.reference_sets]
    hashes = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return hashes, np.array([len(references) for references in dataset.reference_sets], np.int32)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
