"""The benchmark of distracted captions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval.bench import Pairs, Settings, load, run
from capeval.errors import DataError
from capeval.perturb.choices import TASKS
from capeval.run import Run
from capeval.scene.official.grammar import grammar_path


def write(root: Path, name: str, text: str) -> None:
    path = root / "distractors" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_published_pairs_one_file_a_task(tmp_path: Path) -> None:
    write(tmp_path, "replace_person.tsv", "1.jpg\ta man sits\ta girl sits\n1.jpg\ta guy is sitting\ta cat is sitting\n")
    write(tmp_path, "just_scene.jsonl", json.dumps({"image": "1.jpg", "correct": "a man sits", "distracted": "a park"}))
    pairs = load("distractors", tmp_path, "published")
    assert isinstance(pairs, Pairs)
    assert pairs.ids == ["replace_person-1", "replace_person-2", "just_scene-1"]
    assert pairs.categories == ["replace_person", "replace_person", "just_scene"]
    assert pairs.references == [("a guy is sitting",), ("a man sits",), ("a guy is sitting",)]
    write(tmp_path, "references.json", json.dumps({"1.jpg": ["somebody sits"]}))
    again = load("distractors", tmp_path, "published")
    assert isinstance(again, Pairs)
    assert again.references[0] == ("somebody sits", "a guy is sitting")
    outcome = run("distractors", "bleu_1", data=tmp_path, variants=["published"], settings=Settings(resamples=20))
    (row,) = outcome.to_dict()["metrics"]
    assert row["pairs"] == "published"
    assert row["rows"] == 3
    over_all = (2 * row["replace_person"]["value"] + row["just_scene"]["value"]) / 3
    assert row["mean"]["value"] == pytest.approx(over_all), "pairs count alike, whatever their task"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("just_scene.tsv", "1.jpg\ta man sits\n", "line 1: 2 cells"),
        ("just_scene.jsonl", '{"image": "1.jpg"}\n', "line 1: an object"),
        ("just_scene.jsonl", "{\n", "line 1"),
        ("just_scene.tsv", "1.jpg\ta man sits\ta park\n", "one correct caption only"),
        ("other.tsv", "", "no pairs"),
        ("references.json", "[]", "no pairs"),
    ],
)
def test_broken_files_are_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    write(tmp_path, name, text)
    with pytest.raises(DataError, match=message):
        load("distractors", tmp_path, "published")


def test_broken_references_are_told(tmp_path: Path) -> None:
    write(tmp_path, "just_scene.tsv", "1.jpg\ta man sits\ta park\n")
    write(tmp_path, "references.json", '{"1.jpg": "a man"}')
    with pytest.raises(DataError, match="list of captions"):
        load("distractors", tmp_path, "published")


@pytest.mark.parametrize("variant", ["built", "built-official"])
def test_pairs_are_built_from_captions(tmp_path: Path, variant: str, notes: Any) -> None:
    if variant == "built-official" and not grammar_path().is_file():
        pytest.skip("SPICE's grammar is not there: capeval data import spice-grammar")
    folder = tmp_path / "flickr8k"
    folder.mkdir()
    captions = {
        "a.jpg": ["a man runs on the beach", "a guy runs by the sea"],
        "b.jpg": ["a girl plays in the park", "a small girl sits on the grass"],
        "c.jpg": ["not a test image", "of the set"],
    }
    lines = [f"{image}#{i}\t{text}" for image, texts in captions.items() for i, text in enumerate(texts)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines))
    (folder / "Flickr_8k.testImages.txt").write_text("a.jpg\nb.jpg\n")
    pairs = load("distractors", tmp_path, variant, Run(progress=notes))
    assert isinstance(pairs, Pairs)
    assert len(notes.messages) == 2  # not the published files
    assert set(pairs.images) == {"a.jpg", "b.jpg"}
    assert {"replace_person", "replace_scene", "just_person", "just_scene"} <= set(pairs.categories) <= set(TASKS)
    (folder / "Flickr_8k.testImages.txt").write_text("a.jpg\nz.jpg\n")
    with pytest.raises(DataError, match=r"z\.jpg"):
        load("distractors", tmp_path, variant)
