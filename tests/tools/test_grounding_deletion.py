"""The study that takes the hottest regions of a noun out of the picture."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from capeval.errors import DataError
from capeval.io.features import ArrayFeatures, open_features
from capeval.runtime.scan import open_scan
from capeval.types import Picture

TOOL = Path(__file__).resolve().parents[2] / "tools" / "studies" / "grounding_deletion.py"


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[TOOL.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[TOOL.stem]


def shown(regions: Any) -> Picture:
    return Picture(ArrayFeatures("memory", ["1"], {"regions": regions[None].astype(np.float32)}), "1")


@pytest.mark.parametrize("direction", ["i2t", "t2i"])
def test_a_quarter_is_taken_out_and_the_match_computed_anew(
    study: Any, small_scan: Path, write_scan: Callable[..., Path], tmp_path: Path, direction: str
) -> None:
    scan, judge = open_scan(str(small_scan)), open_scan(str(write_scan(tmp_path, direction=direction, seed=1)))
    regions = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    case = study.Case("1", ["a", "dog", "runs"], 1)
    found = study.falls(scan, judge, shown(regions), case, 3, np.random.default_rng(7))
    order = np.argsort(scan.map_regions(regions[None])[0] @ scan.read([case.words]).vectors[1])

    def match(rows: Any) -> float:
        mapped, words = judge.map_regions(regions[None])[0], judge.read([case.words]).vectors
        return float(judge.ground(mapped[np.sort(rows)], words).vector.mean())

    whole = match(np.arange(8))
    assert found.match == pytest.approx(whole)
    assert found.hottest == pytest.approx(whole - match(order[:-2]))
    assert found.coldest == pytest.approx(whole - match(order[2:]))
    same = np.random.default_rng(7)
    left = [np.setdiff1d(np.arange(8), same.permutation(8)[:2]) for _ in range(3)]
    assert found.random == pytest.approx(whole - np.mean([match(rows) for rows in left]))


def test_what_is_near_to_the_noun_lowers_the_match(study: Any, small_scan: Path) -> None:
    """By construction, which is why the page has more than this."""
    scan = open_scan(str(small_scan))
    random = np.random.default_rng(0)
    found = [
        study.falls(scan, scan, shown(random.standard_normal((64, 8))), case, 20, random)
        for case in [study.Case("1", ["a", "dog", "runs"], 1)] * 20
    ]
    hottest, by_chance, coldest = np.array(found)[:, 1:].mean(axis=0)
    assert hottest > by_chance > coldest


def test_cases_are_nouns_that_the_model_knows(study: Any, small_scan: Path, tmp_path: Path) -> None:
    scan = open_scan(str(small_scan))
    captions = {
        "1": ("A man with a dog.",),
        "2": ("running on",),
        "3": ("a zebra",),
        "4": ("two cars on the street",),
        "5": ("a cat",),  # has no picture
    }
    np.savez(tmp_path / "f.npz", ids=np.array(["1", "2", "3", "4"]), regions=np.ones((4, 8, 8), np.float32))
    pictures = [open_features(tmp_path / "f.npz")]
    cases = study.chosen(captions, pictures, scan, 2, np.random.default_rng(0))
    assert sorted(case.image for case in cases) == ["1", "4"]
    nouns = {case.image: case.words[case.noun] for case in cases}
    assert nouns["1"] in ("man", "dog")
    assert nouns["4"] in ("cars", "street")
    (first,) = [case for case in cases if case.image == "1"]
    assert first.words == ["a", "man", "with", "a", "dog"]
    with pytest.raises(DataError, match="2 of 3 captions"):
        study.chosen(captions, pictures, scan, 3, np.random.default_rng(0))


def test_intervals(study: Any) -> None:
    """Wilson's for 8 of 10, as in his paper's formula: (.8 + .192073 -+ 1.96 * .140263) / 1.384146."""
    low, high = study.interval(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4)
    assert high == pytest.approx(0.9433, abs=1e-4)


def test_the_page(study: Any, small_scan: Path, write_scan: Callable[..., Path], tmp_path: Path) -> None:
    cases = [study.Case(str(i), ["a", "dog"], 1) for i in range(4)]
    own = [study.Fall(0.5, fall, 0.01, -0.02) for fall in (0.05, 0.04, 0.03, 0.0)]
    scan, judge = open_scan(str(small_scan)), open_scan(str(write_scan(tmp_path, direction="t2i")))
    text = study.page(scan, judge, cases, (own, own[:2], own[3:]), 20, 0)
    assert "| hottest quarter | the caption | 4 | 0.5000 | 0.0300 | 0.0100 | 75.0% | 30.1% to 95.4% |" in text
    assert "| coldest quarter | the caption | 4 | 0.5000 | -0.0200 | 0.0100 | 0.0% |" in text
    assert "| hottest quarter | the caption, on another picture | 2 | 0.5000 | 0.0450 | 0.0100 | 100.0% |" in text
    assert "| hottest quarter | the caption, by another model (t2i) | 1 | 0.5000 | 0.0000 | 0.0100 | 0.0% |" in text
    assert "dog (4)" in text
    assert "another model" not in study.page(scan, None, cases, (own, own[:2], []), 20, 0)
