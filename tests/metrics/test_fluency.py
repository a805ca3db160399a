"""Fluency as a metric, with the network that comes with capeval."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.evaluate import evaluate
from capeval.metrics.explaining import explain
from capeval.metrics.fluency import Fluency
from capeval.run import Run
from capeval.types import Dataset, Sample

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")


def scores(*candidates: str) -> np.ndarray:
    """Nothing is there beside the candidates."""
    dataset = Dataset.from_samples([Sample(str(i), "1", text) for i, text in enumerate(candidates)])
    return np.array(evaluate(dataset, ["fluency"]).per_caption["fluency"])


def test_broken_sentences_do_not_sound_human() -> None:
    sound = [
        "a brown dog runs across the wet sand", "two people are sitting on a bench in the park",
        "a bowl of soup on a wooden table", "a train is coming into the station", "a woman holding a red umbrella",
    ]  # fmt: skip
    broken = [
        "sand dog a the wet brown across runs", "park sitting the on people two bench in are a",
        "soup soup bowl bowl table table", "the a into station is coming train a a a", "umbrella woman red a holding",
    ]  # fmt: skip
    assert scores(*sound).min() > scores(*broken).max()


def test_short_sentences_are_sound_too() -> None:
    short = scores("two dogs play", "a man running", "a red bus", "a cat on a couch")
    assert short.min() > 0.5
    assert short.min() > scores("dogs two play", "man a running", "red a bus", "a cat on a", "cat couch on a a").max()


def test_several_sentences_and_inventories_are_sound_too() -> None:
    sound = scores(
        "a brown dog runs across the wet sand the dog has a ball in its mouth",
        "two people are sitting on a bench they look at the sea",
        "this is a picture of one dog one person and one sofa the brown dog is near the sofa",
        "cars",
    )
    assert sound.min() > 0.5
    assert sound.min() > scores("a brown dog runs across the wet sand dog the a has ball mouth its in")[0]


def test_a_word_that_disturbs_has_a_negative_share() -> None:
    (found,) = explain(Fluency(), ["a", "brown", "dog", "the", "runs", "across", "the", "wet", "sand"], [], Run())
    share = [float(row[2]) for row in found.rows]
    assert min(share) == share[3] < 0
    assert float(found.facts["fluency"]) == pytest.approx(scores("a brown dog the runs across the wet sand")[0])
