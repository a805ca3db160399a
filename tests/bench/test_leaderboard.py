"""Every benchmark with every metric: kept, marked, and beside the figures of papers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from capeval.bench import Pairs, Ratings, Settings, Source, Systems, leaderboard, registry
from capeval.bench.benchmark import Benchmark
from capeval.bench.forms import Form
from capeval.bench.published import Published, published, quoted_for
from capeval.bench.registry import benchmarks
from capeval.cli import cli
from capeval.documents import LeaderboardDocument, as_dict, decode_as
from capeval.errors import CapevalError, UnknownName
from capeval.report import report
from capeval.run import Run
from capeval.types import Array, Dataset

COUNT = 24
CAPTIONS = [" ".join(["dog"] * (1 + i % 5) + ["runs"] * (i % 3)) for i in range(COUNT)]
IDS = [str(i) for i in range(COUNT)]
QUICK = Settings(resamples=20)


def rated(root: Path, variant: str, run: Run) -> Form:
    data = Dataset(IDS, IDS, CAPTIONS, [("dog runs",)] * COUNT, range(COUNT))
    return Ratings(data, np.array([[float(len(text))] for text in CAPTIONS]))


def paired(root: Path, variant: str, run: Run) -> Form:
    wins = np.arange(COUNT) % 2 == 0 if variant == "votes" else np.ones(COUNT, bool)
    return Pairs(IDS, IDS, CAPTIONS, CAPTIONS[::-1], [("dog runs",)] * COUNT, wins, ["HC"] * COUNT)


def systems(root: Path, variant: str, run: Run) -> Form:
    return Systems(["a", "b", "c"], {"m1": np.arange(3.0)}, {"x": np.arange(3.0)})


def made(name: str, load: Any, **more: Any) -> Benchmark:
    return Benchmark(name, "made up", "Nobody 2020", "free", "nowhere", (), (f"images:{name}",), load, **more)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only benchmarks that are made here."""
    known = [
        made("rated", rated),
        made("paired", paired, variants=("votes", "labels"), default_variants=("votes", "labels")),
        made("systems", systems),
        made("fitted", rated, purpose="fitting"),
        replace(made("absent", rated), sources=(Source("absent.txt", ""),)),
    ]
    monkeypatch.setattr(registry, "_ours", lambda: known)
    monkeypatch.setattr(registry, "_from_elsewhere", list)
    benchmarks.cache_clear()
    yield
    benchmarks.cache_clear()


def length(dataset: Dataset) -> Array:
    length.calls += 1  # type: ignore[attr-defined]
    return np.array([float(len(text)) for text in dataset.candidates])


def board(tmp_path: Path, metrics: Any, **more: Any) -> dict[str, Any]:
    return leaderboard(metrics, data=tmp_path, work=tmp_path / "work", settings=QUICK, **more).to_dict()


def cells(found: dict[str, Any], metric: str) -> dict[str, Any]:
    (row,) = [row for row in found["metrics"] if row["metric"] == metric]
    return dict(row["cells"])


def test_all_tests_are_run_and_the_rest_is_told(tmp_path: Path) -> None:
    length.calls = 0  # type: ignore[attr-defined]
    found = board(tmp_path, [length, "bleu_1"])
    assert [column["name"] for column in found["columns"]] == ["rated", "paired/votes", "paired/labels"]
    assert found["columns"][0]["statistic"] == "kendall_c"
    assert found["left_out"].keys() == {"systems", "absent"}
    assert "absent.txt not there; published at nowhere" in found["left_out"]["absent"]
    assert found["metrics"][0]["metric"] == "length"  # on `rated` it knows what people think
    mine = cells(found, "length")
    assert mine["rated"]["best"]
    assert mine["rated"]["value"] > 0.9
    assert 0.8 < mine["rated"]["low"] <= mine["rated"]["high"] <= 1
    assert mine["paired/votes"]["rows"] == COUNT
    assert json.loads(json.dumps(as_dict(decode_as(LeaderboardDocument, found)))) == found


