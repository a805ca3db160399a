"""Curves, attacks and the probe on the demo captions, and the command line."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from capeval.bench import robust
from capeval.bench.robust.curves import area
from capeval.cli import cli
from capeval.errors import CapevalError, DataError, Unavailable, UnknownName
from capeval.run import Run
from capeval.text.tokenize import tokenize
from capeval.types import Array, Dataset

DEMO = files("capeval") / "data" / "demo"
REFERENCES = str(DEMO / "references.json")
SYSTEM = str(DEMO / "system_a.json")


def by_metric(outcome: robust.RobustnessResult) -> dict[str, Any]:
    return {each["metric"]: each for each in outcome.to_dict()["metrics"]}


def test_bleu_1_does_not_see_the_order_of_words_and_cider_does() -> None:
    found = by_metric(robust.curves(REFERENCES, ["bleu_1", "cider_d"], transforms=["wp", "rw"], seed=0))
    assert found["bleu_1"]["curves"]["wp"]["R"] == 1.0
    assert found["bleu_1"]["curves"]["wp"]["normalised"] == [1.0] * 11
    assert found["cider_d"]["curves"]["wp"]["R"] < 0.9
    # Random words hurt both, and the more the worse.
    for metric in found.values():
        curve = metric["curves"]["rw"]["normalised"]
        assert curve[0] == 1.0
        assert curve[-1] < 0.3
        assert curve[-1] < curve[5] < 1


def test_curves_depend_on_the_seed_alone() -> None:
    first, again = (robust.curves(REFERENCES, "rouge_l", gammas=[0.5], seed=0) for _ in (1, 2))
    other = robust.curves(REFERENCES, "rouge_l", gammas=[0.5], seed=1)
    assert first.to_dict() == again.to_dict()
    assert list(first.records()) == list(again.records())
    assert first.to_dict() != other.to_dict()
    # A transformation does not depend on which others there are.
    alone = robust.curves(REFERENCES, "rouge_l", gammas=[0.5], transforms=["rw"], seed=0)
    assert by_metric(alone)["rouge_l"]["curves"]["rw"] == by_metric(first)["rouge_l"]["curves"]["rw"]


def test_curves_take_functions(notes: Any) -> None:
    def words(dataset: Dataset) -> list[float]:
        return [float(len(text.split())) for text in dataset.candidates]

    def nothing(dataset: Dataset) -> Array:
        return np.zeros(len(dataset))

    found = by_metric(robust.curves(REFERENCES, [words, nothing], transforms=["wp"], run=Run(progress=notes)))
    assert found["words"]["signature"] == "words|function"
    assert found["words"]["curves"]["wp"]["scores"][1] > 5
    assert found["nothing"]["curves"]["wp"]["R"] is None
    assert "cannot be normalised" in notes.messages[0]
    with pytest.raises(CapevalError, match="one finite score"):
        robust.curves(REFERENCES, lambda dataset: [1.0], transforms=["wp"])


def test_wrong_wishes_are_told() -> None:
    with pytest.raises(UnknownName, match="transformation"):
        robust.curves(REFERENCES, "bleu_1", transforms=["xx"])
    with pytest.raises(CapevalError, match="from 0 to 1"):
        robust.curves(REFERENCES, "bleu_1", gammas=[2])
    with pytest.raises(UnknownName, match="metric"):
        robust.curves(REFERENCES, "bleau_1")


def test_the_area_below_a_line() -> None:
    assert area([0, 0.5, 1], [1, 0.5, 0]) == pytest.approx(0.5)
    assert area([0, 0.1, 1], [1, 1, 1]) == pytest.approx(1)


def test_features_decide_who_is_near(tmp_path: Path) -> None:
    references = {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": ["c1", "c2"], "d": ["d1", "d2"]}
    vectors = {"a": [1.0, 0.0], "b": [1.0, 0.1], "c": [0.0, 1.0], "d": [0.1, 1.0]}
    path = tmp_path / "features.npz"
    np.savez(path, ids=np.array(list(vectors)), vectors=np.array(list(vectors.values()), np.float32))
    outcome = robust.curves(references, (), features=path, transforms=["rc"], gammas=[0.1])
    texts = {record["of"]: record["candidate"][0] for record in outcome.records() if record["version"] == "rc@0.1"}
    assert texts == {"a": "b", "b": "a", "c": "d", "d": "c"}
    assert outcome.to_dict()["neighbours"] == "pictures"
    with pytest.raises(DataError, match="no features"):
        robust.curves({**references, "e": ["e1", "e2"]}, (), features=path, transforms=["rc"])


def test_a_repeated_caption_does_not_fool_bleu_4_but_recall() -> None:
    def recall(dataset: Dataset) -> list[float]:
        known = zip(tokenize(dataset.candidates), [tokenize(row.references) for row in dataset])
        return [float(np.mean([word in words for text in texts for word in text])) for words, texts in known]

    outcome = robust.attacks(REFERENCES, ["bleu_4", "rouge_l", recall], seed=0)
    found = by_metric(outcome)
    assert found["bleu_4"]["attacks"]["caption five times"]["relative"] < 0.5
    assert found["rouge_l"]["attacks"]["caption twice"]["relative"] < 1
    assert found["recall"]["attacks"]["caption five times"]["not_lower"] == 100
    for metric in found.values():
        assert metric["attacks"]["empty"]["score"] == 0
        assert metric["attacks"]["off-topic"]["relative"] < 1
    texts = {(record["of"], record["version"]): record["candidate"] for record in outcome.records()}
    name = outcome.dataset.images[0]
    half = texts[name, "caption twice"].split()
    assert half[: len(half) // 2] == half[len(half) // 2 :]
    assert texts[name, "words twice"].split()[::2] == half[: len(half) // 2]
    assert len(texts[name, "padded"].split()) == len(half)
    assert texts[name, "empty"] == ""


def test_one_image_has_no_off_topic_caption() -> None:
    outcome = robust.attacks({"1": ["a dog runs", "the dog is running"]}, "bleu_1")
    assert by_metric(outcome)["bleu_1"]["attacks"]["off-topic"]["score"] is None


def test_the_probe_says_the_same_in_other_words() -> None:
    found = by_metric(robust.probe(REFERENCES, ["bleu_1", "bleu_4", "cider_d"]))
    assert found["bleu_1"]["versions"]["word order"]["relative"] == 1.0
    assert found["bleu_4"]["versions"]["word order"]["relative"] < 1
    assert all(each["versions"]["synonyms"]["change"] < 0 for each in found.values())


# The command line.


def capeval(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["robust", *arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("command", ["curves", "attacks", "probe"])
def test_tables_and_json(command: str) -> None:
    arguments = [command, "-r", REFERENCES, "-m", "rouge_l", "-m", "cider_d", "--seed", "3"]
    table = capeval(*arguments).stdout
    assert "rouge_l" in table
    assert "cider_d" in table
    found = json.loads(capeval(*arguments, "--format", "json").stdout)
    assert found["kind"] == f"robust-{command}"
    assert found["seed"] == found["arguments"]["seed"] == 3
    assert found["from"] == "references"
    assert found["command"].startswith("capeval")
    assert found["arguments"]["metrics"] == ["rouge_l", "cider_d"]
    assert all("|tok:ptb|" in each["signature"] for each in found["metrics"])
    system = json.loads(capeval(command, SYSTEM, "-r", REFERENCES, "-m", "rouge_l", "--format", "json").stdout)
    assert system["from"] == "candidates"


def test_the_result_is_kept_as_json(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    arguments = ["attacks", "-r", REFERENCES, "-m", "rouge_l", "--sample", "5", "--json", str(kept)]
    assert "rouge_l" in capeval(*arguments).stdout
    printed = json.loads(capeval(*arguments, "--format", "json").stdout)
    assert json.loads(kept.read_text()) == printed
    missing = capeval(*arguments[:-1], str(tmp_path / "no" / "kept.json"), code=1)
    assert "there is no folder" in str(missing.exception)
    assert "needs a file" in capeval(*arguments[:-1], "-", code=2).output


def test_captions_go_out_and_scores_come_back(tmp_path: Path) -> None:
    out, scores = tmp_path / "out.jsonl", tmp_path / "scores.csv"
    arguments = ["curves", "-r", REFERENCES, "--gammas", "0.5", "--sample", "6"]
    assert capeval(*arguments, "--write", str(out)).stdout == ""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 6 * 7
    assert {"id", "image", "of", "version", "candidate", "references"} == set(rows[0])
    table = [f"{row['id']},{len(row['candidate'].split())}" for row in rows]
    scores.write_text("id,length\n" + "\n".join(table) + "\n")
    found = json.loads(capeval(*arguments, "--scores", str(scores), "--format", "json").stdout)
    assert [each["metric"] for each in found["metrics"]] == ["length"]
    assert found["metrics"][0]["curves"]["wp"]["scores"][0] > 5
    assert found["metrics"][0]["signature"] == "length|file:scores.csv"
    scores.write_text("id,length\n" + "\n".join(table[1:]) + "\n")
    assert isinstance(capeval(*arguments, "--scores", str(scores), code=1).exception, DataError)


def test_wrong_usage() -> None:
    assert "0 to 1" in capeval("curves", "-r", REFERENCES, "--gammas", "2", code=2).output
    assert "bleau" in capeval("curves", "-r", REFERENCES, "-m", "bleau", code=2).output
    assert "standard output" in capeval("attacks", "-r", REFERENCES, "-m", "bleu", "--write", "-", code=2).output
    only_written = capeval("attacks", "-r", REFERENCES, "--write", "w.jsonl", "--json", "r.json", code=2)
    assert "name metrics with -m" in only_written.output
    both = ["--images", "a", "--features", "b"]
    assert "give one of them" in capeval("attacks", "-r", REFERENCES, *both, code=2).output
    assert "standard input" in capeval("attacks", "-", "-r", "-", code=2).output


OWN = [
    {"id": f"{image}{place}", "image": f"{image}.jpg", "candidate": "a dog runs", "score": place, "references": texts}
    for place, (image, texts) in enumerate(
        [("a", ["a dog runs", "a brown dog runs fast"]), ("a", ["the dog is running"]),
         ("b", ["a man cooks in a kitchen", "a cook at work"]), ("c", ["a red bus on a street", "a bus stops"])]
    )
]  # fmt: skip


def test_captions_of_a_benchmark(tmp_path: Path, notes: Any) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("\n".join(map(json.dumps, OWN)))
    every = robust.of_benchmark(str(mine))
    assert every.pictures is None
    assert list(every.captions) == ["a.jpg", "b.jpg", "c.jpg"]
    assert every.captions["a.jpg"] == ("a dog runs", "a brown dog runs fast", "the dog is running")
    np.savez(tmp_path / "f.npz", ids=["a", "c"], vectors=np.ones((2, 3), np.float32))
    some = robust.of_benchmark(str(mine), features=tmp_path / "f.npz", run=Run(progress=notes))
    assert list(some.captions) == ["a.jpg", "c.jpg"]
    assert some.pictures is not None
    assert some.pictures.vectors(["a.jpg"]).tolist() == [[1, 1, 1]]
    assert notes.messages == [f"1 images of {mine} are left out: they lack their picture, or references."]
    np.savez(tmp_path / "f.npz", ids=["z"], vectors=np.ones((1, 3), np.float32))
    with pytest.raises(Unavailable, match="has its picture there"):
        robust.of_benchmark(str(mine), features=tmp_path / "f.npz")
    found = json.loads(capeval("attacks", "--of", str(mine), "-m", "rouge_l", "--format", "json").stdout)
    assert (found["images"], found["arguments"]["of"]) == (3, str(mine))
    whose = capeval("attacks", "-m", "rouge_l", code=2).output
    assert "say whose captions" in whose
    assert "say whose captions" in capeval("attacks", "--of", str(mine), "-r", REFERENCES, code=2).output


def test_functions_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "robust_length.py").write_text(
        "def words(dataset): return [len(t.split()) for t in dataset.candidates]"
    )
    monkeypatch.chdir(tmp_path)
    table = capeval("attacks", "-r", REFERENCES, "-m", "robust_length:words", "-m", "rouge_l").stdout
    first = [line.split()[0] for line in table.splitlines() if line.strip()]
    assert [name for name in first if name in ("rouge_l", "robust_length:words")][:2] == [
        "rouge_l", "robust_length:words",
    ]  # fmt: skip


def test_several_systems_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    image = next(iter(json.loads(Path(REFERENCES).read_text())))
    path.write_text("".join(json.dumps({"image": image, "caption": "a", "system": s}) + "\n" for s in "xy"))
    assert "several" in str(capeval("probe", str(path), "-r", REFERENCES, code=1).exception)
