"""Scoring one block of rows after another, wherever they come from: the function that all runners share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import CapevalError, DataError, Unavailable
from capeval.evaluate import evaluate, for_inputs
from capeval.io.captions import References, read_references, references_from
from capeval.io.features import open_features
from capeval.io.files import PathLike
from capeval.registry import label, parse_all
from capeval.results import Result, refuse_unless_joinable, stack
from capeval.run import Run
from capeval.runtime.extract import find_pictures
from capeval.runtime.pictures import PictureFiles
from capeval.stream.block import Block, block_of
from capeval.stream.forms.base import Rows
from capeval.stream.names import Names
from capeval.types import Array, Dataset, Features, Frequencies, Metric


@dataclass(frozen=True)
class Scores:
    """Of one block."""

    block: Block
    columns: dict[str, Array]
    """By label, one score for each row; NaN where there is none."""
    failures: dict[int, str]
    """Why rows have no scores."""
    result: Result | None
    """Of the rows that have."""


class Scorer:
    """Holds what scoring needs from block to block: metrics, models, tables, references, pictures.

    `references` are those of `capeval.score`, for rows that have none themselves; `images` is the folder of pictures
    or, where rows have paths, the one that these begin at; `frequencies` are those of the whole that blocks belong to.
    """

    def __init__(
        self,
        metrics: Iterable[str | Metric],
        *,
        references: Any = None,
        images: PathLike | None = None,
        features: PathLike | Features | None = None,
        frequencies: Mapping[bool, Frequencies] | None = None,
        run: Run | None = None,
    ) -> None:
        self.run = run or Run()
        self._frequencies = frequencies
        self._choose([metrics] if isinstance(metrics, (str, Metric)) else list(metrics))
        self._references = _references(references)
        self._features = open_features(features) if isinstance(features, (str, os.PathLike)) else features
        self._folder = None if images is None else Path(images)
        self._looking: PictureFiles | None = None

    def _choose(self, metrics: list[str | Metric]) -> None:
        self.wanted, self.selections = metrics, parse_all(metrics)
        if not self.selections:
            raise CapevalError("no metric was asked for")
        self.labels = [label(each.metric, name) for each in self.selections for name in each.names]
        self.needs = {need for each in self.selections for need in each.metric.needs()}
        for each in self.selections:
            if not self._frequencies:
                refuse_unless_joinable(each.metric)

    def fit(self, names: Names) -> None:
        """Rows have no more than these columns: metrics become what they are without the rest."""
        references = self._references is not None or bool(names.references)
        pictures = bool(names.picture) or self._features is not None or self._folder is not None
        self._choose(fitting(self.wanted, references, pictures, self.run))

    def block(self, rows: Rows, names: Names, shard: str = "") -> Block:
        """What the metrics read of some rows; what is wrong with a row is noted in it."""
        looks = "pictures" in self.needs and self._features is None
        if looks and not names.picture and self._folder is None:
            raise Unavailable("metrics look at pictures, and rows have none", remedy="pictures")
        return block_of(
            rows,
            names,
            shard=shard,
            known=self._references,
            needs_references="references" in self.needs,
            needs_pictures=looks,
        )

    def score(self, block: Block) -> Scores:
        """Scores for all rows that can be scored, and why others cannot."""
        failures = dict(block.problems)
        features = self._features_of(block, failures) if "pictures" in self.needs else None
        good = [i for i in range(len(block)) if i not in failures] if failures else list(range(len(block)))
        result = self._result(block, good, features, failures)
        columns = {name: np.full(len(block), np.nan) for name in self.labels}
        if result is not None:
            there = np.array([i for i in good if i not in failures], np.intp)
            for name, values in result.per_caption.items():
                columns[name][there] = values
        return Scores(block, columns, dict(sorted(failures.items())), result)

    def _result(
        self, block: Block, rows: list[int], features: Features | None, failures: dict[int, str]
    ) -> Result | None:
        """What a single row spoils is found by halving."""
        if not rows:
            return None
        try:
            return evaluate(self._dataset(block, rows, features), self.wanted, self.run, lenient=False)
        except Exception as problem:  # whatever a metric, ours or not, makes of one row
            if isinstance(problem, Unavailable) and not isinstance(problem, DataError):
                raise  # no row is to blame: a package or a table is not there
            if len(rows) == 1:
                failures[rows[0]] = str(problem) or type(problem).__name__
                return None
        half = len(rows) // 2
        parts = [self._result(block, part, features, failures) for part in (rows[:half], rows[half:])]
        there = [part for part in parts if part is not None]
        return stack(there) if there else None

    def _dataset(self, block: Block, rows: list[int], features: Features | None) -> Dataset:
        whole = len(rows) == len(block)
        images = block.images if whole else [block.images[i] for i in rows]
        captions = block.captions if whole else [block.captions[i] for i in rows]
        references = block.references if whole else [block.references[i] for i in rows]
        sets: dict[tuple[str, tuple[str, ...]], int] = {}
        group = [sets.setdefault(key, len(sets)) for key in zip(images, references)]
        return Dataset(images, images, captions, [each for _, each in sets], group, None, features, self._frequencies)

    def _features_of(self, block: Block, failures: dict[int, str]) -> Features:
        """What is seen of the pictures; one that is not there, or is none, is a failure of its rows."""
        if self._features is not None:
            lacking = {image for image in set(block.images) if image not in self._features}
            bad = dict.fromkeys(lacking, "there are no features of its image")
            found: Features = self._features
        else:
            sources = self._sources(block, failures)
            found = self._looking = (
                self._looking.over(sources) if self._looking else PictureFiles(sources, run=self.run)
            )
            bad = {}
            for encoder in {name for each in self.selections for name in each.metric.encoders(self.run) or ("",)}:
                bad |= self._looking.unreadable(encoder)
        for i, image in enumerate(block.images):
            if image in bad:
                failures.setdefault(i, bad[image])
        return found

    def _sources(self, block: Block, failures: dict[int, str]) -> dict[str, PathLike | bytes]:
        """The picture of each image: bytes or a path in its row, else a file of the folder."""
        found: dict[str, PathLike | bytes] = {}
        for i, (image, own) in enumerate(zip(block.images, block.pictures)):
            if i in failures:
                continue
            source: PathLike | bytes | None = own
            if isinstance(own, str):
                source = str(Path(self._folder or ".", own))
            elif own is None and self._folder is not None:
                source = self._files().get(image)
            if source is None:
                failures[i] = "it has no picture"
            elif found.setdefault(image, source) != source:
                failures[i] = "an earlier row has another picture of the same image"
        return found

    def _files(self) -> Mapping[str, Path]:
        if not hasattr(self, "_found"):
            assert self._folder is not None
            self._found = find_pictures(self._folder)
        return self._found


def fitting(metrics: Iterable[str | Metric], references: bool, pictures: bool, run: Run) -> list[str | Metric]:
    """The metrics, and in place of those that need references or pictures that are not there, what they are without."""
    found: list[str | Metric] = []
    for given in metrics:
        for selection in parse_all([given]):
            other = for_inputs(selection, references, pictures, run)
            is_same = other.metric == selection.metric
            found.append(given if is_same else label(other.metric, other.metric.info.name))
    return list(dict.fromkeys(found))


def _references(given: Any) -> References | None:
    """Those of files, or as `capeval.score` takes them."""
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return None
    if isinstance(given, (str, os.PathLike)):
        return read_references(given)
    if isinstance(given, (list, tuple)) and all(isinstance(each, (str, os.PathLike)) for each in given):
        return read_references(*given)
    return references_from(given)
