"""Diversity of captions, worked out by hand, and the best of several captions of an image."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import capeval
from capeval.bestof import split_best, with_best
from capeval.cli import cli
from capeval.diversity import diversity
from capeval.errors import DataError
from capeval.evaluate import evaluate
from capeval.io.captions import Reading, candidates_from, join, references_from

# No n-gram of these stands in both images, so that all weigh log 2 - log 1.
REFERENCES = [["one two three four"], ["five six seven eight"]]


def test_two_captions_of_an_image() -> None:
    found = diversity(
        ["x", "x"], ["A dog runs.", "a cat runs"], references=REFERENCES, training=["a dog runs", "a bird sings"]
    )
    assert found.scores["vocabulary"] == 4  # a, dog, runs, cat
    assert found.scores["vocabulary_ratio"] == 4 / 8
    assert found.scores["words"] == 3
    assert found.scores["distinct"] == 1
    assert found.scores["novel"] == 0.5
    # Four words of six; a dog, dog runs, a cat, cat runs.
    assert found.per_image["div_1"].tolist() == found.per_image["div_2"].tolist() == [pytest.approx(4 / 6)]
    assert found.scores["mbleu_1"] == pytest.approx(2 / 3)  # a, runs
    assert found.scores["mbleu_4"] == pytest.approx(0, abs=1e-3)
    # Of four orders three exist; one has a cosine, of 2/3. So the kernel is [[3/4, 1/6], [1/6, 3/4]].
    first, second = math.sqrt(3 / 4 + 1 / 6), math.sqrt(3 / 4 - 1 / 6)
    assert found.scores["self_cider"] == pytest.approx(-math.log2(first / (first + second)))


def test_the_ends_of_the_scale() -> None:
    same = diversity(["x"] * 3, ["a dog runs on grass"] * 3, references=REFERENCES)
    assert (same.scores["self_cider"], same.scores["distinct"]) == (pytest.approx(0, abs=1e-6), pytest.approx(1 / 3))
    assert same.scores["mbleu_4"] == pytest.approx(1)
    other = diversity(["x"] * 2, ["a dog runs on grass", "two cats sleep under trees"], references=REFERENCES)
    assert other.scores["self_cider"] == pytest.approx(1)
    assert (other.scores["div_1"], other.scores["div_2"]) == (1, pytest.approx(8 / 10))
    assert diversity(["x"] * 2, ["", ""], references=REFERENCES).scores["self_cider"] == 0
    with pytest.raises(DataError, match="no captions"):
        diversity([], [])


def test_means_are_over_images_with_several_captions() -> None:
    images, captions = ["x", "y", "x", "z"], ["a dog", "a bird", "a cat", "a bird"]
    found = diversity(images, captions)  # weights of the built-in table
    assert found.images == ["x", "y", "z"]
    assert found.counts.tolist() == [2, 1, 1]
    assert np.isnan(found.per_image["div_1"]).tolist() == [False, True, True]
    assert found.scores["div_1"] == pytest.approx(3 / 4)
    assert found.scores["distinct"] == 3 / 4
    assert [row["scores"]["div_1"] for row in found.rows()] == [pytest.approx(3 / 4), None, None]
    one = diversity(["x", "y"], ["a dog", "a bird"])
    assert set(one.scores) == {"vocabulary", "words", "distinct"}
    assert next(iter(one.rows())) == {"image": "x", "captions": 1, "scores": {}}


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["diversity", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    captions = {"x": ["A dog runs.", "a cat runs"], "y": ["a bird sings"]}
    Path("c.json").write_text(json.dumps(captions))
    Path("r.json").write_text(json.dumps({"x": REFERENCES[0], "y": REFERENCES[1], "z": ["unused"]}))
    Path("t.txt").write_text("a dog runs\na bird\n")
    arguments = ["c.json", "-r", "r.json", "--training", "t.txt"]
    expected = diversity(
        ["x", "x", "y"], ["A dog runs.", "a cat runs", "a bird sings"], references=REFERENCES, training=["a dog runs"]
    )
    found = json.loads(run(*arguments, "--format", "json", "--per-image", "each.csv"))
    assert found == {"schema": "capeval.diversity/1", "n": 3, "images": 2, "scores": expected.scores}
    rows = list(csv.DictReader(Path("each.csv").read_text().splitlines()))
    assert [(row["image"], row["captions"]) for row in rows] == [("x", "2"), ("y", "1")]
    assert (float(rows[0]["div_1"]), rows[1]["div_1"]) == (pytest.approx(4 / 6), "")
    run(*arguments, "--per-image", "each.jsonl", "--json", "d.json")
    assert json.loads(Path("each.jsonl").read_text().splitlines()[1])["scores"]["div_1"] is None
    assert json.loads(Path("d.json").read_text()) == found
    assert run(*arguments, "--format", "csv").splitlines()[:2] == ["measure,value", "vocabulary,6.0"]
    assert "self_cider" in run(*arguments)
    # What people wrote, and several systems.
    Path("coco.json").write_text(json.dumps({"annotations": [
        {"image_id": 1, "id": 5, "caption": "a dog"}, {"image_id": 1, "id": 6, "caption": "a cat"},
    ]}))  # fmt: skip
    assert json.loads(run("coco.json", "--format", "json"))["scores"]["div_1"] == 3 / 4
    Path("two.jsonl").write_text('{"image_id": 1, "caption": "a", "system": "A"}\n'
                                 '{"image_id": 1, "caption": "a b", "system": "B"}\n')  # fmt: skip
    systems = json.loads(run("two.jsonl", "--format", "json"))["systems"]
    assert {name: each["scores"]["vocabulary"] for name, each in systems.items()} == {"A": 1, "B": 2}


# The best of several captions.

SEVERAL = {"x": ["a dog runs on grass", "a dog sleeps", "grass"], "y": ["two cars", "a red car parked in a street"]}
TRUTHS = {"x": ["a dog is running on the grass"], "y": ["a red car in the street", "a parked car"]}


def test_the_best_caption_of_an_image_counts() -> None:
    reading = Reading(several=True)
    dataset = join(candidates_from(SEVERAL, reading=reading), references_from(TRUTHS)).dataset
    result = with_best(evaluate(dataset, ["spider_fast", "rouge_l"]), ["SPIDEr_fast", "rouge_l"])
    for name in ("spider_fast", "rouge_l"):
        each = result.per_caption[name]
        best = [each[:3].max(), each[3:].max()]
        assert result.scores[f"{name}_max"] == pytest.approx(np.mean(best))
        assert result.per_caption[f"{name}_max"].tolist() == [best[0]] * 3 + [best[1]] * 2
        assert result.signatures[f"{name}_max"] == result.signatures[name].replace(name, f"{name}_max", 1)
        low, high = result.intervals(resamples=50)[f"{name}_max"]
        assert min(best) - 1e-9 <= low <= high <= max(best) + 1e-9


def test_names_with_max() -> None:
    assert split_best(["SPIDEr-max", "bleu_4,cider_d_max(df=t.df)"]) == (
        ["SPIDEr", "bleu_4", "cider_d(df=t.df)"], ["SPIDEr", "cider_d(df=t.df)"],
    )  # fmt: skip


def test_the_best_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text(json.dumps(SEVERAL))
    Path("r.json").write_text(json.dumps(TRUTHS))
    done = CliRunner().invoke(
        cli, ["score", "c.json", "-r", "r.json", "-m", "spider-fast-max", "--format", "json", "--save", "kept.npz"]
    )
    assert done.exit_code == 0, done.output
    scores = json.loads(done.stdout)["scores"]
    assert scores["spider_fast_max"] > scores["spider_fast"]
    assert list(capeval.load("kept.npz").scores) == ["spider_fast"]
    # The table of aac-metrics that has several candidates in columns of their own.
    Path("p.csv").write_text(
        "caption_predicted,caption_1,caption_2,mult_captions_predicted_1,mult_captions_predicted_2\n"
        "a dog,a dog runs,a dog,cats,a dog runs\nrain falls,it rains,rain,rain falls,it rains\n"
    )
    done = CliRunner().invoke(
        cli, ["score", "p.csv", "-m", "rouge_l_max", "--caption", "mult_captions_predicted", "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scores"]["rouge_l_max"] == pytest.approx(1)
    single = CliRunner().invoke(cli, ["score", "p.csv", "-m", "rouge_l_max"])
    assert "No image has several captions" in single.stderr
