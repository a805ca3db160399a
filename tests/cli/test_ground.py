"""`capeval ground`, and `capeval explain` and `report` with pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("onnxruntime")

from capeval.cli import cli
from capeval.errors import CapevalError

pytest.importorskip("PIL")

CAPTION, REFERENCE = "a dog runs on the beach", "a dog & a ball"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def ground(beach: Path, scan: Path, output: str, *more: str, caption: str = CAPTION) -> Result:
    given = ("--features", beach / "regions.npz", "--checkpoint", scan, "-o", beach / output)
    return run("ground", beach / "beach.png", caption, "-r", REFERENCE, *given, *more)


@pytest.mark.parametrize(("name", "begin"), [("a.png", b"\x89PNG"), ("a.SVG", b"<svg"), ("a.html", b"<!DOCTYPE html>")])
def test_each_form(beach: Path, small_scan: Path, name: str, begin: bytes) -> None:
    if name.endswith("png"):
        pytest.importorskip("matplotlib")
    done = ground(beach, small_scan, name)
    assert done.exit_code == 0, done.output
    assert (beach / name).read_bytes().startswith(begin)
    assert f"wrote {beach / name}" in done.output
    assert not list(beach.glob(".*"))
    again = ground(beach, small_scan, name)  # its own output may be written again
    assert again.exit_code == 0


def test_a_page_names_the_command(beach: Path, small_scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["capeval", "ground", "beach.png", "<b>"])
    ground(beach, small_scan, "a.html")
    text = (beach / "a.html").read_text()
    assert "capeval ground beach.png &#x27;&lt;b&gt;&#x27;" in text
    assert "a dog &amp; a ball" in text


def test_the_picture_is_not_written_over(beach: Path, small_scan: Path) -> None:
    before = (beach / "beach.png").read_bytes()
    done = ground(beach, small_scan, "beach.png")
    assert done.exit_code == 2
    assert "would write over" in done.output
    assert (beach / "beach.png").read_bytes() == before


def test_what_is_wrong_is_told_before_the_work(beach: Path, small_scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = ground(beach, small_scan, "a.gif")
    assert isinstance(done.exception, CapevalError)
    assert ".png, .svg or .html" in str(done.exception)
    from capeval.report import plots

    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    done = ground(beach, small_scan, "a.png", caption="zebra")  # nothing of the caption is looked at yet
    assert "[report]" in str(done.exception)
    done = ground(beach, small_scan, "a.svg", caption="zebra")
    assert "knows none of its words" in str(done.exception)
    assert not list(beach.glob("a.*"))


def test_pictures_of_nowhere_and_damaged_ones(beach: Path, small_scan: Path) -> None:
    (beach / "beach.png").write_bytes(b"no picture")
    done = ground(beach, small_scan, "a.svg")
    assert "not a picture" in str(done.exception)
    (beach / "beach.png").unlink()
    done = ground(beach, small_scan, "a.svg")
    assert "beach.png: cannot be read" in str(done.exception)


def test_explain_shows_regions(beach: Path, small_scan: Path) -> None:
    given = ("-r", REFERENCE, "--image", beach / "beach.png", "--features", beach / "regions.npz")
    done = run("explain", f"tiger(checkpoint={small_scan})", CAPTION, *given)
    assert done.exit_code == 0, done.output
    assert "reference: a dog & a ball" in done.output
    assert "KL divergence" in done.output
    assert sum("row " in line and "column " in line for line in done.output.splitlines()) == 16
    done = run("explain", f"tiger(checkpoint={small_scan})", CAPTION, *given, "--format", "json")
    (found,) = json.loads(done.stdout)
    assert {"tiger", "tiger_rrs", "tiger_wds", "KL divergence", "length ratio"} == found["facts"].keys()
    assert found["rows"][0].keys() >= {"rank", "region", "references' rank", "candidate's share", "references' share"}


def test_explain_without_a_picture(beach: Path, small_scan: Path) -> None:
    done = run("explain", f"tiger(checkpoint={small_scan})", CAPTION, "-r", REFERENCE)
    assert isinstance(done.exception, CapevalError)
    assert done.exception.remedy == "picture"
    done = run("explain", "tiger", CAPTION, "-r", REFERENCE, "--features", beach / "regions.npz")
    assert done.exit_code == 2
    assert "--image" in done.output


def test_reports_show_maps(beach: Path, small_scan: Path) -> None:
    pytest.importorskip("matplotlib")
    row = {"id": "1", "image": "beach", "candidate": CAPTION, f"tiger(checkpoint={small_scan})": 0.5}
    lines = [json.dumps(row), json.dumps(row | {"id": "2", "candidate": "a dog"})]
    (beach / "each.jsonl").write_text("\n".join(lines))
    photos = beach / "photos"
    photos.mkdir()
    (beach / "beach.png").rename(photos / "beach.png")
    given = ("--images", photos, "--features", beach / "regions.npz", "-o", beach / "report.html")
    done = run("report", beach / "each.jsonl", *given)
    assert done.exit_code == 0, done.output
    assert 'aria-label="dog: hottest at the' in (beach / "report.html").read_text()
    done = run("report", beach / "each.jsonl", "--features", beach / "regions.npz", "-o", beach / "report.html")
    assert done.exit_code == 2
    assert "--images" in done.output
