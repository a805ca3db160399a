"""NNEval learns from made-up captions; rows are drawn as the paper says; torch and NumPy say the same; same seed, same
bits; nothing that a benchmark uses is trained on."""

# ruff: noqa: E402  (what needs torch is imported after asking whether it is there)

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from capeval.cli import cli
from capeval.errors import CapevalError, DataError, UnknownName
from capeval.evaluate import evaluate
from capeval.metrics.nneval import Nneval
from capeval.run import Run
from capeval.runtime.nneval import open_judge
from capeval.train.checkpoint import BEST, load_weights
from capeval.train.data import benchmark_images, flickr_number
from capeval.train.loop import train
from capeval.train.task import Inputs
from capeval.train.tasks.nneval.config import Config
from capeval.train.tasks.nneval.rows import draw_rows
from capeval.train.tasks.nneval.table import feature_table, mode
from capeval.train.tasks.nneval.task import NnevalTask

THINGS = ("dog", "cat", "man", "boy", "girl", "bird", "horse", "woman", "child", "cow")
PLACES = ("beach", "sofa", "street", "park", "table", "roof", "field", "bridge", "lake", "shop")
HUMANS = {
    f"p{i}": [
        f"a {thing} rests at the {place}",
        f"the {place} with a {thing} resting",
        f"one {thing} near a {place}",
        f"a {thing} is at a {place}",
        f"there is a {thing} on the {place}",
        f"{thing} at rest by the {place}",
    ]
    for i, (thing, place) in enumerate(zip(THINGS, PLACES))
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "humans.json").write_text(json.dumps(HUMANS))
    (tmp_path / "machines.json").write_text(
        json.dumps({image: [f"a picture of {k} things" for k in "abcd"] for image in HUMANS})
    )
    rows = []
    for number, (image, texts) in enumerate(HUMANS.items()):
        other = HUMANS[f"p{(number + 1) % len(HUMANS)}"][0]
        for grade, text in ((4, texts[0]), (2, f"a {THINGS[number]}"), (1, other)):
            rows.append({"id": len(rows), "image": image, "candidate": text, "references": texts[1:], "grade": grade})
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def config(folder: Path, **changes: Any) -> Config:
    own: dict[str, Any] = {
        "sources": (str(folder / "humans.json"),),
        "machines": (),
        "features": ("bleu_1", "rouge_l", "cider_d(df=coco-val2014)"),
        "validation": str(folder / "judged.jsonl"),
        "negatives": ("rc",),
        "epochs": 30,
        "batch": 10,
        "hidden": 8,
        "learning_rate": 0.01,
    }
    return Config(**(own | changes))


def inputs(folder: Path, **extra: str) -> Inputs:
    return Inputs(extra=extra, run=Run(threads=1, cache=folder / "cache"))


def test_rows_are_drawn_as_the_paper_says(folder: Path) -> None:
    rows = draw_rows(config(folder, negatives=("machine",)), inputs(folder, machine=str(folder / "machines.json")))
    assert len(rows) == 6 * len(HUMANS)
    for row in rows:
        assert len(set(row.references)) == 4
        assert set(row.references) <= set(HUMANS[row.image])
        assert row.candidate not in row.references
        assert (row.system == "human") == (row.candidate in HUMANS[row.image])
    for image in HUMANS:
        mine = [row for row in rows if row.image == image]
        assert [row.system for row in mine] == ["human"] * 3 + ["machine"] * 3
        assert len({row.candidate for row in mine[:3]}) == 3
        five = {text for row in mine[:3] for text in (row.candidate, *row.references)}
        assert len(five) == 5
        assert all(set(row.references) < five for row in mine)


@pytest.mark.parametrize("kind", ["rc", "near", "wp", "rw"])
def test_kinds_of_negatives(folder: Path, kind: Any) -> None:
    rows = [row for row in draw_rows(config(folder, negatives=(kind,)), inputs(folder)) if row.system != "human"]
    assert {row.system for row in rows} == {kind}
    for row in rows:
        own, others = HUMANS[row.image], [t for image, texts in HUMANS.items() if image != row.image for t in texts]
        if kind in ("rc", "near"):
            assert row.candidate in others
        elif kind == "wp":
            assert sorted(row.candidate.split()) in [sorted(text.split()) for text in own]
            assert row.candidate not in own
        else:
            assert row.candidate not in own
            assert len(row.candidate.split()) in {len(text.split()) for text in own}


def test_kinds_take_turns_and_draws_have_a_seed(folder: Path) -> None:
    both = config(folder, negatives=("rc", "wp"))
    rows = list(draw_rows(both, inputs(folder)))
    kinds = [row.system for row in rows]
    assert {"rc", "wp"} < set(kinds)
    assert all({"rc", "wp"} <= {row.system for row in rows if row.image == image} for image in HUMANS)
    assert rows == list(draw_rows(replace(both, seed=5), inputs(folder)))
    assert rows != list(draw_rows(replace(both, draw=1), inputs(folder)))


def test_a_kind_named_twice_has_twice_the_share(folder: Path) -> None:
    drawn = draw_rows(config(folder, negatives=("rc", "wp", "rc")), inputs(folder))
    counts = Counter(drawn.systems)
    assert (counts["human"], counts["rc"], counts["wp"]) == (30, 20, 10)


