"""LECE learns a few captions by heart; negatives are what they should be; torch and ONNX Runtime say the same."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from capeval.cli import cli
from capeval.errors import CapevalError, DataError, UnknownName
from capeval.io.features import open_features
from capeval.models.lece import CONTEXTS, FUSIONS, Lece
from capeval.run import Progress, Run
from capeval.runtime.lece import open_critique
from capeval.text.vocabulary import Vocabulary
from capeval.train.captions import CaptionTable
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.data import benchmark_images, flickr_number
from capeval.train.facts import facts_of
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.lece.config import Config
from capeval.train.tasks.lece.examples import KINDS, Examples
from capeval.train.tasks.lece.material import Material, gather
from capeval.train.tasks.lece.system import score_system
from capeval.train.tasks.lece.task import LeceTask, encoded, figures

DIM = 12
THINGS = ("dog", "cat", "man", "boy", "girl", "bird", "horse", "woman")
PLACES = ("beach", "sofa", "street", "park", "table", "roof", "field", "bridge")
HUMANS = {
    f"p{i}": (f"a {thing} rests at the {place}", f"the {place} with a {thing}", f"one {thing} near a {place}")
    for i, (thing, place) in enumerate(zip(THINGS, PLACES))
}
MACHINES = {image: ["there is something in the picture"] for image in HUMANS}
SAMPLES = {image: ["picture something in in the"] for image in HUMANS}
SIZES: dict[str, Any] = {"hidden": 16, "sketch": 64, "vocabulary": 60, "batch": 16, "dropout": 0.0, "validation": 2}


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lece") / "f.npz"
    vectors = np.random.default_rng(0).standard_normal((len(HUMANS), DIM)).astype(np.float32)
    np.savez(path, ids=np.array(list(HUMANS)), vectors=vectors)
    return path


@pytest.fixture
def material(features: Path) -> Material:
    images = list(HUMANS)
    return Material(images, images, HUMANS, MACHINES, SAMPLES, vectors=open_features(features))


class Sure(LeceTask):
    """Goes on when all captions are in the right order, until the scores are near 0 and 1."""

    monitor = "performance"


def trained_model(task: LeceTask, folder: Path) -> Lece:
    train(task, folder)
    model = task.build().eval().requires_grad_(False)
    load_weights(model, folder / BEST)
    return model


def examples(negatives: tuple[str, ...], words: int = 15) -> Examples:
    vocabulary = Vocabulary.of(text for texts in HUMANS.values() for text in texts)
    tables = [CaptionTable.of(vocabulary, texts, list(HUMANS), words) for texts in (HUMANS, MACHINES, SAMPLES)]
    return Examples(vocabulary, *tables, negatives)


def test_kinds_are_drawn_equally() -> None:
    images = np.arange(len(HUMANS)).repeat(600)
    kinds = examples(KINDS).draw(images, np.random.default_rng(0)).kinds
    share = {kind: float((kinds == kind).mean()) for kind in KINDS}
    expected = {"machine": 1 / 3, "mc": 1 / 3, "rc": 1 / 9, "wp": 1 / 9, "rw": 1 / 9}
    assert share == pytest.approx(expected, abs=0.03)


@settings(max_examples=20)
@given(st.sampled_from(KINDS), st.integers(0, 2**32))
def test_a_switch_gives_that_kind_only(kind: str, seed: int) -> None:
    some = examples((kind,))
    drawn = some.draw(np.arange(len(HUMANS)), np.random.default_rng(seed))
    assert set(drawn.kinds.tolist()) == {kind}
    for i, image in enumerate(HUMANS):
        human = " ".join(some.vocabulary.words(drawn.tokens[i]))
        reference = " ".join(some.vocabulary.words(drawn.reference_tokens[i]))
        negative = some.vocabulary.words(drawn.tokens[len(HUMANS) + i])
        assert {human, reference} <= set(HUMANS[image])
        assert human != reference
        known = {"machine": MACHINES, "mc": SAMPLES}
        if kind in known:
            table = CaptionTable.of(some.vocabulary, known[kind], [image], 15)
            assert drawn.tokens[len(HUMANS) + i].tolist() == table.tokens[0].tolist()
        elif kind == "rc":
            assert " ".join(negative) in {text for other, texts in HUMANS.items() if other != image for text in texts}
        elif kind == "wp":
            assert sorted(negative) == sorted(human.split())
            assert negative != human.split()
        else:
            assert len(negative) == len(human.split())
            assert sum(a != b for a, b in zip(negative, human.split())) >= 2


def test_pictures_that_lack_what_is_needed_are_an_error() -> None:
    vocabulary = Vocabulary.of(["a dog"])
    humans, none = ({"p": texts} for texts in (("a dog", "the dog"), ()))
    tables = [CaptionTable.of(vocabulary, each, ["p"], 15) for each in (humans, none, none)]
    with pytest.raises(DataError, match="no caption of the kinds machine"):
        Examples(vocabulary, *tables, ("machine",))
    with pytest.raises(DataError, match="at least two pictures"):
        Examples(vocabulary, *tables, ("rc",))
    with pytest.raises(DataError, match="fewer than two human captions"):
        Examples(vocabulary, CaptionTable.of(vocabulary, {"p": ("a dog",)}, ["p"], 15), *tables[1:], ("wp",))


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_tiny_set_is_learned_and_scored_the_same_without_torch(
    context: Any, fusion: Any, material: Material, tmp_path: Path
) -> None:
    config = Config(
        context=context, fusion=fusion, negatives=("machine", "mc"), epochs=15, learning_rate=0.05, decay=0.9, **SIZES
    )
    task = Sure(config, Inputs(), material)
    model = trained_model(task, tmp_path / "c")
    found = task.validate(model)
    assert found["auc"] == 1.0
    assert found["human"] > 0.9 > 0.1 > found["negative"]

    critique = open_critique(str(tmp_path / "c"))
    drawn = task.check_on.draw(np.arange(len(HUMANS)), np.random.default_rng(1))
    batch = task._batch(drawn, task._check_vectors)
    contexts, captions = encoded(model, batch)
    expected = torch.softmax(model.judge(contexts.repeat(2, 1), captions), 1)[:, 1].numpy()
    place = np.tile(np.arange(len(HUMANS)), 2)
    sides = {}
    if context != "reference":
        sides["image"] = (batch["images"].numpy(), place)
    if context != "image":
        sides["reference"] = (critique.encode(drawn.reference_tokens, drawn.reference_lengths), place)
    scores = critique.judge(critique.encode(drawn.tokens, drawn.lengths), np.arange(len(place)), sides)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-3)  # weights are stored in half precision


def test_a_picture_decides_when_captions_of_other_pictures_are_the_negatives(
    material: Material, tmp_path: Path
) -> None:
    config = Config(negatives=("rc",), shared=4, epochs=30, learning_rate=0.05, decay=0.95, **SIZES)
    task = LeceTask(config, Inputs(), material)
    assert task.steps() == 1
    batch = next(iter(task.batches(1, np.random.default_rng(0))))
    assert len(batch["tokens"]) == len(batch["images"]) == len(HUMANS)
    model = trained_model(task, tmp_path / "c")
    assert task.validate(model)["auc"] > 0.95


def test_shared_negatives_weigh_as_much_as_the_others(material: Material) -> None:
    task = LeceTask(Config(shared=3, **SIZES), Inputs(), material)
    torch.manual_seed(0)
    model = task.build().eval()
    batch = next(iter(task.batches(1, np.random.default_rng(0))))
    contexts, captions = encoded(model, batch)
    count = len(contexts)
    log = {i: torch.log_softmax(model.judge(contexts, captions[:count].roll(i, 0)), 1) for i in range(4)}
    own = torch.log_softmax(model.judge(contexts, captions[count:]), 1)[:, 0]
    others = torch.cat([log[i][:, 0] for i in (1, 2, 3)])
    expected = -(log[0][:, 1].mean() + (own.mean() + others.mean()) / 2) / 2
    torch.testing.assert_close(task.loss(model, batch), expected)


def test_figures() -> None:
    found = figures(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    assert found == pytest.approx({"auc": 0.875, "performance": 0.7, "human": 0.7, "negative": 0.3})


def test_material_from_files_of_a_user(features: Path, tmp_path: Path) -> None:
    references = tmp_path / "refs.json"
    references.write_text(json.dumps(HUMANS))
    (tmp_path / "mc.json").write_text(json.dumps(SAMPLES))
    config = Config(sources=(str(references),), machines=(), **{**SIZES, "validation": 1})
    with pytest.raises(CapevalError, match="Monte Carlo samples are needed"):
        gather(config, Inputs(features=(features,)))
    shared = tmp_path / "none"
    found = gather(config, Inputs(shared, (features,), {"mc": str(tmp_path / "mc.json")}))
    assert (len(found.train), len(found.validation)) == (6, 2)  # one alone would have no caption of another picture
    assert not {*found.train} & {*found.validation}
    task = LeceTask(config, Inputs(), found)
    assert facts_of(task)["trained_on"] == [f"images:{references}-train"]
    assert "trained_on" not in facts_of(LeceTask(config, Inputs(), replace(found, named=())))
    found = gather(replace(config, negatives=("rc",)), Inputs(shared, (features,)))
    assert sorted([*found.train, *found.validation]) == sorted(HUMANS)
    with pytest.raises(CapevalError, match="mc is not among the negatives"):
        gather(replace(config, negatives=("rc",)), Inputs(shared, (features,), {"mc": str(tmp_path / "mc.json")}))
    with pytest.raises(CapevalError, match="name one kind"):
        gather(replace(config, negatives=()), Inputs(shared, (features,)))


def test_pictures_of_captions_are_known_by_their_number(tmp_path: Path) -> None:
    """`capeval caption` calls COCO's pictures by their number."""
    numbered = {f"{i:012d}": texts for i, texts in enumerate(HUMANS.values())}
    (tmp_path / "refs.json").write_text(json.dumps(numbered))
    (tmp_path / "mc.json").write_text(json.dumps({str(i): ["in in the"] for i in range(len(numbered))}))
    (tmp_path / "other.json").write_text(json.dumps({"nobody": ["in in the"]}))
    config = Config(context="reference", sources=(str(tmp_path / "refs.json"),), negatives=("mc",), **SIZES)
    found = gather(config, Inputs(extra={"mc": str(tmp_path / "mc.json")}))
    assert found.samples == {image: ["in in the"] for image in numbered}
    with pytest.raises(DataError, match="none of its pictures"):
        gather(config, Inputs(extra={"mc": str(tmp_path / "other.json")}))


