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
