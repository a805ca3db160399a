"""SCAN's own score: the mean of what TIGEr compares, without references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import capeval
from capeval.corpus import Corpus
from capeval.errors import CheckpointError, Unavailable, UnsuitableFeatures
from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.io.shipped import shipped
from capeval.metrics.explaining import explain
from capeval.metrics.scan import Scan
from capeval.metrics.tiger import Tiger
from capeval.run import Run
from capeval.runtime.pictures import open_picture
from capeval.runtime.scan import Scan as Network
from capeval.runtime.scan import Words, open_scan
from capeval.types import Dataset, Sample
from tests.sight_maker import fits_of_the_demo

PICTURES = shipped("demo", "pictures")
TEXTS = ["a dog runs", "a cat", "two dogs run on a beach", "A DOG runs.", "", "qqq zzz"]


def drawn(images: list[str], width: int = 8) -> ArrayFeatures:
    random = np.random.default_rng(0).standard_normal((len(images), 6, width)).astype(np.float32)
    return ArrayFeatures(__file__, images, {"regions": random})


def pictured(texts: list[str] = TEXTS, **more: tuple[str, ...]) -> Dataset:
    images = [str(number % 3) for number in range(len(texts))]
    samples = [Sample(str(number), image, text, **more) for number, (image, text) in enumerate(zip(images, texts))]
    dataset = Dataset.from_samples(samples)
    dataset.features = drawn(["0", "1", "2"])
    return dataset


def test_it_is_the_mean_of_the_grounding_vector(small_scan: Path) -> None:
    network, dataset = open_scan(str(small_scan)), pictured()
    found = Scan(str(small_scan)).stats(Corpus(dataset))[:, 0]
    mapped = network.look(dataset.features, ["0", "1", "2"])
    for row in range(4):
        words = network.read([["a", "dog", "runs"] if row == 3 else TEXTS[row].split()]).of(0)
        vector = network.ground(mapped[row % 3], words).vector
        assert found[row] == pytest.approx((1 + vector.mean()) / 2, abs=1e-6)
    assert found[4:].tolist() == [0, 0]  # without words, and without one that is known


def test_references_change_nothing_and_are_not_read(small_scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, read, texts = Scan(str(small_scan)), Network.read, []

    def noted(self: Network, given: Sequence[Sequence[str]], threads: int = 1) -> Words:
        texts.extend(" ".join(text) for text in given)
        return read(self, given, threads)

    monkeypatch.setattr(Network, "read", noted)
    alone, beside = (Corpus(pictured(**more)) for more in ({}, {"references": ("a dog", "a cat runs")}))
    np.testing.assert_array_equal(metric.stats(alone), metric.stats(beside))
    assert set(texts) == {"a dog runs", "a cat", "two dogs run on a beach"}


def test_of_no_captions_there_are_no_scores(small_scan: Path) -> None:
    dataset = Dataset.from_samples([])
    dataset.features = drawn(["0"])
    assert Scan(str(small_scan)).stats(Corpus(dataset)).shape == (0, 1)
    assert Tiger(str(small_scan)).stats(Corpus(dataset)).shape == (0, 2)


def test_a_caption_scores_alike_in_any_company(small_scan: Path) -> None:
    metric = Scan(str(small_scan))
    dataset = pictured([f"a dog runs {'and runs ' * (number % 7)}" for number in range(60)])
    together = metric.stats(Corpus(dataset, Run(threads=2)))
    for row in (0, 17, 59):
        assert metric.stats(Corpus(dataset.rows([row])))[0] == together[row]


def test_captions_fit_their_own_pictures() -> None:
    pytest.importorskip("capeval_models")
    pytest.importorskip("PIL")
    table = fits_of_the_demo("scan")
    assert ((table > 0) & (table < 1)).all()
    assert (table.argmax(axis=0) == np.arange(len(table))).all()
    assert (table.argmax(axis=1) == np.arange(len(table))).all()


def test_words_are_explained() -> None:
    pytest.importorskip("capeval_models")
    pytest.importorskip("PIL")
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    (found,) = explain(Scan(), ["a", "brown", "cat"], [], Run(), picture)
    added = {row[0]: float(row[2]) for row in found.rows}
    assert added["cat"] > 0
    score = capeval.score([{"id": "cat", "caption": "a brown cat"}], metrics=["scan"], images=PICTURES).scores["scan"]
    assert float(found.facts["scan"]) == pytest.approx(score, abs=1e-6)


def test_what_it_cannot_score(small_scan: Path, write_scan: Callable[..., Path], tmp_path: Path) -> None:
    metric, dataset = Scan(str(small_scan)), pictured()
    dataset.features = None
    with pytest.raises(Unavailable, match="scan looks at pictures"):
        evaluate(dataset, [metric])
    dataset.features = drawn(["0", "1", "2"], width=9)
    with pytest.raises(UnsuitableFeatures):
        evaluate(dataset, [metric])
    dataset.features = drawn(["0", "1", "2"])
    with pytest.raises(CheckpointError, match="scan needs one in which regions look at words"):
        evaluate(dataset, [replace(metric, checkpoint=str(write_scan(tmp_path, direction="t2i")))])