def test_a_score_that_falls_where_a_feature_grows_is_penalised(folder: Path) -> None:
    given = NnevalTask(config(folder, rising=0.0), inputs(folder))
    penalised = NnevalTask(config(folder, rising=2.0), inputs(folder))
    torch.manual_seed(0)
    model = given.build()
    (batch, *_) = given.batches(0, np.random.default_rng(0))
    with torch.no_grad():
        falls = torch.zeros(len(batch["features"]))
        for place in range(len(given.config.features)):
            step = torch.zeros(len(given.config.features))
            step[place] = 1e-3
            machine, human = (model(batch["features"] + step) - model(batch["features"] - step)).T
            falls += (-(human - machine) / 2e-3).relu()
    assert falls.mean() > 0.01
    added = (penalised.loss(model, batch) - given.loss(model, batch)).detach()
    assert float(added) == pytest.approx(2 * float(falls.mean()), abs=5e-3)


def test_a_mode_is_the_most_frequent_else_the_middle() -> None:
    assert [mode(np.array(each, float)) for each in ([1, 1, 4], [4, 2, 4], [1, 2, 4], [3], [1, 2])] == [1, 4, 2, 3, 1.5]


def test_it_learns_and_scores_the_same_without_torch(folder: Path) -> None:
    task = NnevalTask(config(folder), inputs(folder))
    train(task, folder / "out")
    model = task.build().eval()
    load_weights(model, folder / "out" / BEST)
    with torch.no_grad():
        found = task.validate(model)
    assert found["accuracy"] > 0.85
    assert found["kendall_c"] > 0.8
    with torch.no_grad():
        expected = torch.softmax(model(task._judged), dim=1)[:, 1].numpy()
    judge = open_judge(str(folder / "out"))
    np.testing.assert_allclose(judge.network.scores(task.judged), expected, rtol=0, atol=1e-6)
    assert judge.features == task.config.features
    assert judge.network.low.tolist() == task.features.min(axis=0).tolist()
    assert judge.network.high.tolist() == task.features.max(axis=0).tolist()
    facts = judge.checkpoint.facts
    assert facts["captions"] == {"human": 30, "rc": 30}
    assert "judgements:judged.jsonl" in facts["selected_on"]
    rows = draw_rows(task.config, inputs(folder))
    scores = evaluate(rows, [Nneval(checkpoint=str(folder / "out"))]).per_caption
    np.testing.assert_array_equal(next(iter(scores.values())), judge.network.scores(task.features))


def test_the_same_seed_gives_the_same_bits_and_another_one_others(folder: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(NnevalTask(config(folder, seed=seed, epochs=3), inputs(folder)), folder / name)
    network = {name: (folder / name / "network.npz").read_bytes() for name in "abc"}
    assert network["a"] == network["b"] != network["c"]


def test_features_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = draw_rows(config(folder), inputs(folder))
    run = Run(cache=folder / "cache")
    first = feature_table(rows, ("bleu_1", "rouge_l"), run)
    monkeypatch.setattr("capeval.metrics.bleu.Bleu.stats", None)
    monkeypatch.setattr("capeval.metrics.rouge.Rouge.stats", None)
    np.testing.assert_array_equal(feature_table(rows, ("rouge_l", "bleu_1"), run), first[:, ::-1])


def test_wrong_settings_are_errors(folder: Path) -> None:
    with pytest.raises(UnknownName, match="bleu_5"):
        NnevalTask(config(folder, features=("bleu_5",)), inputs(folder))
    with pytest.raises(DataError, match="there are no pictures with 9 human captions"):
        NnevalTask(config(folder, references=8), inputs(folder))
    with pytest.raises(DataError, match="look at pictures"):
        NnevalTask(config(folder, features=("bleu_1", "lece")), inputs(folder))
    pairs = folder / "pairs.jsonl"
    pairs.write_text(json.dumps({"id": 1, "image": "p0", "positive": "a", "negative": "b", "references": ["a"]}))
    with pytest.raises(CapevalError, match="no ratings"):
        NnevalTask(config(folder, validation=str(pairs)), inputs(folder))


def test_the_command_line_takes_any_features(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(folder / "cache"))
    sets = {
        "sources": f'["{folder / "humans.json"}"]', "validation": f'"{folder / "judged.jsonl"}"', "epochs": "2",
        "features": '["rouge_l", "cider_d(df=coco-val2014)"]', "negatives": '["wp"]',
    }  # fmt: skip
    given = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(cli, ["train", "nneval", *given, "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    assert open_judge(str(folder / "out")).features == ("rouge_l", "cider_d(df=coco-val2014)")


def test_no_picture_of_a_benchmark_is_trained_on(shared: Path) -> None:
    used = benchmark_images(shared)
    rows = draw_rows(Config(negatives=("rc",), images=300), Inputs(data=shared))
    images = set(rows.images)
    assert len(images) == 600
    assert not images & used["coco"].keys()
    assert not {flickr_number(image) for image in images} & used["flickr"].keys()