def test_other_data_is_told_from_this(material: Material) -> None:
    config = Config(**SIZES)
    before = LeceTask(config, Inputs(), material).facts()["data"]
    assert LeceTask(config, Inputs(), material).facts()["data"] == before
    changed = replace(material, samples={image: ["in the in"] for image in HUMANS})
    assert LeceTask(config, Inputs(), changed).facts()["data"] != before


def test_files_that_the_model_does_not_ask_for(tmp_path: Path) -> None:
    given = ["train", "lece", "--out", str(tmp_path / "o"), "--input", "mahcine=m.json"]
    with pytest.raises(UnknownName, match="Did you mean machine"):
        CliRunner().invoke(cli, given, catch_exceptions=False)
    twice = CliRunner().invoke(cli, [*given[:4], "--input", "mc=a.json", "--input", "mc=b.json"])
    assert twice.exit_code == 2


def test_no_picture_of_a_benchmark_is_trained_on(shared: Path) -> None:
    data = shared / "data"
    found = gather(Config(context="reference", negatives=("rc", "wp"), sources=("flickr8k",)), Inputs(data))
    used = benchmark_images(data)["flickr"]
    assert len(found.train) > 5000
    assert not {flickr_number(image) for image in found.train} & used.keys()
    assert {name for image in found.validation for name in used[flickr_number(image)]} == {"flickr8k-dev"}


