"""Unified as a metric: one scale whatever there is, never less for more of a part, and honest about what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.corpus import Corpus
from capeval.errors import CheckpointError, ExpressionError
from capeval.evaluate import evaluate
from capeval.io.cache import sha256_of
from capeval.io.shipped import shipped
from capeval.metrics.unified import PARTS, Unified, form
from capeval.registry import parse
from capeval.run import Progress, Run
from capeval.runtime.checkpoint import CONFIG
from capeval.runtime.meaning import Meaning as Encoder
from capeval.runtime.meaning import Read
from capeval.runtime.pictures import open_picture, open_pictures
from capeval.runtime.unified import FORM, INPUTS, WEIGHTS, open_judge, weighed
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Floats, Sample

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("capeval_models_unified")
pytest.importorskip("PIL")

PICTURES = shipped("demo", "pictures")


@pytest.fixture(scope="module")
def demo() -> Dataset:
    """Pictures with references; candidates are one of their captions, one of another picture, and words in disorder."""
    references = json.loads(shipped("demo", "pictures_references.json").read_text("utf-8"))
    names, samples = list(references), []
    for place, image in enumerate(names):
        own, *others = references[image]
        foreign = references[names[place - 1]][0]
        disordered = " ".join(sorted(own.split(), key=lambda word: word[::-1]))
        for kind, text in (("own", own), ("foreign", foreign), ("disordered", disordered)):
            samples.append(Sample(f"{image}-{kind}", image, text, tuple(others)))
    dataset = Dataset.from_samples(samples)
    dataset.features = open_pictures(PICTURES, None, Run())
    return dataset


def without(dataset: Dataset, *, references: bool = False, pictures: bool = False) -> Dataset:
    found = Dataset.from_samples([replace(row, references=()) if references else row for row in dataset])
    found.features = None if pictures else dataset.features
    return found


@pytest.mark.parametrize("inputs", INPUTS)
def test_good_captions_score_above_bad_ones(demo: Dataset, inputs: str) -> None:
    dataset = without(demo, references=inputs == "pictures", pictures=inputs == "references")
    (scores,) = evaluate(dataset, ["unified"]).per_caption.values()
    own, foreign, disordered = np.array(scores).reshape(-1, 3).T
    assert (own > foreign).all()
    assert (own > disordered).all()
    assert own.mean() > 2 * foreign.mean()


class Noting(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_what_is_missing_is_said(demo: Dataset) -> None:
    run = Run(progress=Noting())
    assert list(evaluate(without(demo, pictures=True), ["unified"], run).scores) == ["unified(pictures=none)"]
    assert list(evaluate(without(demo, references=True), ["unified"], run).scores) == ["unified(references=none)"]
    no_pictures, no_references = run.progress.notes  # type: ignore[attr-defined]
    assert "there are no pictures" in no_pictures
    assert "there are no references" in no_references


def test_what_is_there_can_be_left_out(demo: Dataset) -> None:
    given = evaluate(demo, ["unified(pictures=none)", "unified(references=none)"]).per_caption
    for name, kwargs in (
        ("unified(pictures=none)", {"pictures": True}),
        ("unified(references=none)", {"references": True}),
    ):
        (expected,) = evaluate(without(demo, **kwargs), ["unified"]).per_caption.values()
        np.testing.assert_array_equal(given[name], expected)


def test_needs_and_parts() -> None:
    assert set(parse("unified").metric.needs()) == {"references", "pictures"}
    assert parse("unified(pictures=none)").metric.needs() == ("references",)
    assert parse("unified(references=none)").metric.needs() == ("pictures",)
    for inputs in INPUTS:
        assert open_judge().weighings[inputs].parts == (*PARTS[inputs], *FORM)


@pytest.mark.parametrize("inputs", INPUTS)
def test_more_of_a_part_never_lowers_the_score(inputs: str) -> None:
    weighing, random = open_judge().weighings[inputs], np.random.default_rng(0)
    values = random.random((300, len(weighing.parts)))
    for part in range(len(weighing.parts)):
        more = values.copy()
        more[:, part] += random.random(300) * (1 - more[:, part])
        assert (weighing.scores(more) >= weighing.scores(values)).all()


def test_references_are_read_once(demo: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all that reads them; candidates, of which there are fewer, once more for `sight_words`."""
    read, states, given, again = Encoder.read, Encoder.states, [], []

    def noted(self: Encoder, texts: Sequence[Sequence[str]], *others: Any) -> Read:
        given.extend(" ".join(text) for text in texts)
        return read(self, texts, *others)

    def noted_again(self: Encoder, texts: Sequence[Sequence[str]], *others: Any) -> list[Floats]:
        again.extend(" ".join(text) for text in texts)
        return states(self, texts, *others)

    monkeypatch.setattr(Encoder, "read", noted)
    monkeypatch.setattr(Encoder, "states", noted_again)
    evaluate(demo, ["unified"])
    candidates = {" ".join(text) for text in tokenize(demo.candidates)}
    assert len(given) == len(set(given)) > len(candidates)
    assert sorted(again) == sorted(candidates)


