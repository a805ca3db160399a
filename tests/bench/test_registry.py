"""Benchmarks of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from capeval.bench import Benchmark, benchmarks, load, registry, run
from capeval.errors import CapevalError
from capeval.types import Dataset

SOURCE = """
import numpy as np
from capeval.bench import Benchmark, Ratings, Source
from capeval.types import Dataset

def load(root, variant, run):
    lines = (root / "mine.txt").read_text().splitlines()
    ids = [str(i) for i in range(len(lines))]
    texts = [line.split("|") for line in lines]
    dataset = Dataset(ids, ids, [each[0] for each in texts], [(each[1],) for each in texts], range(len(ids)))
    return Ratings(dataset, np.array([[float(each[2])] for each in texts]))

MINE = Benchmark("{name}", "a benchmark from elsewhere", "Nobody 2020", "free", "nowhere", (Source("mine.txt", ""),),
                 ("images:mine",), load)
"""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """The list of benchmarks is made anew."""
    benchmarks.cache_clear()
    yield
    benchmarks.cache_clear()


def install(folder: Path, module: str, source: str, monkeypatch: pytest.MonkeyPatch, name: str = "MINE") -> None:
    """A package with one entry point, as pip leaves it on the disk."""
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\n{module} = {module}:{name}\n")
    monkeypatch.syspath_prepend(folder)


def test_a_benchmark_from_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def length(dataset: Dataset) -> list[float]:
        return [float(len(text)) for text in dataset.candidates]

    install(tmp_path, "elsewhere_a", SOURCE.replace("{name}", "mine"), monkeypatch)
    (tmp_path / "mine.txt").write_text("a|a dog|1\na dog|a dog|2\na dog runs|a dog|3\n")
    assert list(benchmarks())[-1] == "mine"
    assert load("mine", tmp_path).rows == 3
    (row,) = run("mine", length, data=tmp_path).to_dict()["metrics"]
    assert row["spearman"]["value"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("elsewhere_b", SOURCE.replace("{name}", "composite"), "two benchmarks are called 'composite'"),
        ("elsewhere_c", "MINE = 3", "elsewhere_c:MINE is offered as a benchmark, but is no capeval.bench.Benchmark"),
        ("elsewhere_d", "import nothing_of_that_name", "'elsewhere_d' .* cannot be loaded: No module named"),
        ("elsewhere_e", "", "'elsewhere_e' .* cannot be loaded"),
    ],
)
def test_wrong_benchmarks_are_told(
    module: str, source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, module, source, monkeypatch)
    with pytest.raises(CapevalError, match=message):
        benchmarks()


def test_the_same_benchmark_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    again = EntryPoint("again", "capeval.bench.loaders.composite:COMPOSITE", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [again])
    assert isinstance(benchmarks()["composite"], Benchmark)
