"""What a person sees in a terminal of 80 columns, and of 60."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from capeval.cli import cli
from capeval.io.shipped import shipped

DEMO = Path(str(shipped("demo")))
SYSTEMS = [str(DEMO / "system_a.json"), str(DEMO / "system_b.json")]
REFERENCES = ["-r", str(DEMO / "references.json")]
LONG = ["-m", "cider_d(df=coco-val2014)", "-m", "bleu", "-m", "rouge_l(beta=2.5)"]


def run(width: int, *arguments: str) -> Result:
    done = CliRunner().invoke(cli, arguments, env={"COLUMNS": str(width)})
    assert done.exit_code == 0, done.output
    return done


def check(done: Result, width: int) -> list[str]:
    lines = done.stdout.split("\n")
    assert max(map(len, lines)) <= width
    assert "…" not in done.stdout
    return done.stdout.split()


@pytest.mark.parametrize("width", [80, 60])
def test_score(width: int) -> None:
    words = check(done := run(width, "score", SYSTEMS[0], *REFERENCES, *LONG, "--intervals"), width)
    found = json.loads(run(width, "score", SYSTEMS[0], *REFERENCES, *LONG, "--format", "json").stdout)
    for name, value in found["scores"].items():
        assert name in words
        assert f"{value:.4f}" in words
    assert "tok:ptb|#:5|" in done.stdout
    assert "rouge_l(beta=2.5)|" not in done.stdout


def test_signatures_in_full_with_a_flag() -> None:
    done = run(200, "score", SYSTEMS[0], *REFERENCES, "-m", "bleu_4", "--signatures")
    assert "bleu_4(sentence=false)|tok:ptb|refs:5|data:" in done.stdout


@pytest.mark.parametrize("width", [80, 60])
def test_compare(width: int) -> None:
    words = check(done := run(width, "compare", *SYSTEMS, *REFERENCES, *LONG, "--resamples", "200"), width)
    found = json.loads(
        run(width, "compare", *SYSTEMS, *REFERENCES, *LONG, "--resamples", "200", "--format", "json").stdout
    )
    for name, each in found["comparisons"].items():
        assert name in words
        for value in each.values():
            assert f"{value:.4f}" in words
    last = " ".join(done.stdout.split("\n\n")[-1].split())
    assert last.startswith("A (system_a.json) is better than B (system_b.json) on all 6 metrics (p ≤ 0.0")
    assert last.endswith("permutation test, Holm's correction for 6 metrics).")


@pytest.mark.parametrize("width", [80, 60])
def test_robust(width: int) -> None:
    words = check(run(width, "robust", "curves", *REFERENCES, *LONG[:2], "--transform", "wp"), width)
    assert "cider_d(df=coco-val2014)" in words
    check(run(width, "robust", "attacks", *REFERENCES, *LONG), width)
    check(run(width, "robust", "probe", *REFERENCES, *LONG), width)


@pytest.mark.parametrize("width", [80, 60])
def test_bench(width: int, tmp_path: Path) -> None:
    """With a benchmark of one's own: the figures have intervals, and so are long."""
    captions = json.loads(Path(SYSTEMS[0]).read_text())
    references = json.loads((DEMO / "references.json").read_text())
    texts: dict[str, list[str]] = {}
    for each in references["annotations"] if isinstance(references, dict) and "annotations" in references else []:
        texts.setdefault(str(each["image_id"]), []).append(each["caption"])
    texts = texts or {str(key): value for key, value in references.items()}
    rows = [
        {"id": str(place), "image": str(each["image_id"]), "candidate": each["caption"],
         "references": texts[str(each["image_id"])], "human": place % 4 + 1}
        for place, each in enumerate(captions)
    ]  # fmt: skip
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    done = run(width, "bench", "run", str(path), *LONG[:4], "--resamples", "20")
    assert "cider_d(df=coco-val2014)" in check(done, width)
    assert "kendall" in done.stdout


@pytest.mark.parametrize("width", [80, 60])
def test_explain_and_list(width: int) -> None:
    for metric in ("bleu", "cider_d", "rouge_l", "wmd"):
        check(run(width, "explain", metric, "a man rides a bike", "-r", "a person is riding a bicycle"), width)
    check(run(width, "list"), width)


def test_explain_is_structured() -> None:
    given = ("explain", "rouge_l", "a man rides", "-r", "a man walks", "--format", "json")
    (found,) = json.loads(run(80, *given).stdout)
    assert found["schema"] == "capeval.explain/1"
    assert found["scores"]["rouge_l"] == pytest.approx(2 / 3)
    assert [word.get("fate") for word in found["candidate_words"]] == ["match", "match", "miss"]
    assert found["rows"][1] == {"common word": "man", "place in candidate": 2, "place in reference": 2}