def test_bad_parameters() -> None:
    for expression in ("unified(pictures=no)", "unified(references=all)", "unified(references=none, pictures=none)"):
        with pytest.raises(ExpressionError, match="unified"):
            parse(expression)


def test_form() -> None:
    once = "a brown dog runs on the wet grass"
    texts = ["a", once, f"{once} {once}", "a dog a dog a dog", "x " * 50, ""]
    dataset = Dataset.from_samples([Sample(str(i), "1", text, ("a dog",)) for i, text in enumerate(texts)])
    expected = [1, 1, 8 / 15 / 0.55, 2 / 5 / 0.55, 1 / 49 / 0.55, 0]
    assert form(Corpus(dataset))[:, 0].tolist() == pytest.approx(expected)


def test_parts_as_they_are_weighed() -> None:
    given = np.array([[0.5, 0.25, 0.7, 0.3], [0.0, 4.0, 1.0, 0.8]])
    found = weighed(given, ("meaning", "cider_d(df=coco-val2014)", "fresh", "fluency"))
    assert found[0].tolist() == pytest.approx([0, 0.5, 0.7, np.log(0.3 / 0.7)])
    assert found[1, 0] == pytest.approx(np.log(0.002 / 0.998))
    assert found[1, 1:].tolist() == pytest.approx([2, 1, np.log(0.8 / 0.2)])
    grounded = weighed(given[:, 2:], ("scan", "tiger_wds"))
    np.testing.assert_allclose(grounded, np.column_stack([given[:, 2], np.log(given[:, 3] / (1 - given[:, 3]))]))


@pytest.mark.parametrize("inputs", INPUTS)
def test_no_caption_is_sound_enough_to_say_more(inputs: str) -> None:
    """Soundness takes from a score, all of it where a sentence is broken, and never adds to that of a sound one."""
    weighing = open_judge().weighings[inputs]
    sound = len(weighing.parts) - len(weighing.gate)
    best, better, broken = (np.tile(weighing.usual, (1, 1)) for _ in range(3))
    best[:, sound:], broken[:, sound:] = 1, 0
    better[:, sound:] = np.maximum(weighing.usual[sound:], 0.9)
    (top,), (near,), (least,) = (weighing.scores(each) for each in (best, better, broken))
    assert top == pytest.approx(near, abs=1e-12)
    assert least < 0.05 * top


def test_shares_add_up(demo: Dataset) -> None:
    picture = open_picture(str(PICTURES / "cat.jpg"), None, Run())
    metric = parse("unified").metric
    references = [text.split() for text in demo.reference_sets[demo.group[0]]]
    whole, *parts = metric.explain(demo.candidates[0].split(), references, Run(), picture)
    score, usual = (float(whole.facts[name]) for name in ("unified", "of a usual caption"))
    assert sum(float(row[-1]) for row in whole.rows) == pytest.approx(score - usual, abs=1e-9)
    (expected, *_) = evaluate(demo.rows([0]), ["unified"]).per_caption["unified"]
    assert score == pytest.approx(expected, abs=1e-9)
    # Parts that are scores of one metric are told once: here one page a reference.
    told = [part.metric for part in parts]
    assert told.count("confirmed") == len(references)
    assert {name for each in told for name in each.split(", ")} == set(PARTS["both"])


def test_a_negative_weight_is_refused(tmp_path: Path) -> None:
    shipped_folder = open_judge().checkpoint.folder
    for name in (path.name for path in shipped_folder.iterdir() if path.is_file()):
        (tmp_path / name).write_bytes((shipped_folder / name).read_bytes())
    with np.load(tmp_path / WEIGHTS) as stored:
        arrays = dict(stored)
    arrays["both.weights"] = arrays["both.weights"] - 1
    np.savez(tmp_path / WEIGHTS, **arrays)
    told = json.loads((tmp_path / CONFIG).read_text())
    told["files"][WEIGHTS] = sha256_of(tmp_path / WEIGHTS)
    (tmp_path / CONFIG).write_text(json.dumps(told))
    with pytest.raises(CheckpointError, match="could lower the score"):
        Unified(checkpoint=str(tmp_path))


def test_no_benchmark_was_seen() -> None:
    seen = set(parse("unified").metric.trained_on())
    assert seen == {"images:coco-train", "images:flickr8k-train", "images:flickr30k-train", "judgements:cxc"}
