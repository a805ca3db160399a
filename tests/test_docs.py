"""The examples of README and docs do what they say: every command and every line of Python that can run offline is run.

A fence without a language holds commands, `python` holds Python; both run, page by page and in order, in a folder with
the files that the pages speak of, made of the embedded captions and pictures. `<!-- not run: WHY -->` above a fence
leaves it out.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import capeval
from capeval.cli import cli
from capeval.errors import Unavailable

ROOT = Path(__file__).resolve().parents[1]
DEMO = Path(capeval.__file__).resolve().parent / "data" / "demo"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("tasks/*.md")), *sorted((ROOT / "docs").glob("metrics/*.md"))]

# Adapters of ours, and the packages they are for: these are installed by `make test-train` alone.
OPTIONAL = {"huggingface": "evaluate", "torchmetrics": "torchmetrics"}

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="only in a checkout")


class Fence(NamedTuple):
    line: int
    language: str
    text: str
    not_run: str


def fences(page: Path) -> Iterator[Fence]:
    text = page.read_text("utf-8")
    for found in re.finditer(r"(?:<!-- not run: (.+?) -->\n)?```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield Fence(text[: found.start(2)].count("\n") + 1, found[2], found[3], found[1] or "")


def commands(text: str) -> list[list[str]]:
    return [words for line in text.replace("\\\n", " ").splitlines() if (words := shlex.split(line, comments=True))]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the examples, by the names that the pages give them."""
    folder = tmp_path_factory.mktemp("examples")
    references: dict[str, list[str]] = {}
    for name in ("pictures_references.json", "references.json"):
        references |= json.loads((DEMO / name).read_text("utf-8"))
    captions: list[dict[str, str]] = json.loads((DEMO / "pictures_captions.json").read_text("utf-8"))
    ours = [{"image_id": row["image_id"], "caption": row["caption"]} for row in captions if row["system"] == "right"]
    theirs = [row | {"caption": "a picture of a thing"} for row in ours]
    for name in ("refs.json", "references.json", "captions_val2014.json"):
        (folder / name).write_text(json.dumps(references))
    for name, rows in {"results.json": ours, "ours.json": ours, "theirs.json": theirs}.items():
        (folder / name).write_text(json.dumps(rows))
    lines = [f'{row["image_id"]},"{row["caption"]}"' for row in ours]
    (folder / "results.csv").write_text("\n".join(["image_id,caption", *lines]))
    (folder / "captions_train2014.json").write_text(json.dumps(references))
    samples = [{"image_id": row["image_id"], "captions": [row["caption"], "a thing"]} for row in ours]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    lines = [f'{row["image_id"]},"{row["caption"]}","{references[row["image_id"]][0]}"' for row in ours]
    (folder / "mine.csv").write_text("\n".join(["picture,says,truth", *lines]))
    half = len(ours) // 2
    for number, rows in enumerate((ours[:half], ours[half:]), start=1):
        (folder / f"part{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        named = {str(row["image_id"]): references[str(row["image_id"])] for row in rows}
        (folder / f"refs{number}.json").write_text(json.dumps(named))
    (folder / "clipscore.csv").write_text("\n".join(["id,clipscore", *(f"{row['image_id']},0.7" for row in ours)]))
    (folder / "millions.jsonl.gz").write_bytes(gzip.compress((folder / "part1.jsonl").read_bytes()))
    rated = [
        {
            "id": f"r{i}",
            "image": row["image_id"],
            "candidate": row["caption"],
            "references": references[row["image_id"]],
        }
        for i, row in enumerate([*ours, *theirs])
    ]
    lines = [json.dumps(row | {"score": i % 4}) for i, row in enumerate(rated)]
    (folder / "mine.jsonl").write_text("\n".join(lines))
    (folder / "shards").mkdir()
    rows = [row | {"references": references[row["image_id"]]} for row in ours]
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(importlib.import_module("pyarrow").Table.from_pylist(rows), folder / "shards" / "000.parquet")
    (folder / "data").mkdir()
    words = ["a", "dog", "runs", "fast"]
    counts = {tuple(words[i:j]): 2.0 for i in range(4) for j in range(i + 1, 5)}
    (folder / "data" / "coco-train-idxs.p").write_bytes(pickle.dumps({"document_frequency": counts, "ref_len": 9}, 2))
    shutil.copytree(DEMO / "pictures", folder / "photos", ignore=shutil.ignore_patterns("*.md"))
    for name in ("photo.jpg", "photos/42.jpg", "photos/43.jpg"):
        shutil.copy(DEMO / "pictures" / "cat.jpg", folder / name)
    (folder / "captions.txt").write_text("".join(row["caption"] + "\n" for row in ours[:5]))
    (folder / "evaluate.py").write_text("from pycocoevalcap.rouge.rouge import Rouge\nprint(Rouge().beta)\n")
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = tmp_path / "here"
    shutil.copytree(files, place)
    monkeypatch.chdir(place)
    # Examples may put our modules in the place of pycocoevalcap's: not for other tests.
    before = dict(sys.modules)
    yield place
    for name in [name for name in sys.modules if name.split(".")[0] in ("pycocoevalcap", "pyciderevalcap")]:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in before.items() if name not in sys.modules})


