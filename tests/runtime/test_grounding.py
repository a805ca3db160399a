"""Where captions lie on a picture: what `capeval ground` computes before it draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import capeval
from capeval.errors import CheckpointError, DataError, MissingPictures, UnsuitableFeatures
from capeval.io.features import open_features
from capeval.runtime.encoder import Encoder
from capeval.runtime.grounding import Grounder
from capeval.runtime.regions import grid_of, region_names, side_of
from capeval.runtime.scan import open_scan

image = pytest.importorskip("PIL.Image")

CAPTION = "A dog runs on the beach."


def features_with(path: Path, **arrays: Any) -> Path:
    np.savez(path, ids=np.array(["beach"]), **arrays)
    return path


@pytest.fixture
def grounder(beach: Path, small_scan: Path) -> Grounder:
    return Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=beach / "regions.npz")


def test_the_numbers_are_those_of_the_model(beach: Path, small_scan: Path) -> None:
    found = capeval.ground(
        beach / "beach.png", CAPTION, ["a dog"], checkpoint=str(small_scan), features=beach / "regions.npz"
    )
    scan = open_scan(str(small_scan))
    (mapped,) = scan.map_regions(open_features(beach / "regions.npz").regions(["beach"]))
    words = scan.read([["a", "dog", "runs", "on", "the", "beach"], ["a", "dog"]])
    for number, caption in enumerate(found.captions):
        expected = scan.ground(mapped, words.of(number))
        np.testing.assert_array_equal(caption.vector, expected.vector)
        np.testing.assert_array_equal(caption.similarity, expected.similarity)
    assert found.candidate.words == ("a", "dog", "runs", "on", "the", "beach")
    assert found.candidate.text == CAPTION
    assert found.pixels.shape == (80, 120, 3)
    assert grid_of(found.boxes) == (4, 4)


def test_words_that_are_not_known_and_words_that_are_not_read(grounder: Grounder) -> None:
    found = grounder.ground("beach", "a zebra runs").candidate
    assert found.known == (True, False, True)
    assert found.similarity.shape == (16, 3)
    long = grounder.ground("beach", " ".join(["a dog runs"] * 6)).candidate
    assert (len(long.words), long.left_out, long.similarity.shape) == (12, 6, (16, 12))


@pytest.mark.parametrize(("caption", "why"), [("zebra unicorn", "knows none of its words"), (" . ", "has no words")])
def test_captions_without_words(grounder: Grounder, caption: str, why: str) -> None:
    assert not grounder.reads(caption)
    with pytest.raises(DataError, match=why):
        grounder.ground("beach", caption)
    with pytest.raises(DataError, match=why):  # a reference is not left out in silence
        grounder.ground("beach", CAPTION, [caption])


def test_a_known_word_after_the_cut_does_not_help(grounder: Grounder) -> None:
    assert not grounder.reads("zebra " * 12 + "dog")
    assert grounder.reads("zebra " * 11 + "dog")


def test_the_mean_of_the_references_has_no_copy_of_the_candidate(grounder: Grounder) -> None:
    found = grounder.ground("beach", CAPTION, ["a dog", "the dog runs", "a dog runs on the beach"])
    vectors = [each.vector for each in found.references]
    np.testing.assert_allclose(found.reference_mean(), (vectors[0] + vectors[1]) / 2)
    alone = grounder.ground("beach", CAPTION, [CAPTION])
    np.testing.assert_array_equal(alone.reference_mean(), alone.candidate.vector)


def test_pictures_that_cannot_be_read(beach: Path, small_scan: Path) -> None:
    (beach / "broken.png").write_bytes((beach / "beach.png").read_bytes()[:60])
    files = {"beach": beach / "broken.png", "none": beach / "none.png"}
    grounder = Grounder(files, checkpoint=str(small_scan), features=beach / "regions.npz")
    with pytest.raises(DataError, match=r"broken\.png: the picture is damaged"):
        grounder.ground("beach", CAPTION)
    with pytest.raises(DataError, match=r"none\.png: cannot be read"):
        grounder.ground("none", CAPTION)
    with pytest.raises(MissingPictures, match="'elsewhere'"):
        grounder.ground("elsewhere", CAPTION)
    assert "elsewhere" not in grounder


def test_ids_of_coco(small_scan: Path, beach: Path) -> None:
    (beach / "beach.png").rename(beach / "COCO_val2014_000000000042.png")
    regions = open_features(beach / "regions.npz").regions(["beach"])
    boxes = open_features(beach / "regions.npz").boxes(["beach"])
    np.savez(beach / "coco.npz", ids=np.array([42]), regions=regions, boxes=boxes)
    name = "COCO_val2014_000000000042"
    grounder = Grounder({name: beach / f"{name}.png"}, checkpoint=str(small_scan), features=beach / "coco.npz")
    assert "42" in grounder
    assert grounder.ground("42", CAPTION).pixels.shape == (80, 120, 3)


def test_regions_need_boxes_from_0_to_1(beach: Path, small_scan: Path) -> None:
    regions = np.ones((1, 2, 8), np.float32)
    good = np.array([[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]])
    wrong = {
        "nowhere": {},
        "pixels": {"boxes": good * 640},
        "inside out": {"boxes": good[..., [2, 3, 0, 1]]},
        "no numbers": {"boxes": good * np.nan},
    }
    for name, given in wrong.items():
        file = features_with(beach / f"{name}.npz", regions=regions, **given)
        grounder = Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=file)
        with pytest.raises(DataError, match="where the regions are" if name == "nowhere" else "from 0 to 1"):
            grounder.ground("beach", CAPTION)
    file = features_with(beach / "good.npz", regions=regions, boxes=good)
    found = Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=file)
    np.testing.assert_array_equal(found.ground("beach", CAPTION).boxes, good[0].astype(np.float32))


def test_features_that_the_model_does_not_know(
    beach: Path, small_scan: Path, write_scan: Callable[..., Path], tmp_path: Path
) -> None:
    whole = np.tile([0.0, 0.0, 1.0, 1.0], (1, 4, 1))
    wide = features_with(beach / "wide.npz", regions=np.ones((1, 4, 9), np.float32), boxes=whole)
    with pytest.raises(UnsuitableFeatures, match="regions of 8 numbers, these have 9"):
        Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=wide).ground("beach", CAPTION)
    with pytest.raises(DataError, match="cannot make them") as caught:  # its training had features of somebody's own
        Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan))
    assert caught.value.remedy == "own_features"
    other = write_scan(tmp_path / "other", region_width=1280, facts={"encoder": "lite0/0123456789ab"})
    with pytest.raises(UnsuitableFeatures, match="0123456789ab"):
        Grounder({"beach": beach / "beach.png"}, checkpoint=str(other))


def test_words_that_look_at_regions_are_refused(write_scan: Callable[..., Path], tmp_path: Path, beach: Path) -> None:
    folder = write_scan(tmp_path / "t2i", direction="t2i")
    with pytest.raises(CheckpointError, match="i2t"):
        Grounder({"beach": beach / "beach.png"}, checkpoint=str(folder), features=beach / "regions.npz")


def test_the_encoder_is_the_one_that_the_model_knows(write_scan: Callable[..., Path], tmp_path: Path) -> None:
    """A disc on white: its regions differ from those of the paper around it, upright and of any form."""
    pixels = np.full((150, 300, 3), 255, np.uint8)
    y, x = np.mgrid[:150, :300]
    pixels[(y - 75) ** 2 + (x - 225) ** 2 < 50**2] = (200, 30, 30)
    image.fromarray(pixels).save(tmp_path / "disc.png")
    encoder = Encoder("lite0")
    folder = write_scan(tmp_path / "scan", region_width=1280, facts={"encoder": encoder.name})
    found = capeval.ground(tmp_path / "disc.png", "a red ball", checkpoint=str(folder))
    np.testing.assert_array_equal(found.boxes, encoder.boxes())
    grid = found.candidate.vector.reshape(7, 7)
    inside, outside = grid[2:5, 4:6], grid[2:5, :2]
    assert abs(inside.mean() - outside.mean()) > 3 * outside.std()


def test_grids() -> None:
    assert grid_of(Encoder("lite0").boxes()) == (7, 7)
    cells = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
    assert grid_of(cells) == (1, 2)
    assert grid_of(cells[:, [1, 0, 3, 2]]) == (2, 1)
    assert grid_of(cells[::-1]) is None  # not row by row
    assert grid_of(np.array([[0, 0, 1, 1]], np.float32)) == (1, 1)
    assert grid_of(np.array([[0, 0, 0.9, 1]], np.float32)) is None
    # As many as a grid has, at places that make none.
    assert grid_of(np.array([[0.1, 0, 0.5, 1], [0, 0, 1, 1], [0, 0.5, 1, 1], [0.5, 0.5, 1, 1]], np.float32)) is None


def test_names_of_regions() -> None:
    cells = np.array([[0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)
    assert region_names(2, cells) == ["row 1, column 1", "row 1, column 2"]
    assert region_names(2, cells[::-1])[0] == "x 0.50 to 1.00, y 0.00 to 1.00"
    assert region_names(2, None) == ["region 1", "region 2"]


@pytest.mark.parametrize(
    ("box", "name"),
    [((0, 0, 0.2, 0.2), "top left"), ((0.4, 0.4, 0.6, 0.6), "middle"), ((0.4, 0.8, 0.6, 1), "bottom"),
     ((0.8, 0.4, 1, 0.6), "right"), ((0.7, 0.7, 1, 1), "bottom right")],
)  # fmt: skip
def test_sides(box: tuple[float, ...], name: str) -> None:
    assert side_of(np.array(box, np.float32)) == name
