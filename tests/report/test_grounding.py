"""Heat maps as PNG, SVG and HTML: the heat is where the numbers are high, and nobody's words can do harm."""

from __future__ import annotations

import base64
import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from capeval.errors import DataError, MissingExtra
from capeval.report import draw_grounding, write_grounding
from capeval.report.canvas import Picture, wrapped
from capeval.report.heat import LEVELS, Scale, heat_levels, palette, shrunk, under_heat
from capeval.report.heatmaps import described, hottest_frames
from capeval.report.maplayout import laid_out
from capeval.runtime.encoder import Encoder
from capeval.runtime.grounding import Grounded, Grounder
from capeval.types import Array

image = pytest.importorskip("PIL.Image")

HOSTILE = "a dog <script>alert('x')</script> & \"runs\" ]]> <img src=https://example.org/a.png onerror=alert(1)> \x00"
GRID = Encoder("lite0").boxes()
BOXES = np.array([[0.1, 0.1, 0.5, 0.5], [0.3, 0.3, 0.9, 0.9], [0.6, 0, 1, 0.2], [0, 0.8, 0.2, 1]], np.float32)


@pytest.fixture
def found(beach: Path, small_scan: Path) -> Grounded:
    grounder = Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=beach / "regions.npz")
    return grounder.ground("beach", HOSTILE, ["a zebra on the beach", "the dog " * 12])


def lightness(colors: Any) -> Array:
    """L of Oklab, which is made so that equal steps look equal."""
    share = np.asarray(colors, np.float64)[..., :3] / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array([[0.4122215, 0.2119035, 0.0883025], [0.5363325, 0.6806995, 0.2817188],
                               [0.0514460, 0.1073970, 0.6299787]])  # fmt: skip
    return np.asarray(np.cbrt(cones) @ np.array([0.2104543, 0.7936178, -0.0040720]))


# ------------------------------------------------------------------------------------------------------------- colours

# What people see who lack red or green cones, by the matrices of Machado et al. 2009 (severity 1), for linear RGB.
PROTAN = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTAN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]


