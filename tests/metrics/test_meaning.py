"""Meaning as a metric: the encoder that comes with capeval."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CheckpointError
from capeval.evaluate import evaluate
from capeval.metrics.meaning import Meaning
from capeval.run import Run
from capeval.runtime.meaning import open_meaning, word_match
from capeval.runtime.pieces import Pieces
from capeval.types import Dataset, Sample

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")

REFERENCES = ("a man is riding a bicycle down the street", "someone on a bike in the city")


def scores(*candidates: str, references: tuple[str, ...] = REFERENCES) -> np.ndarray:
    dataset = Dataset.from_samples([Sample(str(i), "1", text, references) for i, text in enumerate(candidates)])
    return Meaning().per_sample(Meaning().stats(Corpus(dataset)))


def test_the_same_in_other_words_is_nearer_than_the_same_words_about_another_thing() -> None:
    other_words, other_thing, off_topic = scores(
        "a person cycles along a road", "a man is riding a horse down the beach", "two cats sleep on a sofa"
    )
    assert other_words[0] > other_thing[0] > off_topic[0]
    assert other_words[2] > off_topic[2]


def test_columns() -> None:
    (found,) = scores("a man rides a bike")
    alone = [scores("a man rides a bike", references=(reference,))[0] for reference in REFERENCES]
    assert found[0] == pytest.approx((alone[0][0] + alone[1][0]) / 2, abs=1e-12)  # the mean over references
    assert found[1] == pytest.approx(max(alone[0][0], alone[1][0]), abs=1e-12)  # the best
    assert found[2] == pytest.approx((alone[0][2] + alone[1][2]) / 2, abs=1e-12)


def test_a_caption_equal_to_its_reference_is_the_same() -> None:
    (found,) = scores(REFERENCES[0], references=REFERENCES[:1])
    assert found[:3] == pytest.approx([1, 1, 1], abs=1e-3)


def confirmed(candidate: str, *references: str) -> float:
    return float(scores(candidate, references=references)[0][3])


def test_what_says_more_that_references_bear_out_has_more_confirmed() -> None:
    half, whole = (confirmed(text, *REFERENCES) for text in ("a man is riding", REFERENCES[0]))
    assert 0 < half < whole < 1
    assert confirmed(f"{REFERENCES[0]} beside a giraffe and a pizza", *REFERENCES) < whole - 0.05
    assert confirmed("two cats sleep on a sofa", *REFERENCES) < half
    assert confirmed("", *REFERENCES) == 0


def test_one_reference_that_says_it_is_enough_to_confirm() -> None:
    alone = [confirmed("a man on a bike in the city", reference) for reference in REFERENCES]
    assert confirmed("a man on a bike in the city", *REFERENCES) >= max(alone)


def test_what_is_confirmed_by_its_definition() -> None:
    encoder = open_meaning()
    texts = ["a man on a bike", *REFERENCES]
    read = encoder.read([text.split() for text in texts])
    near = np.max([word_match(read, 0, number)[1].max(axis=1) for number in (1, 2)], axis=0)
    said = float((np.clip((near - 0.7) / 0.3, 0, 1) * read.weights[: len(near)]).sum())
    unsaid = float(((1 - near) * read.weights[: len(near)]).sum())
    assert confirmed(*texts) == pytest.approx(said / (said + 2 * unsaid + 22), abs=1e-6)


def test_signature_names_the_checkpoint_and_no_benchmark_was_seen() -> None:
    dataset = Dataset.from_samples([Sample("1", "1", "a dog", ("a dog runs",))])
    (signature,) = evaluate(dataset, ["meaning"]).signatures.values()
    assert "checkpoint:" in signature
    assert set(Meaning().trained_on()) == {"images:coco-train", "images:flickr8k-train"}


def test_explained_word_by_word() -> None:
    first, second = Meaning().explain(["a", "man", "rides", "a", "bike"], [text.split() for text in REFERENCES], Run())
    assert first.reference == REFERENCES[0]
    found = {row[0]: row[1] for row in first.rows}
    assert found["bike"] == "bicycle"
    assert found["man"] == "man"
    (whole,) = scores("a man rides a bike")
    assert (float(first.facts["alike"]) + float(second.facts["alike"])) / 2 == pytest.approx(whole[0], abs=1e-9)
    assert float(first.facts["confirmed by all"]) == pytest.approx(whole[3], abs=1e-9)


def test_captions_that_are_too_long_or_empty_are_explained() -> None:
    """Not all pieces of a long one are read."""
    words = ["a", "man", "rides", "a", "bike", "down", "the", "street"]
    (told,) = Meaning().explain(words * 20, [words], Run())
    ((expected,),) = scores(" ".join(words * 20), references=(" ".join(words),))[:, 3:]
    assert float(told.facts["confirmed by all"]) == pytest.approx(expected, abs=1e-9)
    (told,) = Meaning().explain([], [words], Run())
    assert told.facts["confirmed by all"] == 0


def test_scoring_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import capeval\n"
        "r = capeval.score(['a dog runs'], [['a dog is running']], metrics=['meaning'])\n"
        "assert 0.5 < r.scores['meaning'] <= 1, r.scores"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_that_is_no_tokenizer(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="no tokenizer"):
        Pieces(tmp_path / "tokenizer.json", 8)
