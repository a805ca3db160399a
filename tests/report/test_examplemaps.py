"""Heat maps in reports: examples have them where there are pictures and scores by TIGEr."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("matplotlib")

from capeval.documents import BenchDocument, decode
from capeval.report import CaptionScores, report
from capeval.report.blocks import Example, Examples
from capeval.report.build import Report

image = pytest.importorskip("PIL.Image")

TIGER = "tiger(checkpoint=FOLDER)"
IMAGES = ("beach", "park", "street")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three pictures of one colour, and made-up regions beside the folder."""
    (tmp_path / "photos").mkdir()
    for number, name in enumerate(IMAGES):
        image.new("RGB", (60, 40), (80 * number, 100, 100)).save(tmp_path / "photos" / f"{name}.png")
    y, x = np.divmod(np.arange(16), 4)
    boxes = np.stack([x, y, x + 1, y + 1], axis=1) / 4
    regions = np.random.default_rng(0).standard_normal((3, 16, 8))
    np.savez(tmp_path / "regions.npz", ids=np.array(IMAGES), regions=regions, boxes=np.tile(boxes, (3, 1, 1)))
    return tmp_path / "photos"


@pytest.fixture
def scores(small_scan: Path) -> CaptionScores:
    captions = ["a dog runs", "a zebra", "kids play", "zebras", "cars on the street", "a cat <b>"]
    names = [IMAGES[number % 3] for number in range(5)] + ["nowhere"]
    return CaptionScores(
        "each", [str(number) for number in range(6)], names, [""] * 6, captions,
        {TIGER.replace("FOLDER", str(small_scan)): np.linspace(0, 1, 6), "bleu_1": np.linspace(1, 0, 6) ** 2},
        {"beach": ("a dog on the beach", "unicorns"), "park": ("a dog",) * 7},
    )  # fmt: skip


def examples_of(made: Report) -> list[Example]:
    blocks = [block for top in made.sections for each in top.walk() for block in each.blocks]
    return [example for block in blocks if isinstance(block, Examples) for example in block.examples]


def test_examples_have_maps(scores: CaptionScores, photos: Path) -> None:
    made = report(scores, images=photos, features=photos.parent / "regions.npz")
    by_caption = {each.caption: each.maps for each in examples_of(made)}
    assert len(by_caption) == 6
    for caption in ("zebras", "a cat <b>"):  # no known word, and no picture
        assert by_caption[caption] is None
    maps = by_caption["a dog runs"]
    assert maps
    assert maps.grounded.image == "beach"
    assert [each.text for each in maps.grounded.references] == ["a dog on the beach"]  # one of them cannot be read
    text = made.html()
    assert 'aria-label="dog: hottest at the' in text
    assert text.count("and 2 more</li>") > 0
    ids = Counter(re.findall(r' id="([^"]+)"', text))
    assert max(ids.values()) == 1
    used = set(re.findall(r'<use href="#(picture-\d+)(?:-gray)?"', text))
    assert used == {"picture-1", "picture-2", "picture-3"}  # each picture once, however many examples show it
    assert used <= set(ids)


@pytest.mark.parametrize("lack", ["pictures", "tiger", "tiger made here"])
def test_no_maps_without_pictures_and_tiger(scores: CaptionScores, photos: Path, lack: str) -> None:
    images = None if lack == "pictures" else photos
    if lack == "tiger":
        scores = replace(scores, scores={"bleu_1": scores.scores["bleu_1"], "mine": np.linspace(0, 1, 6)})
    elif lack == "tiger made here":
        scores = replace(scores, elsewhere=frozenset(scores.scores))
    made = report(scores, images=images, features=photos.parent / "regions.npz")
    assert examples_of(made)
    assert not any(each.maps for each in examples_of(made))
    assert "<image" not in made.html()


def test_examples_of_benchmarks_have_maps(rated: dict[str, Any], photos: Path, small_scan: Path) -> None:
    document = decode(rated)
    assert isinstance(document, BenchDocument)
    wanted = str(document.metrics[0].metric)
    text = re.sub(rf'"{wanted}"', f'"{TIGER.replace("FOLDER", str(small_scan))}"', json.dumps(rated))
    text = re.sub(r'"image": ?"image\d+"', '"image": "beach"', text)
    made = report(json.loads(text), images=photos, features=photos.parent / "regions.npz")
    with_maps = [each for each in examples_of(made) if each.maps]
    assert 0 < len(with_maps) <= 40
    assert not any(each.maps for each in examples_of(report(json.loads(text))))
