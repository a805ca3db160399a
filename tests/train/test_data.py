"""What may be trained on. Needs no torch; the data sets are not part of the repository."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path

import pytest

from capeval.errors import DataError, UnknownName

if sys.version_info < (3, 11):
    pytest.importorskip("tomli")

from capeval.train.data import (
    benchmark_images,
    captions,
    coco_captions,
    flickr8k_split,
    flickr_number,
    gathered,
    machine_captions,
)


@pytest.fixture(scope="module")
def out_of_bounds(shared: Path) -> dict[str, dict[str, set[str]]]:
    """The list, read anew: who uses each picture, by number."""
    found: dict[str, dict[str, set[str]]] = {"coco": {}, "flickr": {}}
    with (shared / "data" / "benchmark_images.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found[row["source"]][str(int(row["id"]))] = set(row["used_by"].split(","))
    return found


def number(image: str) -> str:
    return str(int(image.split("_")[0]))


@pytest.fixture(scope="module")
def coco() -> None:
    pytest.importorskip("pycocoevalcap")


def test_no_picture_of_a_benchmark_is_trained_on(
    shared: Path, coco: None, out_of_bounds: dict[str, dict[str, set[str]]]
) -> None:
    for source, list_ in (("coco", "coco"), ("flickr8k", "flickr"), ("flickr30k", "flickr")):
        images = {number(image) for image in captions(source, "train", shared)}
        assert len(images) > 5000
        assert images.isdisjoint(out_of_bounds[list_])
    # The list has COCO's pictures of this benchmark alone.
    judged = gzip.decompress((shared / "data" / "judgements" / "reformulations.jsonl.gz").read_bytes()).splitlines()
    apart = {row["image"].removesuffix(".jpg") for row in map(json.loads, judged) if row["kind"] == "flickr30k"}
    assert len(apart) > 20
    assert apart.isdisjoint(captions("flickr30k", "train", shared))


def test_validation_pictures_are_of_no_benchmark(
    shared: Path, coco: None, out_of_bounds: dict[str, dict[str, set[str]]]
) -> None:
    for source, list_, name in (("coco", "coco", "karpathy-val"), ("flickr8k", "flickr", "flickr8k-dev")):
        images = captions(source, "val", shared)
        assert images
        assert all(out_of_bounds[list_][number(image)] == {name} for image in images)


def test_machine_captions_keep_to_the_splits(
    shared: Path, coco: None, out_of_bounds: dict[str, dict[str, set[str]]]
) -> None:
    systems = machine_captions("coco_val2014", shared)
    published = {
        "dai-2017",
        "liu-2017",
        "mun-2017",
        "shetty-2016",
        "shetty-2017",
        "tavakoli-2017",
        "vinyals-2017",
        "wu-2016",
    }
    assert {*published, "zhou-2017"} <= set(systems)
    for texts in systems.values():
        assert {number(image) for image in texts}.isdisjoint(out_of_bounds["coco"])
        assert texts.keys() <= captions("coco", "train", shared).keys()
    assert len(machine_captions("coco_val2014", shared, "test")["wu-2016"]) == 5000
    flickr = machine_captions("flickr8k_test", shared, "test")
    assert len(flickr) == 12
    assert all(texts.keys() == captions("flickr8k", "test", shared).keys() for texts in flickr.values())
    with pytest.raises(DataError, match="test split"):
        machine_captions("flickr8k_test", shared)
    with pytest.raises(DataError, match="no machine captions called"):
        machine_captions("coco_val2015", shared)


def test_all_that_was_published_is_there(shared: Path, coco: None) -> None:
    assert sum(map(len, coco_captions().values())) == 616_767
    assert len(captions("coco", "test", shared)) == 5000
    assert len(captions("flickr8k", "test", shared)) == 1000
    assert all(len(texts) == 5 for texts in captions("flickr8k", "train", shared).values())
    # Those that another benchmark uses as well are neither trained on nor used to choose.
    assert len(flickr8k_split("train", shared)) == 6000 > len(captions("flickr8k", "train", shared)) > 5800


def write_data(root: Path) -> Path:
    """A Flickr8k of six pictures."""
    folder = root / "flickr8k"
    folder.mkdir(parents=True)
    names = [f"{n}_abc.jpg" for n in range(1, 7)]
    lines = [f"{name}#{i}\tcaption {i} of {name}\n" for name in names for i in range(2)]
    (folder / "Flickr8k.token.txt").write_text("".join(lines))
    for split, chosen in (("train", names[:3]), ("dev", names[3:5]), ("test", names[5:])):
        (folder / f"Flickr_8k.{split}Images.txt").write_text("\n".join(chosen) + "\n")
    used = [("3", "composite"), ("4", "flickr8k-dev"), ("5", "composite,flickr8k-dev"), ("6", "flickr8k-test")]
    rows = ["source\tid\tused_by", *(f"flickr\t{image}\t{by}" for image, by in used), "coco\t42\tkarpathy-val"]
    (root / "benchmark_images.tsv").write_text("\n".join(rows) + "\n")
    return root


def test_splits_of_a_small_set(tmp_path: Path) -> None:
    root = write_data(tmp_path / "data")
    assert list(captions("flickr8k", "train", root)) == ["1_abc", "2_abc"]
    assert list(captions("flickr8k", "val", root)) == ["4_abc"]
    assert captions("flickr8k", "test", root) == {"6_abc": ("caption 0 of 6_abc.jpg", "caption 1 of 6_abc.jpg")}
    assert benchmark_images(root)["coco"] == {"000000000042": frozenset({"karpathy-val"})}
    assert flickr_number("1000268201_693b08cb0e.jpg") == "1000268201"


def test_without_the_list_nothing_is_trained_on(tmp_path: Path) -> None:
    root = write_data(tmp_path / "data")
    (root / "benchmark_images.tsv").unlink()
    with pytest.raises(DataError, match=r"benchmark_images\.tsv.*out of training"):
        captions("flickr8k", "train", root)


def test_a_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text('{"a": ["one", "two"], "b": ["three"]}')
    assert captions(str(tmp_path / "refs.json"), "train") == {"a": ("one", "two"), "b": ("three",)}
    with pytest.raises(UnknownName, match="Did you mean flickr8k"):
        gathered(["flickr8"], "train")
