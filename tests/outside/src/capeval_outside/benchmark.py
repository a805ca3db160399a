"""A benchmark, with its data inside the package."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from capeval.bench import Benchmark, Ratings
from capeval.run import Run
from capeval.types import Dataset, Sample

_GRADES = Path(__file__).parent / "five_dogs.csv"


def _load(root: Path, variant: str, run: Run) -> Ratings:
    with _GRADES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    samples = [Sample(str(i), row["image"], row["caption"], (row["reference"],)) for i, row in enumerate(rows)]
    return Ratings(Dataset.from_samples(samples), np.array([[float(row["grade"])] for row in rows]))


FIVE_DOGS = Benchmark(
    name="five_dogs",
    summary="five captions with a grade each",
    citation="nobody yet",
    licence="CC0",
    published="the package capeval-outside",
    sources=(),
    holds=("captions:five-dogs",),
    load=_load,
)
