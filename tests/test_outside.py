"""What other packages add: the one in tests/outside, and a newcomer's metric as CONTRIBUTING.md shows it.

They are put where pip would put them, and capeval is called in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

Capeval = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def capeval(tmp_path: Path) -> Capeval:
    """Calls the command line in a process that sees what is installed in `site`."""
    (tmp_path / "site").mkdir()
    paths = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}

    def call(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
        python = ["-c", code] if code else ["-m", "capeval", *arguments]
        return subprocess.run(
            [sys.executable, *python], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return call


def install(site: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """What pip writes beside a package."""
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())])
        for group, entries in entry_points.items()
    ]
    (about / "entry_points.txt").write_text("\n\n".join(groups) + "\n")


@pytest.fixture
def outside(tmp_path: Path, capeval: Capeval) -> Capeval:
    """The command line with tests/outside installed."""
    project = tomllib.loads((ROOT / "tests" / "outside" / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.copytree(ROOT / "tests" / "outside" / "src", tmp_path / "site", dirs_exist_ok=True)
    install(tmp_path / "site", project["name"], project["entry-points"])
    return capeval


@pytest.fixture
def captions(tmp_path: Path) -> list[str]:
    """The arguments that name three captions and their references."""
    texts = {"1": "a dog runs", "2": "the dog sits on a chair", "3": "cars"}
    references = {"1": ["a dog", "the cat"], "2": ["the dog sits"], "3": ["a red car"]}
    (tmp_path / "captions.json").write_text(json.dumps(texts))
    (tmp_path / "references.json").write_text(json.dumps(references))
    return ["captions.json", "-r", "references.json"]


def result_of(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_metric(outside: Capeval, captions: list[str]) -> None:
    assert "first_word" in [row["metric"] for row in result_of(outside("list", "--format", "json"))]
    result = result_of(outside("score", *captions, "-m", "first_word", "-m", "bleu_1", "--format", "json"))
    assert result["scores"]["first_word"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert "bleu_1" in result["scores"]
    result = result_of(outside("score", *captions, "-m", "first_word(partly=0.2)", "--format", "json"))
    assert list(result["scores"].values()) == [pytest.approx(0.4)]


def test_a_benchmark(outside: Capeval) -> None:
    assert "five_dogs" in outside("bench", "list").stdout
    result = result_of(outside("bench", "run", "five_dogs", "-m", "bleu_1", "-m", "first_word", "--format", "json"))
    assert len(result["metrics"]) == 2


def test_an_encoder(outside: Capeval, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    image.new("RGB", (40, 30), (200, 100, 50)).save(tmp_path / "photos" / "one.png")
    done = outside("features", "photos", "-o", "photos.features", "--encoder", "colours", "--regions")
    assert done.returncode == 0, done.stderr
    code = """
from capeval.io.features import open_features
found = open_features("photos.features")
print(found.encoder.split("/")[0], found.vectors(["one"]).tolist(), found.regions(["one"]).shape)
"""
    done = outside(code=code)
    assert done.stdout.split("\n")[0] == "colours [[200.0, 100.0, 50.0]] (1, 4, 3)", done.stderr
    done = outside("features", "photos", "-o", "other.features", "--encoder", "colors")
    assert "Did you mean colours" in done.stderr


def test_an_asset(outside: Capeval, tmp_path: Path) -> None:
    rows = {row["asset"]: row["place"] for row in result_of(outside("data", "list", "--format", "json"))}
    assert Path(rows["toy-weights"]) == tmp_path / "site" / "capeval_outside" / "weights" / "toy-weights"


def test_a_broken_package_is_named(outside: Capeval, captions: list[str], tmp_path: Path) -> None:
    (tmp_path / "site" / "capeval_outside" / "metric.py").write_text("import nothing_of_that_name\n")
    done = outside("score", *captions, "-m", "first_word")
    assert done.returncode != 0
    assert "capeval_outside.metric:FirstWord" in done.stderr
    assert "nothing_of_that_name" in done.stderr


# --- a newcomer's metric ---


def block(language: str) -> str:
    """The first block of code in that language."""
    found = re.search(rf"```{language}\n(.*?)```", CONTRIBUTING, re.DOTALL)
    assert found is not None
    return found[1]


BREVITY = [1 - 3 / 20, 1 - 6 / 20, 1 - 1 / 20]


def test_a_newcomers_metric_in_a_package_of_its_own(capeval: Capeval, captions: list[str], tmp_path: Path) -> None:
    (tmp_path / "site" / "yours.py").write_text(block("python"))
    install(tmp_path / "site", "yours", tomllib.loads(block("toml"))["project"]["entry-points"])
    arguments = ["-m", "brevity", "--format", "json", "--per-caption", "each.jsonl"]
    result = result_of(capeval("score", *captions, *arguments))
    assert result["scores"] == {"brevity": pytest.approx(sum(BREVITY) / 3)}
    each = [json.loads(line) for line in (tmp_path / "each.jsonl").read_text().splitlines()]
    assert [row["scores"]["brevity"] for row in each] == pytest.approx(BREVITY)
    assert "brevity" in [row["metric"] for row in result_of(capeval("list", "--format", "json"))]


def test_a_newcomers_metric_in_capeval(capeval: Capeval, tmp_path: Path) -> None:
    """One file in the folder of metrics, and nothing else."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "yours.py").write_text(block("python"))
    code = """
import capeval.metrics
capeval.metrics.__path__.append("metrics")
print(capeval.score(["a dog runs", "cars"], [["a dog"], ["a car"]], ["brevity(limit=10)"]).scores)
"""
    done = capeval(code=code)
    assert done.stdout.strip() == f"{{'brevity(limit=10)': {(0.7 + 0.9) / 2}}}", done.stderr
