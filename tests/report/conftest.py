"""Results of every kind, made by the commands' own functions from captions written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.bench import BenchmarkResult, Pairs, Ratings, Settings, Systems
from capeval.bench.registry import benchmark
from capeval.bench.scoring import Scorer
from capeval.report import CaptionScores
from capeval.types import Array, Dataset

WORDS = ["a", "dog", "cat", "man", "woman", "runs", "sits", "on", "under", "the", "red", "green", "street", "beach"]
HOSTILE = "<script>alert('x')</script> & \"quoted\" <img src=https://example.org/a.png onerror=alert(1)>"


def texts(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, 7).tolist()) for _ in range(count)]


def dataset(count: int = 60) -> Dataset:
    sets = [tuple(texts(3, 100 + i)) for i in range(count)]
    captions = texts(count, 1)
    captions[::2] = [each[0] + " again" for each in sets[::2]]
    captions[5] = HOSTILE
    images = [f"image{i // 2}" for i in range(count)]
    return Dataset([str(i) for i in range(count)], images, captions, sets, range(count))


def measured(form: Any, name: str, metrics: list[Any] | None = None, combine: int = 0, counts: Any = ()) -> Any:
    settings = Settings(resamples=60, draws=2, combine=combine, counts=counts)
    wanted = ["bleu_1", "rouge_l", "cider_d"] if metrics is None else metrics
    return BenchmarkResult(benchmark(name), 60, [form.measure(Scorer.of(wanted), settings)], {}).to_dict()


@pytest.fixture(scope="session")
def rated() -> dict[str, Any]:
    """As `capeval bench run` of a benchmark with grades."""
    data = dataset()
    random = np.random.default_rng(0)
    human: Array = np.clip(np.round(random.normal(2.4, 0.8, (60, 2)) + (np.arange(60) % 2 == 0)[:, None]), 1, 4)
    return dict(measured(Ratings(data, human), "flickr8k-expert", combine=2))


@pytest.fixture(scope="session")
def paired() -> dict[str, Any]:
    """As `capeval bench run` of a benchmark with pairs."""
    data = dataset()
    pairs = Pairs(
        data.ids, data.images, data.candidates, texts(60, 2), data.reference_sets,
        np.random.default_rng(0).random(60) < 0.7, ["HC", "MM"] * 30, 2,
    )  # fmt: skip
    return dict(measured(pairs, "pascal-50s", counts=(1, 2)))


@pytest.fixture(scope="session")
def ranked() -> dict[str, Any]:
    """As `capeval bench run` of a benchmark with systems."""
    random = np.random.default_rng(0)
    human = {"m1": random.random(9), "m2": random.random(9)}
    scores = {"cider": random.random(9), "bleu_4": random.random(9)}
    return dict(measured(Systems([f"system {i}" for i in range(9)], human, scores), "coco-2015", []))


@pytest.fixture(scope="session")
def scored() -> tuple[dict[str, Any], CaptionScores]:
    """As `capeval score` with intervals, and the scores of each caption."""
    data = dataset()
    result = capeval.score(
        dict(zip(data.ids, data.candidates)), dict(zip(data.ids, data.reference_sets)), ["bleu_1", "rouge_l", "cider_d"]
    )
    found = result.to_dict()
    found["intervals"] = {key: {"low": a, "high": b} for key, (a, b) in result.intervals(resamples=50).items()}
    references = dict(zip(data.ids, data.reference_sets))
    rows = CaptionScores(
        "each", result.ids, result.images, result.systems, result.candidates, result.per_caption, references
    )
    return found, rows


@pytest.fixture(scope="session")
def compared() -> dict[str, Any]:
    data = dataset()
    a, b = dict(zip(data.ids, data.candidates)), dict(zip(data.ids, texts(60, 9)))
    references = dict(zip(data.ids, data.reference_sets))
    return capeval.compare(a, b, references, ["bleu_1", "cider_d"], resamples=50).to_dict()


def curve(*values: float | None) -> dict[str, Any]:
    return {"scores": list(values), "normalised": list(values), "R": None if None in values else 0.5}


@pytest.fixture(scope="session")
def robust() -> list[dict[str, Any]]:
    """One result of each kind of `capeval robust`, small."""
    both = [("bleu_1", 1.0, 0.6, 0.2), ("a_metric$", 1.0, None, 0.0)]
    facts: dict[str, Any] = {"images": 3, "seed": 0, "command": "capeval robust ... -r 'my refs.json'"}
    changed = {"score": 0.2, "relative": 0.5, "not_lower": 10.0}
    choice = {"value": 75.0, "low": 60.0, "high": 90.0}
    return [
        facts | {"kind": "robust-curves", "captions": 3, "transforms": {"wp": "words permuted"}, "gammas": [0, 0.5, 1],
                 "metrics": [{"metric": name, "signature": "s", "untouched": 0.4, "curves": {"wp": curve(*values)}}
                             for name, *values in both]},
        facts | {"kind": "robust-attacks", "captions": 3, "attacks": {"words twice": "each word twice"},
                 "metrics": [{"metric": "bleu_1", "signature": "s", "untouched": 0.4,
                              "attacks": {"words twice": changed}}]},
        facts | {"kind": "robust-probe", "captions": 3, "versions": {"synonyms": "words replaced"},
                 "changed": {"synonyms": 3},
                 "metrics": [{"metric": "bleu_1", "signature": "s", "untouched": 0.4,
                              "versions": {"synonyms": {"untouched": 0.4, "score": 0.3, "relative": None}}}],
                 "examples": [{"id": "1", "untouched": HOSTILE, "synonyms": "a hound"}]},
        facts | {"kind": "robust-components", "pairs": 4, "categories": {"object": 2, "action": 2},
                 "metrics": [{"metric": name, "signature": "s", "rows": 4, "left_out": 0, "ties": 0, "object": choice,
                              "action": choice | {"value": None}, "mean": choice} for name in ("bleu_1", "spice")],
                 "examples": [{"category": "object", "right": "a dog", "wrong": HOSTILE}]},
    ]  # fmt: skip


@pytest.fixture(scope="session")
def everything(
    rated: dict[str, Any],
    paired: dict[str, Any],
    ranked: dict[str, Any],
    scored: tuple[dict[str, Any], CaptionScores],
    compared: dict[str, Any],
    robust: list[dict[str, Any]],
) -> list[Any]:
    return [*scored, compared, rated, paired, ranked, *robust]


@pytest.fixture(scope="session")
def page(everything: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every kind of part."""
    pytest.importorskip("matplotlib")
    from capeval.report import report

    path = tmp_path_factory.mktemp("report") / "report.html"
    report(everything, command="capeval report 'a b.json' -o report.html").write(path)
    return path
