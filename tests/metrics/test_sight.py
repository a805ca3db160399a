"""Sight as a metric: the network that comes with capeval, on the demo's pictures."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CapevalError, Unavailable, UnsuitableFeatures
from capeval.evaluate import evaluate
from capeval.io.shipped import shipped
from capeval.metrics.explaining import explain
from capeval.metrics.sight import Sight
from capeval.run import Run
from capeval.runtime.pictures import open_picture
from capeval.runtime.sight import open_sight
from capeval.types import Dataset, Sample
from tests.sight_maker import drawn, fits_of_the_demo

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")
pytest.importorskip("PIL")

PICTURES = shipped("demo", "pictures")


def test_captions_fit_their_own_pictures() -> None:
    """No reference is read, and captions that people wrote for a picture fit it better than those of others."""
    table = fits_of_the_demo("sight")
    assert (table.argmax(axis=0) == np.arange(len(table))).all()
    assert (table.argmax(axis=1) == np.arange(len(table))).all()


def test_without_pictures() -> None:
    dataset = Dataset.from_samples([Sample("1", "1", "a dog", ("a dog runs",))])
    with pytest.raises(Unavailable, match="looks at pictures"):
        evaluate(dataset, ["sight"])


def test_features_of_another_encoder_or_width_are_refused() -> None:
    dataset = Dataset.from_samples([Sample("1", "1", "a dog")])
    for features in (drawn(open_sight(), ["1"], encoder="other/123"), drawn(open_sight(), ["1"], width=20)):
        dataset.features = features
        with pytest.raises(UnsuitableFeatures):
            evaluate(dataset, ["sight"])


def test_a_caption_scores_alike_in_any_company() -> None:
    images = [str(number) for number in range(40)]
    samples = [Sample(image, image, f"a dog number {image} runs on grass") for image in images]
    dataset = Dataset.from_samples(samples)
    dataset.features = drawn(open_sight(), images)
    together = Sight().stats(Corpus(dataset, Run(threads=2)))
    alone = dataset.rows([17])
    assert Sight().stats(Corpus(alone))[0] == together[17]


def test_explained_by_leaving_words_out() -> None:
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    (found,) = explain(Sight(), ["a", "brown", "cat", "and", "a", "rocket"], [], Run(), picture)
    share = {row[0]: float(row[2]) for row in found.rows}
    assert share["cat"] > share["rocket"]
    for _, without, its in found.rows:
        assert float(found.facts["sight"]) - float(without) == pytest.approx(float(its))
    with pytest.raises(Unavailable):
        explain(Sight(), ["a"], [], Run())


def test_an_encoder_that_it_does_not_know(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CapevalError):
        open_sight("sight", str(tmp_path))