@pytest.mark.parametrize("seen", [np.eye(3), PROTAN, DEUTAN], ids=["all", "without red", "without green"])
def test_colours_rise_in_lightness_for_everybody(seen: Any) -> None:
    share = palette()[:, :3] / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    shown = np.clip(linear @ np.array(seen).T, 0, 1)
    coded = np.where(shown <= 0.0031308, 12.92 * shown, 1.055 * shown ** (1 / 2.4) - 0.055)
    steps = np.diff(lightness(255 * coded)[:: LEVELS // 16])
    assert (steps > 0.01).all()


def test_colours_rise_in_lightness_over_any_grey() -> None:
    for gray in (0, 128, 255):
        shown = under_heat(np.full((1, LEVELS, 3), gray, np.uint8), np.arange(LEVELS, dtype=np.uint8)[None])
        assert (np.diff(lightness(shown[0])[:: LEVELS // 8]) > 0).all()


def test_what_lies_below_can_be_seen() -> None:
    assert palette()[:, 3].max() < 0.7 * 255


# ---------------------------------------------------------------------------------------------------------------- heat


def test_a_hot_cell_is_hottest_in_its_middle_and_fades() -> None:
    values = np.zeros(49)
    values[2 * 7 + 5] = 1
    levels = heat_levels(values, GRID, Scale(0, 1))
    assert levels.shape == (56, 56)
    y, x = np.unravel_index(levels.argmax(), levels.shape)
    assert (int(y) // 8, int(x) // 8) == (2, 5)
    assert levels[20, 44] > levels[20, 39] > levels[20, 33] == 0  # smoothly
    assert levels[:8].max() == 0


def test_boxes_are_painted_hottest_on_top() -> None:
    levels = heat_levels(np.array([0.9, 0.5, -0.2, 0.0]), BOXES, Scale(0, 1))

    def at(x: float, y: float) -> int:
        return int(levels[int(y * levels.shape[0]), int(x * levels.shape[1])])

    assert at(0.4, 0.4) == at(0.2, 0.2) == round(0.9 * (LEVELS - 1))
    assert at(0.7, 0.7) == round(0.5 * (LEVELS - 1))
    assert at(0.95, 0.6) == 0
    assert at(0.8, 0.1) == 0


def test_frames_are_those_of_the_hottest_boxes() -> None:
    frames = hottest_frames(np.array([0.1, 0.5, 0.9, 0.2]), BOXES)
    np.testing.assert_allclose(frames, [(0.6, 0, 0.4, 0.2), (0.3, 0.3, 0.6, 0.6), (0, 0.8, 0.2, 0.2)], atol=1e-6)
    assert hottest_frames(np.zeros(49), GRID) == []


def test_equal_numbers_have_one_colour() -> None:
    levels = heat_levels(np.full(49, 0.3), GRID, Scale(0.3, 0.3))
    assert set(levels.ravel().tolist()) == {round(0.5 * (LEVELS - 1))}
    assert described(np.full(49, 0.3), GRID) == "the same everywhere, 0.300"


def test_maps_in_words() -> None:
    values = np.linspace(-0.1, 0.62, 49)
    assert described(values, GRID) == "hottest at the bottom right; from -0.100 to 0.620"


# ------------------------------------------------------------------------------------------------------------ PNG, SVG


def cells(grounded: Grounded) -> Any:
    """The middles of the cells, in parts of the picture."""
    return (grounded.boxes[:, :2] + grounded.boxes[:, 2:]) / 2


def numbers_in_order(grounded: Grounded) -> list[Array]:
    """What the pictures of a sheet show: candidate, mean, references; then the words of each."""
    first, *others = [each.vector for each in grounded.captions]
    words = [column for caption in grounded.captions for column in caption.similarity.T]
    return [first, grounded.reference_mean(), *others, *words]


def test_the_heat_of_a_png_is_where_the_numbers_are_high(found: Grounded) -> None:
    pytest.importorskip("matplotlib")
    drawn = np.asarray(image.open(io.BytesIO(draw_grounding(found, "png"))).convert("RGB"))
    canvas = laid_out(found, "")
    assert drawn.shape == (round(2 * canvas.height), round(2 * canvas.width), 3)
    pictures = [item for item in canvas.items if isinstance(item, Picture)]
    plain, *heated = pictures
    assert len(heated) == len(numbers_in_order(found))

    def colors(item: Picture) -> Any:
        x, y, width, height = item.place
        at = np.rint(2 * (np.array([x, y]) + cells(found) * (width, height))).astype(int)
        return drawn[at[:, 1], at[:, 0]]

    assert (np.abs(colors(plain).astype(int) - 128) <= 1).all()  # the picture is all grey
    for item, values in zip(heated, numbers_in_order(found), strict=True):
        if np.ptp(values.clip(0)) > 0.2:
            together = np.corrcoef(lightness(colors(item)), values.clip(0) if item.place.width < 150 else values)[0, 1]
            assert together > 0.9


def test_the_heat_of_an_svg_is_where_the_numbers_are_high(found: Grounded) -> None:
    root = ElementTree.fromstring(draw_grounding(found, "svg"))
    space = "{http://www.w3.org/2000/svg}"
    groups = [group for group in root.iter(f"{space}g") if group.find(f"{space}image") is not None]
    assert len(groups) == len(numbers_in_order(found))
    for group, values in zip(groups, numbers_in_order(found), strict=True):
        heat = group.find(f"{space}image")
        assert heat is not None
        levels = np.asarray(decoded(heat.attrib["href"]))
        at = (cells(found) * levels.shape[::-1]).astype(int)
        if values.max() > 0.2:
            hottest = int(levels[at[:, 1], at[:, 0]].argmax())
            assert values[hottest] > values.max() - 0.03


def decoded(uri: str) -> Any:
    kind, data = re.fullmatch(r"data:image/(png|jpeg);base64,(.*)", uri).groups()  # type: ignore[union-attr]
    picture = image.open(io.BytesIO(base64.b64decode(data)))
    assert picture.format.lower() == kind
    return picture


def test_an_svg_is_told_in_words_and_fetches_nothing(found: Grounded) -> None:
    data = draw_grounding(found, "svg")
    root = ElementTree.fromstring(data)  # nobody's words break it
    names = [each.tag.rpartition("}")[2] for each in root.iter()]
    assert set(names) == {"svg", "title", "desc", "defs", "image", "rect", "text", "use", "g"}
    for each in root.iter():
        assert not [key for key in each.attrib if key.startswith("on")]
        assert each.attrib.get("href", "#").startswith(("#", "data:image/"))
    (description,) = [each.text or "" for each in root if each.tag.endswith("desc")]
    assert "candidate: a dog <script>alert('x')</script>" in description
    assert description.count("hottest at the") == 4
    assert "zebra (not known)" in " ".join(each.text or "" for each in root.iter() if each.tag.endswith("text"))
    assert "not read" in description


def test_sheets_are_of_bounded_size(found: Grounded) -> None:
    """The worst there is: noise, which no JPEG makes small."""
    noise = np.random.default_rng(0).integers(0, 256, (3000, 4000, 3), dtype=np.uint8)
    for form in ("svg", "html"):
        assert len(draw_grounding(replace(found, pixels=noise), form)) < 1_500_000


@pytest.mark.parametrize("size", [(1, 900), (900, 1), (1, 1)])
def test_odd_pictures(found: Grounded, size: tuple[int, int]) -> None:
    odd = replace(found, pixels=np.zeros((*size, 3), np.uint8))
    ElementTree.fromstring(draw_grounding(odd, "svg"))
    assert b"<svg" in draw_grounding(odd, "html")
    assert shrunk(odd.pixels, 300).shape == (min(size[0], 300), min(size[1], 300), 3)


def test_odd_pictures_as_png(found: Grounded) -> None:
    pytest.importorskip("matplotlib")
    tall = replace(found, pixels=np.zeros((900, 1, 3), np.uint8), references=())
    assert image.open(io.BytesIO(draw_grounding(tall, "png"))).size[0] == 1920


def test_boxes_have_frames(found: Grounded) -> None:
    """Two boxes side by side in the upper half, which are no grid."""
    pytest.importorskip("matplotlib")
    boxes = np.array([[0.1, 0.1, 0.4, 0.5], [0.6, 0.1, 0.9, 0.5]], np.float32)
    one = replace(found.candidate, vector=found.candidate.vector[:2], similarity=found.candidate.similarity[:2])
    boxed = replace(found, boxes=boxes, candidate=one, references=())
    root = ElementTree.fromstring(draw_grounding(boxed, "svg"))
    frames = [each for each in root.iter() if each.attrib.get("stroke")]
    assert len(frames) == 2 * (1 + len(one.words))
    assert draw_grounding(boxed, "html").decode().count("<rect") == len(frames)
    drawn = image.open(io.BytesIO(draw_grounding(boxed, "png"))).convert("RGB")
    place = next(item.place for item in laid_out(boxed, "").items if isinstance(item, Picture) and item.frames)
    for x in (0.1, 0.6):
        edge = (2 * (place.x + x * place.width) + 2, 2 * (place.y + 0.3 * place.height))
        assert drawn.getpixel((round(edge[0]), round(edge[1]))) == (0xF9, 0xF6, 0xB7)


@pytest.mark.parametrize("text", ["犬が浜辺を走る", "a dog for $5 and $6", "собака бежит", "\u202edog \U0001f415"])
def test_any_script_can_be_drawn(found: Grounded, text: str) -> None:
    pytest.importorskip("matplotlib")
    other = replace(found, candidate=replace(found.candidate, text=text, tokens=tuple(text.split())), references=())
    other = replace(other, candidate=replace(other.candidate, known=(True,) * len(other.candidate.tokens)))
    assert image.open(io.BytesIO(draw_grounding(other, "png"))).size[0] == 1920
    ElementTree.fromstring(draw_grounding(other, "svg"))


def test_the_same_numbers_give_the_same_bytes(found: Grounded) -> None:
    pytest.importorskip("matplotlib")
    for form in ("png", "svg", "html"):
        assert draw_grounding(found, form) == draw_grounding(found, form)


def test_references_that_are_too_many_are_counted(found: Grounded) -> None:
    many = replace(found, references=found.references[:1] * 23)
    for form in ("svg", "html"):
        text = draw_grounding(many, form).decode()
        assert "The first 10 of 23 references are drawn." in text
        assert "reference 10" in text
        assert "reference 11" not in text


def test_a_caption_alone_is_no_candidate(found: Grounded) -> None:
    for form in ("svg", "html"):
        text = draw_grounding(replace(found, references=()), form).decode()
        assert "candidate" not in text
        assert "mean of the references" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a dog runs on the beach", ["a dog runs", "on the", "beach"]), ("x" * 25, ["x" * 10, "x" * 10, "x" * 5]),
     ("犬が浜辺を走る", ["犬が浜辺を", "走る"]), ("", []), ("a\n\tdog\x00 \u202edog", ["a dog dog"]),
     ("one two three four five six seven", ["one two", "three four", "five six…"])],
)  # fmt: skip
def test_lines_fit(text: str, expected: list[str]) -> None:
    assert wrapped(text, 10, 62, 3) == expected


# -------------------------------------------------------------------------------------------------------------- errors


def test_other_forms_are_refused(found: Grounded, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.png, \.svg or \.html"):
        write_grounding(found, tmp_path / "map.gif")


def test_letters_need_matplotlib_and_pictures_pillow(found: Grounded, monkeypatch: pytest.MonkeyPatch) -> None:
    from capeval.report import plots

    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\[report\]"):
        draw_grounding(found, "png")
    assert draw_grounding(found, "svg")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r"\[learned\]"):
        draw_grounding(found, "svg")
