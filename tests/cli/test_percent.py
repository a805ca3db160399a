"""`--percent`: scores x 100 for people and in CSV; JSON and files keep them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from capeval.cli import cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text('{"1": "a dog runs", "2": "a cat"}')
    Path("b.json").write_text('{"1": "a dog", "2": "the red car"}')
    Path("r.json").write_text('{"1": ["a dog runs"], "2": ["a cat sleeps"]}')


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, [*arguments, "-r", "r.json", "-m", "rouge_l"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_scores_times_100() -> None:
    plain = json.loads(run("score", "a.json", "--format", "json"))
    assert json.loads(run("score", "a.json", "--format", "json", "--percent")) == plain
    score = plain["scores"]["rouge_l"]
    (row,) = csv.DictReader(run("score", "a.json", "--format", "csv", "--percent", "--intervals").splitlines())
    assert float(row["score"]) == pytest.approx(100 * score)
    assert 1 < float(row["low"]) <= float(row["score"]) <= float(row["high"])
    assert f"{100 * score:.4f}" in run("score", "a.json", "--percent")


def test_differences_times_100_and_p_values_as_they_are() -> None:
    (plain,) = csv.DictReader(run("compare", "a.json", "b.json", "--format", "csv").splitlines())
    (row,) = csv.DictReader(run("compare", "a.json", "b.json", "--format", "csv", "--percent").splitlines())
    for name in ("a", "b", "difference", "low", "high"):
        assert float(row[name]) == pytest.approx(100 * float(plain[name]))
    for name in ("p_bootstrap", "p_permutation", "metric", "signature"):
        assert row[name] == plain[name]