def test_what_was_computed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    length.calls = 0  # type: ignore[attr-defined]
    first = board(tmp_path, [length, "bleu_1"])
    called = length.calls  # type: ignore[attr-defined]
    assert called
    with monkeypatch.context() as patched:
        patched.setattr("capeval.metrics.bleu.Bleu.stats", None)
        assert board(tmp_path, [length, "bleu_1"]) == first
    more = board(tmp_path, [length, "bleu_1", "rouge_l"])
    assert length.calls == called  # type: ignore[attr-defined]
    assert cells(more, "rouge_l").keys() == cells(more, "bleu_1").keys()
    assert cells(more, "bleu_1")["rated"]["value"] == cells(first, "bleu_1")["rated"]["value"]
    # A file that was damaged is made again.
    for path in (tmp_path / "work").rglob("*.npy"):
        path.write_bytes(path.read_bytes()[:90])
    assert board(tmp_path, [length, "bleu_1"]) == first


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    def broken(dataset: Dataset) -> Array:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        board(tmp_path, ["bleu_1", broken])
    assert [path.name.split("-")[0] for path in (tmp_path / "work" / "rated").iterdir()] == ["bleu"]


def test_what_a_metric_has_seen_is_no_test_of_it(tmp_path: Path) -> None:
    def learned(dataset: Dataset) -> Array:
        return np.arange(float(len(dataset)))

    learned.trained_on = ("images:rated",)  # type: ignore[attr-defined]
    assert cells(board(tmp_path, [learned, "bleu_1"]), "learned")["rated"] == {"value": None, "seen": ["images:rated"]}
    shown = cells(board(tmp_path, [learned, "bleu_1"], allow_seen=True), "learned")
    assert shown["rated"]["seen"] == ["images:rated"]
    assert shown["rated"]["value"] is not None
    assert "seen" not in shown["paired/votes"]


def test_a_set_for_fitting_is_run_only_by_name(tmp_path: Path) -> None:
    assert [each["name"] for each in board(tmp_path, "bleu_1", names=["fitted"])["columns"]] == ["fitted"]
    with pytest.raises(UnknownName, match="benchmark"):
        board(tmp_path, "bleu_1", names=["nothing"])
    with pytest.raises(CapevalError, match="no benchmark that can be run"):
        board(tmp_path, "bleu_1", names=["absent"])


def test_papers_are_quoted_beside_the_protocol_that_they_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = (
        Published("Theirs", "paired", ("labels",), "mean", 70.0, "Somebody 2021", "ties are wrong"),
        Published("Better", "paired", ("labels",), "mean", 80.0, "Somebody 2022"),
        Published("Other", "paired", ("labels",), "hc", 90.0, "Somebody 2022"),
    )
    monkeypatch.setattr("capeval.bench.published.published", lambda: theirs)
    found = board(tmp_path, ["bleu_1"])
    assert [(each["column"], each["metric"]) for each in found["quoted"]] == [
        ("paired/labels", "Better"),
        ("paired/labels", "Theirs"),
    ]
    text = report(found).markdown()
    assert re.search(r"\| Theirs \| 70\.0 \|.*quoted: Somebody 2021 \(ties are wrong\)", text)
    assert "not measured here" in text
    assert "Better" in report(found).html()


def test_published_figures_have_a_source_and_are_on_our_scale() -> None:
    assert len(published()) > 20
    for each in published():
        assert each.source
        assert each.variants
        assert 50 < each.value < 100 if each.statistic == "mean" else 0 < each.value < 1
    assert len({(each.metric, each.benchmark, each.variants, each.statistic) for each in published()}) == len(
        published()
    )
    assert quoted_for("flickr8k-expert", "", "kendall_c")[0].metric == "EXPERT"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a metric of the user's own, in which the command is typed."""
    (tmp_path / "mine_of_user.py").write_text("def score(dataset):\n    return [len(t) for t in dataset.candidates]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    return tmp_path


def call(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["bench", *arguments, "--data", os.getcwd(), "--resamples", "20"])


def test_a_function_of_the_users_own(own: Path) -> None:
    done = call(
        "all", "-m", "mine_of_user:score", "-m", "bleu_1", "--work", "w", "--json", "b.json", "--markdown", "b.md"
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"mine_of_user:score +\d\.\d{3}\*", done.stdout)
    kept = decode_as(LeaderboardDocument, Path("b.json").read_bytes())
    assert kept.metrics[0].metric == "mine_of_user:score"
    assert "`mine_of_user:score`" in Path("b.md").read_text()
    one = call("run", "rated", "-m", "mine_of_user:score", "--format", "json")
    assert json.loads(one.stdout)["metrics"][0]["metric"] == "mine_of_user:score"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("mine_of_user:nothing", "cannot be used as a metric"),
        ("no_such_module:score", "cannot be used as a metric"),
        ("mine_of_user:__doc__", "is no function"),
        ("bleau", "unknown metric"),
    ],
)
def test_a_wrong_function_is_told_at_once(metric: str, message: str, own: Path) -> None:
    done = call("all", "-m", metric)
    assert done.exit_code == 2
    assert message in done.output
