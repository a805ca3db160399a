"""References from several files: `-r` again adds to those before it, in every command that has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import capeval
from capeval.cli import cli
from capeval.io.dftable import read_table

FIRST = {"1": ["a dog runs along the beach"], "2": ["a woman cooks in a kitchen", "a lady makes food"]}
SECOND = {"2": ["a lady makes food"], "3": ["two cars on a street", "cars are parked"]}
BOTH = FIRST | SECOND | {"2": [*FIRST["2"], *SECOND["2"]]}
CAPTIONS = {"1": "a dog running on the beach", "2": "a lady is making food", "3": "cars on a street"}
FILES = ["-r", "first.json", "-r", "second.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, references in (("first", FIRST), ("second", SECOND), ("both", BOTH)):
        Path(f"{name}.json").write_text(json.dumps(references))
    Path("a.json").write_text(json.dumps([{"image_id": i, "caption": c} for i, c in CAPTIONS.items()]))
    Path("b.json").write_text(json.dumps([{"image_id": i, "caption": f"{c} again"} for i, c in CAPTIONS.items()]))
    return tmp_path


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "command",
    [
        ["score", "a.json", "-m", "cider_d", "-m", "bleu_4"],
        ["compare", "a.json", "b.json", "-m", "cider_d", "--resamples", "20"],
        ["robust", "attacks", "a.json", "-m", "rouge_l"],
    ],
)
def test_several_files_give_what_one_file_with_all_gives(command: list[str]) -> None:
    several, one = run(*command, *FILES, "--format", "json"), run(*command, "-r", "both.json", "--format", "json")
    for each in (several, one):
        for made in ("command", "arguments"):
            each.pop(made, None)
    assert several == one
    if command[0] == "score":
        assert several["scores"] == capeval.score(CAPTIONS, BOTH, ["cider_d", "bleu_4"]).scores


def test_what_was_asked_for_is_kept() -> None:
    asked = ["robust", "attacks", "a.json", "-m", "rouge_l", "--format", "json"]
    assert run(*asked, *FILES)["arguments"]["references"] == ["first.json", "second.json"]
    assert run(*asked, "-r", "both.json")["arguments"]["references"] == "both.json"


def test_a_table_of_document_frequencies_from_several_files() -> None:
    for files, table in ((["first.json", "second.json"], "several.df"), (["both.json"], "one.df")):
        done = CliRunner().invoke(cli, ["df", *files, "-o", table])
        assert done.exit_code == 0, done.output
    assert Path("several.df").read_bytes() == Path("one.df").read_bytes()
    assert read_table("several.df").images == 3


def test_examples_of_a_report_show_all(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [{"id": i, "image": i, "candidate": c, "scores": {"x": float(i)}} for i, c in CAPTIONS.items()]
    Path("each.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(cli, ["report", "each.jsonl", *FILES, "-o", "page.html"])
    assert done.exit_code == 0, done.output
    page = Path("page.html").read_text()
    assert all(each[0] in page for each in (FIRST["1"], SECOND["3"]))


def test_every_such_option_can_be_given_again() -> None:
    context = click.Context(cli)
    found = 0
    for name in ("score", "compare", "report", "lece-system", "robust"):
        command = cli.get_command(context, name)
        assert command is not None
        for each in command.commands.values() if isinstance(command, click.Group) else [command]:
            for param in each.params:
                if "--references" in param.opts:
                    assert param.multiple, each.name  # type: ignore[attr-defined]
                    found += 1
    assert found == 9
