"""The metrics as modules of Hugging Face `evaluate` and as classes of torchmetrics, where those are installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capeval
from capeval.errors import CapevalError, Unavailable

CANDIDATES = ["a dog runs", "two birds", "a cat on a mat"]
REFERENCES = [["a dog runs", "the dog"], ["two birds fly"], ["a cat sits on a mat", "the cat is on the mat"]]
EXPECTED = capeval.score(CANDIDATES, REFERENCES, ["cider_d", "bleu"])


@pytest.fixture
def huggingface() -> Any:
    pytest.importorskip("evaluate")
    return importlib.import_module("capeval.compat.huggingface")


@pytest.fixture
def torchmetrics() -> Any:
    pytest.importorskip("torchmetrics")
    return importlib.import_module("capeval.compat.torchmetrics")


def test_evaluate_in_batches(huggingface: Any, tmp_path: Path) -> None:
    metric = huggingface.CaptionMetric("cider_d; bleu_4", cache_dir=str(tmp_path))
    metric.add_batch(predictions=CANDIDATES[:2], references=REFERENCES[:2])
    metric.add(prediction=CANDIDATES[2], reference=REFERENCES[2])
    found = metric.compute(per_caption=True)
    assert found["cider_d"] == EXPECTED.scores["cider_d"]
    assert found["bleu_4"] == EXPECTED.scores["bleu_4"]
    assert found["cider_d_per_caption"] == EXPECTED.per_caption["cider_d"].tolist()
    assert "Vedantam" in metric.citation


def test_evaluate_with_one_reference_as_a_text(huggingface: Any, tmp_path: Path) -> None:
    found = huggingface.CaptionMetric("rouge_l", cache_dir=str(tmp_path)).compute(
        predictions=CANDIDATES, references=[references[0] for references in REFERENCES]
    )
    alone = capeval.score(CANDIDATES, [references[:1] for references in REFERENCES], ["rouge_l"])
    assert found == pytest.approx(alone.scores)


def test_evaluate_says_at_once_what_it_does_not_know(huggingface: Any) -> None:
    with pytest.raises(CapevalError, match="Did you mean cider"):
        huggingface.CaptionMetric("ciderr")


def test_torchmetrics(torchmetrics: Any) -> None:
    metric = torchmetrics.CIDErD()
    metric.update(CANDIDATES[:2], REFERENCES[:2])
    metric.update(CANDIDATES[2:], REFERENCES[2:])
    assert metric.compute().item() == EXPECTED.scores["cider_d"]
    metric.reset()
    assert metric.rows == []
    several = torchmetrics.BLEU()
    several.update(CANDIDATES, REFERENCES)
    assert {name: value.item() for name, value in several.compute().items()} == {
        name: value for name, value in EXPECTED.scores.items() if name.startswith("bleu")
    }
    with pytest.raises(CapevalError, match="same length"):
        metric.update(["a"], [])
    with pytest.raises(CapevalError, match="unknown metric"):
        torchmetrics.CaptionMetric("nothing_like_it")


def test_torchmetrics_states_of_two_processes_are_put_together(torchmetrics: Any) -> None:
    """As its sync does: each state gathered from all processes, parts of different length, then concatenated."""
    import torch

    parts = []
    for begin, end in ((0, 1), (1, 3)):
        metric = torchmetrics.CIDErD()
        metric.update(CANDIDATES[begin:end], REFERENCES[begin:end])
        parts.append(torch.cat(metric.rows))

    def gather(state: Any, group: Any = None) -> list[Any]:
        return parts

    both = torchmetrics.CIDErD(dist_sync_fn=gather, distributed_available_fn=lambda: True)
    both.update(CANDIDATES[:1], REFERENCES[:1])
    assert both.compute().item() == EXPECTED.scores["cider_d"]


@pytest.mark.parametrize(("module", "package"), [("huggingface", "evaluate"), ("torchmetrics", "torchmetrics")])
def test_without_the_package_the_error_names_it(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"capeval.compat.{module}", raising=False)
    load: Callable[[str], Any] = importlib.import_module
    with pytest.raises(Unavailable, match=f"pip install {package}"):
        load(f"capeval.compat.{module}")
