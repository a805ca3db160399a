"""`capeval report` and `capeval score --report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> int:
    from capeval.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["capeval", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    captions = {"1": "a dog runs on a beach", "2": "a cat", "3": "two cars"}
    references = {"1": ["a dog runs along the beach"], "2": ["a grey cat sits"], "3": ["cars on a street"]}
    (tmp_path / "a.json").write_text(json.dumps([{"image_id": i, "caption": c} for i, c in captions.items()]))
    (tmp_path / "refs.json").write_text(json.dumps(references))
    (tmp_path / "clip.csv").write_text("id,clip\n1,0.7\n2,0.5\n3,0.1\n")
    return tmp_path


def test_score_report(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    asked = (
        "score",
        "a.json",
        "-r",
        "refs.json",
        "-m",
        "bleu_1",
        "-m",
        "rouge_l",
        "--format",
        "json",
        "--resamples",
        "20",
    )
    assert run(monkeypatch, folder, *asked, "--report", "page.html", "--scores", "clip.csv") == 0
    out = capsys.readouterr().out
    assert list(json.loads(out)) == ["schema", "n", "scores", "signatures"]  # as without a report
    text = (folder / "page.html").read_text("utf-8")
    for part in (
        "a dog runs along the beach",
        "clip",
        "elsewhere",
        "Best and worst captions",
        "capeval score a.json -r refs.json",
    ):
        assert part in text
    assert run(monkeypatch, folder, *asked, "--scores", "clip.csv") == 2
    assert run(monkeypatch, folder, *asked, "--report", "-") == 2


def test_report_command(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    asked = ("score", "a.json", "-r", "refs.json", "-m", "bleu_1", "-m", "rouge_l", "--intervals", "--resamples", "20")
    assert run(monkeypatch, folder, *asked, "--format", "json", "--per-caption", "each.jsonl") == 0
    (folder / "scores.json").write_text(capsys.readouterr().out)
    wanted = ("-o", "page.html", "--latex", "t.tex", "--markdown", "t.md", "--figures", "figures", "--title", "Mine <3")
    code = run(
        monkeypatch, folder, "report", "scores.json", "each.jsonl", "--scores", "clip.csv", "-r", "refs.json", *wanted
    )
    assert code == 0
    assert "<title>Mine &lt;3</title>" in (folder / "page.html").read_text("utf-8")
    assert "a dog runs along the beach" in (folder / "page.html").read_text("utf-8")
    assert r"\texttt{rouge\_l}" in (folder / "t.tex").read_text("utf-8")
    assert "| `rouge_l` |" in (folder / "t.md").read_text("utf-8")
    assert sorted(path.name for path in (folder / "figures").iterdir())[:2] == ["01-scores.png", "01-scores.svg"]


def test_report_command_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, folder, "report", "a.json") == 2
    assert "say what to write" in capsys.readouterr().err
    assert run(monkeypatch, folder, "report", "a.json", "--latex", "t.tex") == 1
    assert "a.json: this is not the result" in capsys.readouterr().err
    assert not (folder / "t.tex").exists()
    curves = {"counts": [1, 2], "mean": {"x": [50.0]}}  # one number is missing
    odd = {"benchmark": "b", "rows": 1, "metrics": [], "comparisons": [{"names": [], "by_references": curves}]}
    (folder / "odd.json").write_text(json.dumps(odd))
    assert run(monkeypatch, folder, "report", "odd.json", "--latex", "t.tex") == 1
    assert "odd.json: the result is not as capeval wrote it: x needs one number for each" in capsys.readouterr().err
    assert not (folder / "t.tex").exists()
    assert run(monkeypatch, folder, "report", "odd.json", "--latex", "no/t.tex") == 1
    assert "there is no folder no" in capsys.readouterr().err
