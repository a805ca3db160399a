"""Scoring in blocks gives the scores and signatures of scoring all rows together, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from capeval.errors import DataError
from capeval.evaluate import evaluate, evaluate_blocks
from capeval.results import Result
from capeval.run import Run
from capeval.totals import Totals, exact_parts
from capeval.types import Dataset, Sample

METRICS = ["bleu", "rouge_l", "cider_d(df=coco-val2014)", "wmd", "spice_fast_color", "spider_fast(df=coco-val2014)"]


def summed(results: Iterator[Result]) -> Totals:
    totals = Totals()
    for result in results:
        totals.add(result)
    return totals


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    rng = np.random.default_rng(0)
    words = [
        "a",
        "the",
        "man",
        "dog",
        "red",
        "runs",
        "on",
        "beach",
        "with",
        "ball",
        "two",
        "people",
        "green",
        "park",
        "sitting",
        "big",
    ]

    def caption() -> str:
        return " ".join(rng.choice(words, int(rng.integers(1, 12))))

    rows = [Sample(str(i), f"image{i % 60}", caption()) for i in range(150)]
    references = {f"image{i}": tuple(caption() for _ in range(int(rng.integers(1, 4)))) for i in range(60)}
    return Dataset.from_samples([Sample(s.id, s.image, s.candidate, references[s.image]) for s in rows])


@pytest.mark.parametrize("size", [1, 7, 150])
def test_blocks_give_the_whole(dataset: Dataset, size: int) -> None:
    run = Run(threads=1)
    whole = evaluate(dataset, METRICS, run)
    blocks = (dataset[begin : begin + size] for begin in range(0, len(dataset), size))
    totals = summed(evaluate_blocks(blocks, METRICS, run))
    assert totals.n == len(dataset)
    assert totals.scores == whole.scores
    assert totals.signatures == whole.signatures


def test_blocks_are_read_one_by_one(dataset: Dataset) -> None:
    read = []

    def blocks() -> Iterator[Dataset]:
        for begin in range(0, 30, 10):
            read.append(begin)
            yield dataset[begin : begin + 10]

    results = evaluate_blocks(blocks(), ["bleu_1"])
    assert not read
    next(results)
    assert read == [0]


def test_a_metric_that_depends_on_all_rows_is_refused_at_once(dataset: Dataset) -> None:
    with pytest.raises(DataError, match=r"cider_d weighs n-grams.*cider_d\(df=coco-val2014\)"):
        next(evaluate_blocks([dataset], ["cider_d"]))


def test_blocks_that_were_scored_differently_are_refused(dataset: Dataset) -> None:
    totals = Totals()
    totals.add(evaluate(dataset[:5], ["bleu_1"]))
    with pytest.raises(DataError, match="scored differently"):
        totals.add(evaluate(dataset[5:9], ["bleu_1"], Run("none")))
    with pytest.raises(DataError, match="no captions"):
        Totals().scores  # noqa: B018


def test_sums_areexact_parts() -> None:
    values = [1e16, 1.0, -1e16, 1e-20, 3.0, 1e300, -1e300]
    assert sum(exact_parts(values)) == 4.0
    assert exact_parts([]) == []
