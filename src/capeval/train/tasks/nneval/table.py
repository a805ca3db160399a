"""The numbers NNEval learns from: the scores of its metrics, computed once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from capeval.bench.ratings import Ratings
from capeval.bench.registry import load
from capeval.errors import CapevalError, DataError
from capeval.evaluate import evaluate
from capeval.io.features import open_features
from capeval.registry import label, parse
from capeval.run import Run
from capeval.train.task import Inputs
from capeval.types import Array, Dataset, Features

KEPT = "nneval"
"""The folder in the cache. What is in it is found again by all that decides it: metrics, captions, references."""


def feature_table(dataset: Dataset, features: Sequence[str], run: Run) -> Array:
    """The score of each caption by each metric, [rows, features]; from an earlier run where it kept them."""
    wanted = [parse(each) for each in features]
    result = evaluate(dataset, list(features), replace(run, kept=run.cache / KEPT))
    return np.column_stack([result.per_caption[label(metric, names[0])] for metric, names in wanted])


def looked_at(dataset: Dataset, features: Sequence[str], inputs: Inputs) -> Dataset:
    """The rows whose picture there is, with the pictures, where a metric looks at them."""
    if not any("pictures" in parse(each).metric.needs() for each in features):
        return dataset
    files: list[Features] = [open_features(path) for path in inputs.features]
    having = next((file for file in files if any(image in file for image in dataset.images)), None)
    if having is None:
        raise DataError("there are metrics that look at pictures, and none is there", remedy="training_features")
    found = dataset.rows([row for row, image in enumerate(dataset.images) if image in having])
    found.features = having
    return found


def judged(name: str, inputs: Inputs) -> tuple[Dataset, Array]:
    """The captions of a benchmark with ratings, and what most judges of each say; the middle where none agree."""
    form = load(name, inputs.data, None, inputs.run)
    if not isinstance(form, Ratings):
        raise CapevalError(f"{name} cannot choose an epoch: it has no ratings of single captions")
    return form.dataset, np.array([mode(row[np.isfinite(row)]) for row in form.human])


def mode(values: Array) -> float:
    """The most frequent value; the median where several are equally frequent."""
    distinct, counts = np.unique(values, return_counts=True)
    most = distinct[counts == counts.max()]
    return float(most[0] if len(most) == 1 else np.median(values))
