"""Distracted captions, with the real parser."""

from __future__ import annotations

import pytest

from capeval.errors import DataError
from capeval.perturb.choices import TASKS
from capeval.perturb.chunks import persons
from capeval.perturb.distractors import distracted
from capeval.perturb.words import PERSONS
from capeval.scene import parse_captions
from capeval.scene.official.grammar import grammar_path

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


def test_six_tasks_from_any_captions() -> None:
    references = {image: tuple(texts) for image, texts in CAPTIONS.items()}
    rows = distracted(references, seed=0)
    assert {row.category for row in rows} == set(TASKS)
    assert distracted(references, seed=0) == rows
    assert [row.wrong for row in distracted(references, seed=1)] != [row.wrong for row in rows]
    for name, image, right, wrong, others, task in rows:
        assert name.startswith(task)
        assert right in CAPTIONS[image]
        assert wrong not in CAPTIONS[image]
        assert sorted([right, *others]) == sorted(CAPTIONS[image])
    by_task = {task: [row for row in rows if row.category == task] for task in TASKS}
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
    assert all(row.wrong in everything for row in by_task["share_person"] + by_task["share_scene"])


def test_captions_without_persons_and_places_are_told() -> None:
    with pytest.raises(DataError, match="no pair"):
        distracted({"1": ("a dog", "a cat")})
