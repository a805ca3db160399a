"""`capeval compare` with pictures, for metrics that look at them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import capeval
from capeval import registry
from capeval.cli import cli
from capeval.corpus import Corpus
from capeval.errors import CapevalError
from capeval.types import Array, Info, Metric

A = {"1": "a dog", "2": "a cat on a mat", "3": "two men"}
B = {"1": "a dog runs", "2": "a cat", "3": "two men in a boat"}
VECTORS = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]], np.float32)


@dataclass(frozen=True)
class Glow(Metric):
    """The length of the picture's vector for each letter of the caption: both decide it."""

    info: ClassVar[Info] = Info("glow", ("glow",), "a number", "Nobody 2020", (0, 1e9), needs=("pictures",))

    def stats(self, corpus: Corpus) -> Array:
        letters = np.array([len(text) for text in corpus.dataset.candidates])
        return (np.linalg.norm(corpus.vectors(), axis=1)[corpus.image_number] * letters)[:, None].astype(np.float64)

    def per_sample(self, stats: Array) -> Array:
        return stats


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The metric in the registry, as if it were one of ours, and files."""
    module = ModuleType("capeval.metrics.glow")
    module.Glow = Glow  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_module_names", lambda: ["bleu", "glow"])
    caches = (registry.metric_classes, registry._scores)
    monkeypatch.chdir(tmp_path)
    for name, captions in (("a", A), ("b", B)):
        Path(f"{name}.json").write_text(json.dumps([{"image_id": i, "caption": c} for i, c in captions.items()]))
    Path("refs.json").write_text(json.dumps({image: [text] for image, text in A.items()}))
    np.savez("f.npz", ids=np.array(["1", "2", "3"]), vectors=VECTORS)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def expected(captions: dict[str, str]) -> float:
    lengths = [len(text) for text in captions.values()]
    return float(np.mean(np.linalg.norm(VECTORS, axis=1) * lengths))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["compare", "a.json", "b.json", "--resamples", "20", "--format", "json", *arguments])


def test_metrics_that_look_at_pictures_can_be_compared() -> None:
    by_name = capeval.compare(A, B, metrics=["glow"], features="f.npz", resamples=20)
    found = json.loads(run("-m", "glow", "--features", "f.npz").stdout)
    assert found == by_name.to_dict()
    assert found["comparisons"]["glow"]["a"] == pytest.approx(expected(A))
    assert found["comparisons"]["glow"]["b"] == pytest.approx(expected(B))
    assert "|refs:0|" in found["signatures"]["glow"]
    both = json.loads(run("-r", "refs.json", "--features", "f.npz").stdout)
    assert {"bleu_4", "glow"} <= set(both["comparisons"])  # every metric


def test_picture_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    Path("photos").mkdir()
    for i in A:
        image.new("RGB", (8, 8), (60 * int(i), 0, 0)).save(f"photos/{i}.png")
    found = json.loads(run("-m", "glow", "--images", "photos").stdout)["comparisons"]["glow"]
    assert found["a"] == capeval.score(A, None, ["glow"], images="photos").scores["glow"] > 0


def test_what_is_missing_is_told() -> None:
    done = run("-m", "glow", "--images", "photos", "--features", "f.npz")
    assert done.exit_code == 2
    assert "give one of them" in done.output
    assert run("-m", "bleu", "--features", "f.npz").exit_code == 2
    assert "bleu cannot do without" in run("-m", "bleu", "--features", "f.npz").output
    assert "Missing option '-r'" in run().output
    with pytest.raises(CapevalError, match="not both"):
        capeval.compare(A, B, metrics=["glow"], images="photos", features="f.npz")


def test_a_page_of_both(tmp_path: Path) -> None:
    """With the verdict, and captions of both beside their picture."""
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    names = [f"p{i}" for i in range(8)]
    for name in names:
        image.new("RGB", (60, 40), (10, 120, 90)).save(tmp_path / "photos" / f"{name}.png")
    files = {
        "a.json": [{"image_id": name, "caption": f"a dog of {name} runs"} for name in names],
        "b.json": [{"image_id": name, "caption": "nothing at all"} for name in names],
        "refs.json": {name: [f"a dog of {name} runs"] for name in names},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    given = [str(tmp_path / name) for name in ("a.json", "b.json")]
    more = ["-r", str(tmp_path / "refs.json"), "-m", "bleu_1", "--images", str(tmp_path / "photos")]
    done = CliRunner().invoke(cli, ["compare", *given, *more, "--report", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text()
    assert "A (a.json) is better than B (b.json) on bleu_1" in page
    assert 'src="data:image/jpeg;base64,' in page
    assert '<mark class="match">dog</mark>' in page
    assert str(tmp_path / "a.json") not in page.partition("How it was made")[0].partition("<main")[2]
