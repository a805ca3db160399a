"""Distractors and components: how often metrics choose the right caption, with the real parser."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from capeval.bench import robust
from capeval.cli import cli
from capeval.perturb.captionset import caption_set
from capeval.perturb.choices import TASKS
from capeval.perturb.components import COMPONENTS
from capeval.scene.official.grammar import grammar_path

REFERENCES = str(files("capeval") / "data" / "demo" / "references.json")

CAPTIONS = {
    "beach": ["a man in a red shirt walks on the beach", "a man walks along the sandy beach", "a guy walks by the sea"],
    "street": ["two women ride bikes down a busy street", "two women are cycling in the city", "women on a road"],
    "park": ["a little girl plays in the park", "a girl throws a ball in a park", "a girl runs on the grass"],
    "snow": ["a group of men climb a mountain in the snow", "men hike on a snowy mountain", "men walk in the snow"],
    "beach2": ["a woman lies on the beach", "a woman sleeps on the beach under an umbrella", "a lady at the sea"],
    "kitchen": ["a man cooks two eggs in a kitchen", "a man is cooking in a small kitchen", "a man at the stove"],
}


@pytest.fixture(autouse=True)
def _grammar() -> None:
    if not grammar_path().is_file():
        pytest.skip("SPICE's grammar is not there: capeval data import spice-grammar")


def test_distractors_find_who_reads_and_who_does_not() -> None:
    outcome = robust.distractors(CAPTIONS, ["cider_d", "bleu_1"], resamples=20)
    found = outcome.to_dict()
    assert found["kind"] == "robust-distractors"
    assert sum(found["categories"].values()) == found["pairs"] == len(outcome.dataset) // 2
    for metric in found["metrics"]:
        assert set(TASKS) < set(metric)
        assert metric["mean"]["low"] <= metric["mean"]["value"] <= metric["mean"]["high"]
        assert metric["mean"]["value"] > 60


def test_components_change_one_word() -> None:
    found = robust.components(REFERENCES, ["rouge_l"], resamples=20)
    data = found.to_dict()
    assert set(data["categories"]) <= set(COMPONENTS)
    assert {"object", "property", "mean"} < set(data["metrics"][0])
    base = {row.id: row for row in caption_set(None, REFERENCES)}
    wrong = [record for record in found.records() if not record["right"]]
    assert len(wrong) == data["pairs"]
    for record in wrong:
        original = base[record["pair"].split("/", 1)[1]]
        assert record["candidate"] not in original.references
    again = robust.components(REFERENCES, ["rouge_l"], resamples=20)
    assert again.to_dict() == data


def test_a_metric_that_knows_the_right_word_is_always_right() -> None:
    right = {record["candidate"] for record in robust.components(REFERENCES, ()).records() if record["right"]}

    def knowing(dataset):  # type: ignore[no-untyped-def]
        return [float(text in right) for text in dataset.candidates]

    (metric,) = robust.components(REFERENCES, knowing, resamples=20).to_dict()["metrics"]
    assert metric["mean"]["value"] == 100


@pytest.mark.parametrize("command", ["distractors", "components"])
def test_command_line(command: str, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    arguments = ["robust", command, "-r", REFERENCES, "-m", "rouge_l", "--resamples", "20"]
    table = CliRunner().invoke(cli, [*arguments, "--write", str(out)])
    assert table.exit_code == 0, table.output
    assert "rouge_l" in table.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["right"] for row in rows[:2]] == [True, False]
    found = json.loads(CliRunner().invoke(cli, [*arguments, "--format", "json"]).stdout)
    assert found["kind"] == f"robust-{command}"
    assert found["pairs"] == len(rows) // 2
