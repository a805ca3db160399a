"""Words found in pictures: the network that comes with capeval, on the demo's pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CheckpointError, Unavailable, UnsuitableFeatures
from capeval.evaluate import evaluate
from capeval.io.shipped import shipped
from capeval.metrics.explaining import explain
from capeval.metrics.sight_words import SightWords
from capeval.run import Run
from capeval.runtime.pictures import open_picture, open_pictures
from capeval.runtime.sight_words import open_sight_words
from capeval.types import Dataset, Sample
from tests.sight_maker import drawn, fits_of_the_demo

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")
pytest.importorskip("PIL")

PICTURES = shipped("demo", "pictures")


def of_the_cat(*captions: str) -> list[float]:
    dataset = Dataset.from_samples([Sample(str(number), "cat", text) for number, text in enumerate(captions)])
    dataset.features = open_pictures(PICTURES, None, Run())
    return evaluate(dataset, ["sight_words"]).per_caption["sight_words"]


def test_captions_fit_their_own_pictures() -> None:
    table = fits_of_the_demo("sight_words")
    assert ((table > 0) & (table < 1)).all()
    assert (table.argmax(axis=0) == np.arange(len(table))).all()
    assert (table.argmax(axis=1) == np.arange(len(table))).all()


def test_one_wrong_word_costs_more_than_its_share() -> None:
    right, wrong, nothing = of_the_cat("a brown cat looks at something", "a brown train looks at something", "")
    assert right > wrong
    assert nothing == 0
    network, shares = open_sight_words(), np.full((2, 8), 1 / 8)
    even, one_wrong = network.scores(np.array([[0.4] * 8, [0.5] * 7 + [-0.3]]), shares)
    assert one_wrong < even  # though the mean of how well its words are borne out is the same


def test_by_its_definition() -> None:
    network, images = open_sight_words(), ["1"]
    features = drawn(open_sight_words(), images)
    dataset = Dataset.from_samples([Sample("1", "1", "a dog runs after a ball on the grass near two red houses")])
    dataset.features = features
    ((score,),) = SightWords().stats(Corpus(dataset))
    words = network.read([dataset.candidates[0].split()])
    assert (words.shares[0] > 0).sum() == 8  # the others tell less
    assert words.shares[0].sum() == pytest.approx(1)
    seen = network.look(features.vectors(images), features.regions(images))
    borne_out = (words.vectors[0] @ seen[0].T).max(axis=1)
    fits = -np.log((words.shares[0] * np.exp(-4 * borne_out)).sum()) / 4
    slope, offset = (float(network._scale[name]) for name in ("slope", "offset"))
    assert score == pytest.approx(1 / (1 + np.exp(-slope * fits - offset)), abs=1e-6)
    assert borne_out.min() < fits < borne_out.max()


def test_a_caption_scores_alike_in_any_company() -> None:
    images = [str(number) for number in range(40)]
    samples = [Sample(image, image, f"a dog number {image} runs on grass") for image in images]
    dataset = Dataset.from_samples(samples)
    dataset.features = drawn(open_sight_words(), images)
    together = SightWords().stats(Corpus(dataset, Run(threads=2)))
    assert SightWords().stats(Corpus(dataset.rows([17])))[0] == together[17]


@pytest.mark.parametrize("regions", [1, 10, 36])
def test_any_number_of_regions_and_words(regions: int) -> None:
    texts = ["dog", "a dog " * 150, *(f"a dog number {number}" for number in range(600))]
    dataset = Dataset.from_samples([Sample(str(number), "1", text) for number, text in enumerate(texts)])
    dataset.features = drawn(open_sight_words(), ["1"], regions=regions)
    scores = SightWords().stats(Corpus(dataset))
    assert ((scores > 0) & (scores < 1)).all()
    for row in (0, 1, 601):  # one picture has more captions than are compared at a time
        assert SightWords().stats(Corpus(dataset.rows([row])))[0] == scores[row]


def test_what_it_cannot_score() -> None:
    dataset = Dataset.from_samples([Sample("1", "1", "a dog", ("a dog runs",))])
    with pytest.raises(Unavailable, match="sight_words looks at pictures"):
        evaluate(dataset, ["sight_words"])
    for features in (drawn(open_sight_words(), ["1"], encoder="other/123"), drawn(open_sight_words(), ["1"], width=20)):
        dataset.features = features
        with pytest.raises(UnsuitableFeatures):
            evaluate(dataset, ["sight_words"])


def test_explained_word_by_word() -> None:
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    (found,) = explain(SightWords(), ["a", "brown", "cat", "and", "a", "rocket"], [], Run(), picture)
    borne_out = {row[0]: float(row[2]) for row in found.rows}
    assert borne_out["cat"] > borne_out["rocket"]
    assert sum(float(row[1]) for row in found.rows) == pytest.approx(1)
    assert all(str(row[3]).startswith(("row", "the whole")) for row in found.rows)
    (score,) = of_the_cat("a brown cat and a rocket")
    assert float(found.facts["sight_words"]) == pytest.approx(score, abs=1e-6)
    assert [word.text for word in found.candidate_words] == ["a", "brown", "cat", "and", "a", "rocket"]
    with pytest.raises(Unavailable):
        explain(SightWords(), ["a"], [], Run())


def test_words_that_would_be_tokenised_otherwise_are_shown_as_they_are() -> None:
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    (found,) = explain(SightWords(), ["a", "cannot", "dog", ",", "runs"], [], Run(), picture)
    assert {row[0] for row in found.rows} == {"a", "cannot", "dog", ",", "runs"}


def test_a_caption_without_words_is_explained() -> None:
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    (found,) = explain(SightWords(), [], [], Run(), picture)
    assert found.facts["sight_words"] == 0
    assert not found.rows


def test_another_sentence_encoder_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """It would read captions in a space that the network has not learned."""
    folder = Path(str(open_sight_words().checkpoint.folder))
    copied = Path(shutil.copytree(folder, tmp_path / "other"))
    told = json.loads((copied / "config.json").read_text())
    told["facts"]["meaning"] = "0" * 64
    (copied / "config.json").write_text(json.dumps(told))
    with pytest.raises(CheckpointError, match="another sentence encoder"):
        open_sight_words(str(copied))