def test_a_system_is_scored_in_two_folds_and_work_is_kept(material: Material, tmp_path: Path) -> None:
    config = Config(negatives=("machine",), epochs=10, learning_rate=0.05, decay=0.9, **SIZES)
    machine = {image: texts[0] for image, texts in MACHINES.items()}
    steps: list[str] = []

    class Steps(Progress):
        def step(self, what: str) -> None:
            steps.append(what)

        def note(self, message: str) -> None:
            raise AssertionError("a line for each epoch is too much")

    def score(captions: dict[str, str]) -> Any:
        run = Run(threads=1, progress=Steps())
        return score_system("s", captions, HUMANS, material.vectors, config, range(2), tmp_path, run=run)

    bad = score(machine)
    told = [f"seed {seed} of 2, fold {fold} of 2" for seed in (1, 2) for fold in (1, 2)]
    assert steps == [f"training a critique for s, {which}" for which in told]
    assert bad.mean < 0.3 < 0.6 < min(bad.human)
    assert bad.spread == pytest.approx(np.std(bad.scores, ddof=1))
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/scores.npz")}
    assert len(kept) == 4
    assert {path.name for path in tmp_path.glob("*/*")} == {"config.json", "log.jsonl", "scores.npz"}
    assert score(machine) == bad
    assert score(dict.fromkeys(machine, "")).mean == 0.0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    with pytest.raises(DataError, match="4 are needed"):
        score({image: machine[image] for image in list(machine)[:3]})


def test_the_command(features: Path, tmp_path: Path) -> None:
    rows = [{"image_id": image, "caption": texts[0], "system": "bad"} for image, texts in MACHINES.items()]
    (tmp_path / "c.json").write_text(json.dumps(rows))
    (tmp_path / "r.json").write_text(json.dumps(HUMANS))
    small = [f"--set={key}={value}" for key, value in {**SIZES, "epochs": 2}.items()]
    given = ["lece-system", str(tmp_path / "c.json"), "-r", str(tmp_path / "r.json"), "--seeds", "2", *small]
    given += ["--work", str(tmp_path / "work"), "--format", "json"]
    run = CliRunner().invoke(cli, [*given, "--features", str(features)], catch_exceptions=False)
    found = json.loads(run.stdout)
    assert found["system"] == "bad"
    assert len(found["seeds"]) == len(found["human"]) == 2
    assert found["score"] == pytest.approx(np.mean(found["seeds"]))
    rows += [{"image_id": image, "caption": "a", "system": "few"} for image in list(MACHINES)[:3]]
    (tmp_path / "two.json").write_text(json.dumps(rows))
    with pytest.raises(DataError, match="few has captions of 3 pictures; 4 are needed"):
        CliRunner().invoke(
            cli, [given[0], str(tmp_path / "two.json"), *given[2:], "--features", str(features), "--work", "/nowhere"],
            catch_exceptions=False,
        )  # fmt: skip
    text_only = CliRunner().invoke(cli, [*given, "--context", "reference"], catch_exceptions=False)
    assert 0 < json.loads(text_only.stdout)["score"] < 1
    with pytest.raises(CapevalError, match="--context reference"):
        CliRunner().invoke(cli, given, catch_exceptions=False)
