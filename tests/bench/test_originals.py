"""Judgements in the files that their authors publish, as a clone of their repositories in the data folder has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval.bench import Pairs, Ratings, load, registry
from capeval.errors import DataError
from capeval.run import Progress, Run


def put(path: Path, content: Any, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))


def put_coco(root: Path, captions: dict[int, list[str]], name: str = "captions_val2014.json") -> None:
    rows = [(image, text) for image, texts in captions.items() for text in texts]
    known = [{"id": number, "image_id": image, "caption": text} for number, (image, text) in enumerate(rows)]
    put(root / "coco" / name, {"annotations": known})


def put_valse(root: Path, kinds: dict[str, Any]) -> None:
    for path in (source.path for source in registry.benchmark("valse").originals):
        put(root / path, kinds.get(Path(path).stem, {}))


def pairs(name: str, root: Path, run: Run | None = None) -> Pairs:
    found = load(name, root, run=run)
    assert isinstance(found, Pairs)
    return found


class Notes(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def judged(system: str, caption: str, precision: float) -> dict[str, Any]:
    row = {"SYS": system, "seg_id": "974", "set_id": 5, "hyp": caption, "image": "COCO_val2014_000000000974.jpg"}
    grades = {"P": precision, "R": 3.0, "Fl": -0.5, "Inc": 0.0, "Con": -0.1}
    return row | grades | {"human_score": (precision + 3) / 2 - 0.6}


def test_thumb(tmp_path: Path) -> None:
    rows = [judged("Up-Down", "A man on an elephant.", 4.0), judged("Human", "A man rides an elephant.", 5.0)]
    put(tmp_path / "THumB/mscoco/mscoco_THumB-1.0.jsonl", rows, lines=True)
    references = {"seg_id": "974", "set_id": 5, "refs": ["a man rides an elephant", "People ride an elephant."]}
    put(tmp_path / "THumB/mscoco/mscoco_references.json", [references], lines=True)
    found = load("thumb", tmp_path, "all")
    assert isinstance(found, Ratings)
    assert found.dataset.ids == ["thumb-974-Up-Down", "thumb-974-Human"]
    assert found.dataset.systems == ["Up-Down", "Human"]
    assert [row.references for row in found.dataset] == [("People ride an elephant.",)] * 2, "the person's is taken out"
    assert found.human[:, 0].tolist() == [pytest.approx(2.9), pytest.approx(3.4)]
    assert found.judged_by("fluency").human[:, 0].tolist() == [-0.5, -0.5]
    machines = load("thumb", tmp_path)
    assert machines.rows == 1


def test_sugarcrepe(tmp_path: Path) -> None:
    for source in registry.benchmark("sugarcrepe").originals:
        put(tmp_path / source.path, {})
    entry = {"filename": "000000222235.jpg", "caption": "A cat swats at a plant.", "negative_caption": "A plant swats."}
    put(tmp_path / "sugar-crepe/data/swap_obj.json", {"0": entry, "7": entry | {"filename": "000000000001.jpg"}})
    put_coco(tmp_path, {222235: ["a cat swats at a plant", "A cat plays."]})
    found = pairs("sugarcrepe", tmp_path)
    assert found.ids == ["swap_obj-0", "swap_obj-7"]
    assert found.images[0] == "COCO_val2014_000000222235.jpg"
    assert found.references == [("A cat plays.",), ()]
    assert (found.first[0], found.second[0]) == ("A cat swats at a plant.", "A plant swats.")
    assert found.categories == ["swap_obj"] * 2


def test_valse_has_what_most_people_found_right_and_references_of_coco_kinds(tmp_path: Path) -> None:
    def entry(votes: int, image: str) -> dict[str, Any]:
        return {
            "image_file": image,
            "caption": "a dog",
            "foil": "a cat",
            "mturk": {"caption": votes, "foil": 3 - votes},
        }

    put_valse(
        tmp_path,
        {
            "foil-it": {
                "12": entry(2, "COCO_val2014_000000000009.jpg"),
                "13": entry(1, "COCO_val2014_000000000009.jpg"),
            },
            "existence": {"e1": entry(3, "v7w_9.jpg")},
            "coreference-standard": {"c1": entry(3, "COCO_val2014_000000000009.jpg")},
            "plurals": {"plurals:coco2017:5": entry(3, "000000000009.jpg")},
        },
    )
    put_coco(tmp_path, {9: ["A dog.", "A brown dog."]}, "annotations/captions_val2014.json")
    found = pairs("valse", tmp_path)
    by_id = dict(zip(found.ids, found.references))
    assert by_id == {
        "coreference-standard-c1": (),
        "existence-e1": (),
        "foil-it-12": ("A brown dog.",),
        "plurals-plurals:coco2017:5": ("A brown dog.",),
    }


def test_reformulations(tmp_path: Path) -> None:
    def entry(number: int, image: str, before: str, after: str) -> dict[str, str]:
        return {"question_id": str(number), "image": f"/far/away/{image}", "question": before, "answer": after}

    rows = [
        entry(0, "COCO_train2014_000000000009.jpg", "a cake", "donuts\xa0on a tray"),
        entry(1, "COCO_train2014_000000000009.jpg", "Donuts", "donuts"),
        entry(2, "4485484248.jpg", "a dog", "a cat"),
    ]
    put(tmp_path / "caption_evaluation/full_reformulation_dataset.json", rows)
    put_coco(tmp_path, {9: ["donuts"]}, "captions_train2014.json")
    (tmp_path / "flickr30k").mkdir()
    (tmp_path / "flickr30k/results_20130124.token").write_text("4485484248.jpg#0\tA cat .\n4485484248.jpg#1\tCats .")
    found = pairs("reformulations", tmp_path)
    assert found.ids == ["reform-0", "reform-2"], "a caption that nobody changed is no pair"
    assert found.first[0] == "donuts on a tray"
    assert found.categories == ["coco", "flickr30k"]
    assert found.images == ["COCO_train2014_000000000009.jpg", "4485484248.jpg"]
    assert found.references == [("donuts",), ("A cat .", "Cats .")]


def test_without_captions_of_coco_it_is_told_what_is_missing_and_where_it_goes(tmp_path: Path) -> None:
    entry = {"image_file": "000000000009.jpg", "caption": "a dog", "foil": "a cat", "mturk": {"caption": 3}}
    put_valse(tmp_path, {"relations": {"1": entry}})
    run = Run(progress=Notes())
    assert pairs("valse", tmp_path, run).references == [()]
    assert isinstance(run.progress, Notes)
    (note,) = run.progress.notes
    assert "captions_val2014.json" in note
    assert "cocodataset.org" in note
    assert str(tmp_path / "coco") in note


def test_the_converted_file_comes_first(tmp_path: Path) -> None:
    put_valse(tmp_path, {})
    row = {"id": "x", "kind": "plurals", "positive": "a", "negative": "b"}
    put(tmp_path / "judgements/valse.jsonl.gz", [row], lines=True)
    assert pairs("valse", tmp_path).ids == ["x"]


def test_missing_files_are_named_in_both_forms(tmp_path: Path) -> None:
    with pytest.raises(DataError) as problem:
        load("thumb", tmp_path)
    message = str(problem.value)
    for part in ("judgements/thumb.jsonl.gz", "THumB/mscoco/mscoco_THumB-1.0.jsonl", "github.com/jungokasai/THumB"):
        assert part in message
    assert str(tmp_path) in message


@pytest.mark.parametrize(
    ("path", "content", "match"),
    [
        ("sugar-crepe/data/add_att.json", {"0": {"filename": "x.jpg", "caption": "a"}}, "'0' lacks negative_caption"),
        ("VALSE/data/foil-it.json", {"0": {"image_file": "x", "caption": "a", "foil": "b"}}, "lacks the votes"),
        ("coco/captions_val2014.json", {"annotations": [{"id": 1}]}, "`annotations` with"),
    ],
)
def test_wrong_files_are_told(path: str, content: Any, match: str, tmp_path: Path) -> None:
    for name in ("sugarcrepe", "valse"):
        for source in registry.benchmark(name).originals:
            put(tmp_path / source.path, {})
    put(tmp_path / path, content)
    with pytest.raises(DataError, match=match):
        load("valse" if "VALSE" in path else "sugarcrepe", tmp_path)
