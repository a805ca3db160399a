"""LECE as a metric: no torch, the checkpoints that come with capeval."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")

from capeval.errors import CapevalError, CheckpointError, DataError, ExpressionError, Unavailable
from capeval.evaluate import evaluate
from capeval.io.features import open_features
from capeval.metrics.lece import CHECKPOINTS, Lece
from capeval.registry import parse
from capeval.run import Run
from capeval.runtime.checkpoint import open_checkpoint
from capeval.runtime.lece import open_critique
from capeval.types import Array, Dataset

EVERY = [Lece(context, negatives) for context, negatives in CHECKPOINTS]
TEXT_ONLY = Lece(context="reference")
WIDTH = 768


@pytest.fixture
def pictured(small: Dataset, tmp_path: Path) -> Dataset:
    """The six images with made-up vectors of the size and kind that the encoder gives."""
    images = list(dict.fromkeys(small.images))
    vectors = np.abs(np.random.default_rng(0).standard_normal((len(images), WIDTH)) * 0.4).astype(np.float32)
    np.savez(tmp_path / "f.npz", ids=np.array(images), vectors=vectors)
    small.features = open_features(tmp_path / "f.npz")
    return small


def scores(dataset: Dataset, metric: Lece, threads: int = 1) -> Array:
    (found,) = evaluate(dataset, [metric], Run(threads=threads)).per_caption.values()
    return found


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_scores_do_not_depend_on_order_company_threads_or_repetition(metric: Lece, pictured: Dataset) -> None:
    whole = scores(pictured, metric)
    assert whole.shape == (len(pictured),)
    assert ((whole > 0) & (whole < 1)).all()
    assert len(set(whole.tolist())) == len(whole)
    order = np.random.default_rng(0).permutation(len(pictured)).tolist()
    np.testing.assert_array_equal(scores(pictured.rows(order), metric), whole[order])
    np.testing.assert_array_equal(scores(pictured[3:4], metric), whole[3:4])
    np.testing.assert_array_equal(scores(pictured, metric, threads=3), whole)
    twice = pictured.rows([*range(len(pictured)), 0, 0])
    np.testing.assert_array_equal(scores(twice, metric), [*whole, whole[0], whole[0]])


@settings(max_examples=15)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_any_text_has_a_score(pictured: Dataset, texts: list[str]) -> None:
    rows = Dataset.from_samples([replace(pictured[0], id=str(i), candidate=text) for i, text in enumerate(texts)])
    rows.features = pictured.features
    for metric in EVERY:
        found = scores(rows, metric)
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_a_caption_without_words_scores_0(metric: Lece, pictured: Dataset) -> None:
    rows = [replace(pictured[0], candidate=text) for text in ("", "  ", ".", "a dog")]
    dataset = Dataset.from_samples([replace(row, id=str(i)) for i, row in enumerate(rows)])
    dataset.features = pictured.features
    found = scores(dataset, metric)
    assert found[:3].tolist() == [0, 0, 0]
    assert found[3] > 0


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_what_follows_15_words_does_not_count(metric: Lece, pictured: Dataset) -> None:
    start = "a man and a woman in red coats walk with two dogs along the wet sand"
    rows = [replace(pictured[0], id=str(i), candidate=start + rest) for i, rest in enumerate(("", " today", " x y z"))]
    dataset = Dataset.from_samples(rows)
    dataset.features = pictured.features
    assert len(set(scores(dataset, metric).tolist())) == 1


def test_several_references_count_by_their_mean(small: Dataset) -> None:
    sample = small[0]
    alone = [
        scores(Dataset.from_samples([replace(sample, references=(each,))]), TEXT_ONLY)[0] for each in sample.references
    ]
    together = scores(Dataset.from_samples([sample]), TEXT_ONLY)[0]
    assert together == pytest.approx(np.mean(alone), abs=1e-12)


def test_human_like_captions_score_above_nonsense(small: Dataset) -> None:
    good = Dataset.from_samples([replace(s, candidate=s.references[0]) for s in small])
    shuffled = Dataset.from_samples(
        [replace(s, candidate=" ".join(sorted(s.references[0].split(), reverse=True))) for s in small]
    )
    other = Dataset.from_samples([replace(s, candidate="purple monkeys never read") for s in small])
    assert scores(good, TEXT_ONLY).mean() > scores(shuffled, TEXT_ONLY).mean() + 0.1
    assert scores(good, TEXT_ONLY).mean() > scores(other, TEXT_ONLY).mean() + 0.1


def test_the_picture_counts(pictured: Dataset) -> None:
    metric = Lece(negatives="rc")
    changed = [replace(s, image=pictured.images[(i + 1) % 6]) for i, s in enumerate(pictured)]
    other = Dataset.from_samples(changed)
    other.features = pictured.features
    assert (scores(other, metric) != scores(pictured, metric)).all()


def test_without_pictures_the_error_names_what_needs_none(small: Dataset) -> None:
    for metric in (Lece(), Lece(negatives="rc")):
        with pytest.raises(Unavailable, match=r"lece\(context=reference\)"):
            scores(small, metric)
    assert scores(small, TEXT_ONLY).shape == (12,)


def test_without_references_the_text_only_critique_is_refused(small: Dataset) -> None:
    rows = [replace(small[0], references=()), *list(small)[1:]]
    with pytest.raises(DataError, match="beach-one"):
        scores(Dataset.from_samples(rows), TEXT_ONLY)


def test_features_of_another_encoder_are_refused(pictured: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(pictured.features), "encoder", "resnet/0123456789ab", raising=False)
    with pytest.raises(DataError, match="encoded by resnet/0123456789ab"):
        scores(pictured, Lece())


def test_features_of_another_width_are_refused(small: Dataset, tmp_path: Path) -> None:
    images = list(dict.fromkeys(small.images))
    np.savez(tmp_path / "f.npz", ids=np.array(images), vectors=np.ones((len(images), 2048), np.float32))
    small.features = open_features(tmp_path / "f.npz")
    with pytest.raises(DataError, match="768 numbers, these have 2048"):
        scores(small, Lece())


def test_expressions() -> None:
    assert parse("lece(negatives=rc)").metric == Lece(negatives="rc")
    assert parse("lece(context=reference)").metric.needs() == ("references",)
    assert parse("lece").metric.needs() == ("pictures",)
    for wrong in ("lece(context=sound)", "lece(context=reference, negatives=rc)", "lece(checkpoint=x, negatives=rc)"):
        with pytest.raises(ExpressionError):
            parse(wrong)


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_checkpoints_are_small_say_what_they_saw_and_differ(metric: Lece, pictured: Dataset) -> None:
    checkpoint = open_checkpoint(CHECKPOINTS[metric.context, metric.negatives], "lece")
    assert sum(path.stat().st_size for path in checkpoint.folder.iterdir()) < 25e6
    assert checkpoint.config["context"] == metric.context
    assert metric.trained_on()
    assert not any(word.startswith("judgements:") or word.endswith("-test") for word in metric.trained_on())
    (signature,) = evaluate(pictured, [metric]).signatures.values()
    assert f"checkpoint:{checkpoint.digest}" in signature


def test_a_checkpoint_of_ones_own_decides_the_context(small: Dataset) -> None:
    folder = open_checkpoint(CHECKPOINTS["reference", "all"], "lece").folder
    own = Lece(checkpoint=str(folder))
    assert own.needs() == ("references",)
    np.testing.assert_array_equal(scores(small, own), scores(small, TEXT_ONLY))
    with pytest.raises(CapevalError):
        scores(small, Lece(checkpoint="nowhere"))


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    source = open_checkpoint(CHECKPOINTS["reference", "all"], "lece").folder
    for path in source.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = json.loads((tmp_path / "config.json").read_bytes())
    (tmp_path / "vocabulary.txt").write_bytes((tmp_path / "vocabulary.txt").read_bytes()[:-2])
    with pytest.raises(CheckpointError, match=r"vocabulary\.txt"):
        open_critique(str(tmp_path))
    content["files"].pop("vocabulary.txt")
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"vocabulary\.txt"):
        open_critique(str(tmp_path))


def test_scoring_loads_no_torch() -> None:
    program = (
        "import sys\n"
        "from capeval.evaluate import evaluate\n"
        "from capeval.types import Dataset, Sample\n"
        "rows = Dataset.from_samples([Sample('1', '1', 'a dog runs', ('the dog is running',))])\n"
        "evaluate(rows, ['lece(context=reference)'])\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