def given() -> dict[str, Any]:
    """What the lines of Python take for granted."""
    gts = {1: ["a dog runs", "the dog"], 2: ["two birds fly"]}
    res = {1: ["a dog runs"], 2: ["two birds"]}
    candidates, references = (
        {"cat": "a cat", "coffee": "a cup"},
        {"cat": ["a brown cat"], "coffee": ["a cup of coffee"]},
    )
    return {
        "capeval": capeval, "gts": gts, "res": res, "candidates": candidates, "references": references,
        "ours": candidates, "theirs": {"cat": "a dog", "coffee": "a table"},
    }  # fmt: skip


def run_command(words: list[str], where: str) -> None:
    output = None
    if ">" in words:
        at = words.index(">")
        words, output = words[:at], Path(words[at + 1])
    if words[0] in ("pip", "make", "python"):  # what installs, and programs of others; our modules by themselves
        if words[1:4] == ["-m", "capeval.compat", "run"]:
            subprocess.run([sys.executable, *words[1:]], check=True, stdout=subprocess.DEVNULL)
        return
    assert words[0] == "capeval", f"{where}: {words[0]} is no command of ours; mark the fence as not run, or as text"
    done = CliRunner().invoke(cli, words[1:])
    if isinstance(done.exception, Unavailable):
        pytest.skip(f"{where}: {done.exception}")
    assert done.exit_code == 0, f"{where}: {shlex.join(words)}\n{done.output}\n{done.exception!r}"
    if output:
        output.write_text(done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(page: Path, folder: Path) -> None:
    namespace = given()
    for fence in fences(page):
        where = f"{page.relative_to(ROOT)}, line {fence.line}"
        if fence.not_run:
            continue
        if fence.language == "python":
            if any(
                f"compat.{name} import" in fence.text and not importlib.util.find_spec(OPTIONAL[name])
                for name in OPTIONAL
            ):
                continue
            exec(compile("\n" * fence.line + fence.text, str(page), "exec"), namespace)
        elif not fence.language:
            for words in commands(fence.text):
                run_command(words, where)


def test_the_scores_that_readme_shows() -> None:
    """Of the embedded captions, as `make demo` scores them."""
    shown = next(fence.text for fence in fences(ROOT / "README.md") if fence.text.startswith("metric "))
    rows = {name: [float(cell) for cell in cells] for name, *cells in map(str.split, shown.splitlines()[1:])}
    assert len(rows) > 3
    options = ["-r", str(DEMO / "references.json"), "-m", ",".join(rows), "--intervals", "--format", "json"]
    done = CliRunner().invoke(cli, ["score", str(DEMO / "system_a.json"), *options])
    if isinstance(done.exception, Unavailable):
        pytest.skip(str(done.exception))
    found = json.loads(done.stdout)
    for name, (score, low, high) in rows.items():
        assert found["scores"][name] == pytest.approx(score, abs=5e-5)
        assert found["intervals"][name] == pytest.approx({"low": low, "high": high}, abs=5e-5)


def test_claims_of_speed_are_those_measured() -> None:
    """The README's figures stand in the file that it names beside them."""
    page = (ROOT / "README.md").read_text("utf-8")
    ngrams = (ROOT / "benchmarks" / "results" / "ngrams.md").read_text("utf-8")
    times = {row[0]: row[3] for row in re.findall(r"\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|", ngrams)}
    assert f"{times['1,000']} times at 1,000 images, {times['40,000']} at 40,000" in page
    meteor = (ROOT / "benchmarks" / "results" / "meteor.md").read_text("utf-8")
    (images, _, _, faster) = re.findall(r"\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|", meteor)[-1]
    assert f"{faster} times at {images} images" in page


def test_links_lead_somewhere() -> None:
    """Within the repository; `make docs` knows headings too, but needs mkdocs."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []
