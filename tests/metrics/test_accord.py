"""Captions beside all of their references: the network that comes with capeval."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CheckpointError, Unavailable
from capeval.evaluate import evaluate
from capeval.io.shipped import shipped
from capeval.metrics.accord import Accord
from capeval.metrics.explaining import explain
from capeval.registry import parse
from capeval.run import Run
from capeval.runtime.accord import open_accord
from capeval.types import Dataset, Sample

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")

REFERENCES = (
    "a man in a red shirt rides a bike down the street",
    "a person is riding a bicycle on a city road",
    "a cyclist with a helmet passes parked cars",
    "the man cycles along a street in town",
)


def scores(*captions: str, references: tuple[str, ...] = REFERENCES) -> list[float]:
    samples = [Sample(str(number), "1", text, references) for number, text in enumerate(captions)]
    return np.array(evaluate(Dataset.from_samples(samples), ["accord"]).per_caption["accord"]).tolist()


@pytest.mark.parametrize(
    "worse",
    [
        "a man in a red shirt rides a horse on a road in the city",
        "a man in a red bike rides a shirt on a road in the city",
        "a man in a red shirt rides a bike on a road in the city next to a giraffe",
        "a man in a red shirt rides",
        "rides a in red shirt bike city road the a on man a in a",
        "two dogs play with a ball in the snow",
        "a red shirt",
    ],
)
def test_what_is_wrong_half_or_in_disorder_scores_less(worse: str) -> None:
    right, wrong = scores("a man in a red shirt rides a bike on a road in the city", worse)
    assert 0 < wrong < right < 1


def test_what_has_something_in_common_scores_more_than_what_has_nothing() -> None:
    same, some, nothing = scores(REFERENCES[1], "a woman rides a scooter down the street", "a plate of food")
    assert same > some > nothing


def test_own_captions_of_the_demo_are_above_those_of_other_pictures() -> None:
    captions = json.loads(shipped("demo", "pictures_references.json").read_text("utf-8"))
    names = list(captions)
    samples = [
        Sample(f"{image}-{of}", image, captions[of][0], tuple(captions[image][1:])) for image in names for of in names
    ]
    found = np.array(evaluate(Dataset.from_samples(samples), ["accord"]).per_caption["accord"])
    table = found.reshape(len(names), len(names))
    assert (table.argmax(axis=0) == np.arange(len(names))).all()
    assert (table.argmax(axis=1) == np.arange(len(names))).all()


def test_without_words_there_is_nothing_to_agree_with() -> None:
    assert scores("", "...") == [0, 0]
    assert scores("a man rides", references=("",)) == [0]
    assert scores("a man rides", references=("", REFERENCES[0])) == scores("a man rides", references=REFERENCES[:1])
    with pytest.raises(Unavailable, match="accord compares with references"):
        scores("a man rides", references=())


def test_of_no_captions_there_are_no_scores() -> None:
    assert Accord().stats(Corpus(Dataset.from_samples([]))).shape == (0, 1)


def test_the_order_of_references_does_not_matter() -> None:
    assert scores("a man rides a bike", references=REFERENCES[::-1]) == scores("a man rides a bike")


def test_a_caption_scores_alike_in_any_company() -> None:
    texts = [f"a man with {number} bikes in the street" for number in range(40)]
    together = scores(*texts, "a dog " * 100)
    for row in (0, 17, 39):
        assert scores(texts[row]) == [together[row]]
    samples = [Sample(str(number), "1", text, REFERENCES) for number, text in enumerate(texts)]
    assert Accord().stats(Corpus(Dataset.from_samples(samples), Run(threads=2)))[:, 0].tolist() == together[:40]


def test_one_reference_and_fifty() -> None:
    right, wrong = "a man rides a bike in the city", "a dog sleeps on a sofa"
    for references in (REFERENCES[:1], tuple(f"{text} number {n}" for text in REFERENCES for n in range(13))):
        better, worse = scores(right, wrong, references=references)
        assert better > worse


def test_what_unified_has_read_is_what_it_reads_itself() -> None:
    samples = [Sample(str(number), "1", text, REFERENCES) for number, text in enumerate(["a man", "two bikes", ""])]
    dataset = Dataset.from_samples(samples)
    alone, within = Corpus(dataset), Corpus(dataset)
    within.stats(parse("unified(pictures=none)").metric)
    np.testing.assert_array_equal(within.stats(Accord()), alone.stats(Accord()))


def test_each_word_is_explained() -> None:
    references = [text.split() for text in REFERENCES]
    (found, *_) = explain(Accord(), ["a", "man", "rides", "a", "giraffe"], references, Run())
    assert [word.text for word in found.candidate_words] == ["a", "man", "rides", "a", "giraffe"]
    assert found.facts["accord"] == pytest.approx(scores("a man rides a giraffe")[0], abs=1e-9)
    without = {row[0]: float(row[1]) for row in found.rows}
    assert without["rides"] == pytest.approx(scores("a man a giraffe")[0], abs=1e-9)
    assert without["rides"] < float(found.facts["accord"])


def test_another_sentence_encoder_is_refused(tmp_path: Path) -> None:
    """It would read captions in a space that the network has not learned."""
    copied = Path(shutil.copytree(open_accord().checkpoint.folder, tmp_path / "other"))
    told = json.loads((copied / "config.json").read_text())
    told["facts"]["meaning"] = "0" * 64
    (copied / "config.json").write_text(json.dumps(told))
    with pytest.raises(CheckpointError, match="another sentence encoder"):
        open_accord(str(copied))
