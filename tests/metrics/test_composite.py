"""Metrics made of others: parts come from the registry, are computed once, and stand in the signature."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from capeval import corpus as corpora
from capeval.errors import CapevalError, ExpressionError, UnknownName
from capeval.evaluate import evaluate
from capeval.metrics import spice
from capeval.metrics.composite import Composite
from capeval.metrics.spider import Spider
from capeval.registry import complete, parse, parse_all
from capeval.run import Run
from capeval.scene.fast.parser import FastParser, fast_parser
from capeval.types import Array, Dataset, Info, Sample


@dataclass(frozen=True)
class Double(Composite):
    """Twice the BLEU-4 and once the ROUGE-L, or whatever `of` says."""

    of: str = "bleu_4"

    info: ClassVar[Info] = Info("double", ("double",), "made of others", "Nobody 2020", (0, 3))

    def made_of(self) -> tuple[str, ...]:
        return (self.of, "rouge_l(beta=1)")

    def combine(self, scores: Array) -> Array:
        return scores @ np.array([[2.0], [1.0]])


def test_the_score_that_is_named_counts(small: Dataset) -> None:
    result = evaluate(small, [Double(), "bleu", "rouge_l(beta=1)"], Run(threads=1))
    expected = 2 * result.per_caption["bleu_4"] + result.per_caption["rouge_l(beta=1)"]
    assert result.per_caption["double"].tolist() == expected.tolist()
    assert len(set(expected.tolist())) > 3


def test_parts_come_from_the_registry(small: Dataset) -> None:
    (made,) = parse_all([Double()])
    assert isinstance(made.metric, Double)
    assert [part.names for part in made.metric.parts] == [("bleu_4",), ("rouge_l",)]
    with pytest.raises(CapevalError, match="has no parts"):
        Double().stats(corpora.Corpus(small))
    other = replace(made.metric, of="meteor")
    assert not other.parts, "a copy with another parameter does not keep the old parts"
    assert complete(Spider()) == Spider()
    with pytest.raises(UnknownName, match="blue"):
        parse_all([Double(of="bleu_4(blue=1)")])


def test_needs_and_signatures_are_those_of_the_parts(tmp_path: Path) -> None:
    made = complete(Double(of="lece"))
    assert made.needs() == ("pictures", "references")
    assert made.trained_on() == parse("lece").metric.trained_on() != ()
    one, other = (dict(complete(Double(of=of)).signature_extras(Run())) for of in ("lece", "lece(negatives=rc)"))
    assert one["parts"] != other["parts"], "two checkpoints cannot be taken for one"
    assert one["parts"].startswith("[lece rev: 1, checkpoint: ")
    assert not complete(Double(of="cider_d")).joinable()
    assert complete(Double(of="cider_d(df=coco-val2014)")).joinable()


def test_a_metric_made_of_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spider, "made_of", lambda self: ("spider_fast",))
    with pytest.raises(
        ExpressionError, match="spider -> spider_fast -> spider_fast: a metric cannot be made of itself"
    ):
        parse("spider")


def test_explanations_are_those_of_the_parts() -> None:
    made = complete(Double(of="spice_fast"))
    whole, *parts = made.explain(["a", "red", "car"], [["a", "blue", "car"]], Run())
    assert whole.rows[0][0] == "spice_fast"
    assert whole.facts.keys() == set(made.info.names)
    assert parts[0].facts.keys() >= {"spice_fast", "precision"}
    assert parts[0].metric == "spice_fast"


class Counting:
    """An engine that counts what it is asked for."""

    def __init__(self, engine: Any, calls: Counter[str]) -> None:
        self._engine, self._calls = engine, calls

    def __getattr__(self, name: str) -> Any:
        self._calls[name] += 1
        return getattr(self._engine, name)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the engine's functions are called, files of tuples are read, and captions are parsed."""
    found: Counter[str] = Counter()
    load, read, parsed = corpora.engine.load, spice.tuples_from_file, FastParser.tuples
    monkeypatch.setattr(corpora.engine, "load", lambda name=None: Counting(load(name), found))

    def from_file(path: str, captions: list[str]) -> Any:
        found["files of tuples"] += 1
        return read(path, captions)

    def tuples(self: FastParser, captions: Sequence[str], threads: int = 1) -> Iterator[Any]:
        found["captions parsed fast"] += len(captions)
        return parsed(self, captions, threads)

    monkeypatch.setattr(spice, "tuples_from_file", from_file)
    monkeypatch.setattr(FastParser, "tuples", tuples)
    monkeypatch.setattr(fast_parser(), "remembered", {})  # whatever tests before have parsed
    return found


def test_nothing_is_computed_twice(shared: Path, tmp_path: Path, calls: Counter[str]) -> None:
    """5,000 COCO captions: CIDEr, and each parse, once for all four metrics."""
    folder = shared / "golden" / "spice"
    with gzip.open(folder / "scores_coco_5k.jsonl.gz") as stream:
        rows = [json.loads(line) for line in stream]
    with gzip.open(folder / "parses_coco.jsonl.gz") as stream:
        (tmp_path / "t.jsonl").write_bytes(stream.read())
    dataset = Dataset.from_samples([Sample(str(i), str(i), r["test"], tuple(r["refs"])) for i, r in enumerate(rows)])
    assert len(dataset) == 5000
    file = tmp_path / "t.jsonl"
    metrics = ["cider_d", f"spider(parses={file})", "spider_fast", f"spice(parses={file})"]
    result = evaluate(dataset, metrics, Run("none"))
    captions = {*dataset.candidates, *(text for each in dataset.reference_sets for text in each)}
    assert calls["cider_stats"] == 1
    assert calls["files of tuples"] == 1
    assert calls["captions parsed fast"] == len(captions)
    assert calls["scene_stats"] == 2
    spider = (result.per_caption["cider_d"] + result.per_caption[f"spice(parses={file})"]) / 2
    np.testing.assert_allclose(result.per_caption[f"spider(parses={file})"], spider, rtol=0, atol=1e-12)
