"""Persons, places, distracted captions and changed words, with the real parser."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from capeval import robust
from capeval.cli import cli
from capeval.errors import DataError, UnknownName
from capeval.parse.grammar import grammar_path
from capeval.robust.captionset import caption_set
from capeval.robust.chunks import persons, scenes
from capeval.robust.components import COMPONENTS
from capeval.robust.distractors import TASKS, build
from capeval.robust.parsing import parse_captions
from capeval.robust.words import PERSONS

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


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A young man in a blue shirt is throwing a ball .", ["a young man"]),
        ("A group of young women dance on a stage", ["a group of young women"]),
        ("Two small children and an old lady sit on a bench", ["two small children", "an old lady"]),
        ("a brown dog runs through a field", []),
        ("a baseball player slides into the base", ["a baseball player"]),
        ("the man 's dog sits", []),
    ],
)
def test_persons(caption: str, expected: list[str]) -> None:
    (graph,) = parse_captions([caption])
    words = [token.word for token in graph.tokens]
    assert [chunk.text(words) for chunk in persons(graph)] == expected


@pytest.mark.parametrize(
    ("caption", "whole", "phrase"),
    [
        ("a man walks on a sandy beach with his dog", "on a sandy beach", "a sandy beach"),
        ("two dogs run through a grassy field", "through a grassy field", "a grassy field"),
        ("a woman in a red dress", None, None),
        ("a beach", None, None),
    ],
)
def test_scenes(caption: str, whole: str | None, phrase: str | None) -> None:
    (graph,) = parse_captions([caption])
    words = [token.word for token in graph.tokens]
    found = scenes(graph)
    assert [chunk.text(words) for chunk in found] == ([whole] if whole else [])
    assert [chunk.noun_phrase(words) for chunk in found] == ([phrase] if phrase else [])


def test_graphs_are_kept_and_read_back() -> None:
    captions = ["a man and a woman sit and talk", "", "a dog"]
    first = parse_captions(captions)
    assert parse_captions(captions) == first
    assert first[1].tokens == ()
    with pytest.raises(UnknownName, match="parser"):
        parse_captions(captions, "none")


def test_six_tasks_from_any_captions() -> None:
    references = {image: tuple(texts) for image, texts in CAPTIONS.items()}
    pairs = build(references, seed=0)
    assert set(pairs.categories) == set(TASKS)
    assert build(references, seed=0).second == pairs.second
    assert build(references, seed=1).second != pairs.second
    rows = list(zip(pairs.ids, pairs.images, pairs.first, pairs.second, pairs.references, pairs.categories))
    for name, image, right, wrong, others, task in rows:
        assert name.startswith(task)
        assert right in CAPTIONS[image]
        assert wrong not in CAPTIONS[image]
        assert sorted([right, *others]) == sorted(CAPTIONS[image])
    by_task = {task: [row for row in rows if row[5] == task] for task in TASKS}
    for _, image, right, wrong, _, _ in by_task["replace_person"]:
        (old,), (new,) = (persons(graph)[:1] for graph in parse_captions([right, wrong]))
        assert all(PERSONS[new.head].contradicts(PERSONS[each.head])
                   for graph in parse_captions(CAPTIONS[image]) for each in persons(graph))  # fmt: skip
        assert old.plural == new.plural
        assert right.split()[old.end :] == wrong.split()[new.end :]
    for _, _, right, wrong, _, _ in by_task["just_person"] + by_task["just_scene"]:
        assert f" {wrong} " in f" {right} "
        assert wrong != right
    everything = [text for texts in CAPTIONS.values() for text in texts]
    assert all(row[3] in everything for row in by_task["share_person"] + by_task["share_scene"])


def test_captions_without_persons_and_places_are_told() -> None:
    with pytest.raises(DataError, match="no pair"):
        build({"1": ("a dog", "a cat")})


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
