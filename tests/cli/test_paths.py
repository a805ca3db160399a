"""No command writes over what it reads, or writes one file twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from capeval.cli import cli
from capeval.cli.paths import Command, Reads, Writes, WritesInto, refuse_overwriting

# Options and arguments that are plain text. One that is not here must have a type, and one that names a file must say
# by `Reads`, `Writes` or `WritesInto` what is done with it.
TEXTS = {
    "bench run": {"combine", "counts", "human", "variants"},
    "bench rows": {"human", "variants"},
    "compare": {"caption", "ids", "split"},
    "data fetch": {"name", "url"},
    "diversity": {"caption", "ids", "split"},
    "explain": {"metric", "candidate", "references"},
    "ground": {"caption", "references"},
    "lece-system": {"settings"},
    "report": {"title"},
    "robust curves": {"gammas"},
    "serve": {"host", "token"},
    "score": {"address", "by", "caption", "filter_", "ids", "picture", "split"},
    "train": {"name", "settings", "device"},
}
KNOWN = (Reads, Writes, WritesInto, click.Choice, click.IntRange, click.FloatRange, click.types.BoolParamType)


def commands(group: click.Group = cli, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def pairs() -> Iterator[Any]:
    """Each option that names a file to write, with each that names a file to read."""
    for name, command in commands():
        outputs = [param for param in command.params if isinstance(param.type, Writes)]
        inputs = [param for param in command.params if isinstance(param.type, Reads) and _names_a_file(param.type)]
        for written, read in product(outputs, inputs):
            yield pytest.param(name, command, written, read, id=f"{name}-{written.name}-{read.name}")


def _names_a_file(kind: Reads) -> bool:
    return "in.json" in map(str, kind.files("in.json", {"data": None}))


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_option_says_whether_it_names_a_file(name: str, command: click.Command) -> None:
    assert isinstance(command, Command), "cls=Command is missing, which refuses to write over what is read"
    texts = {param.name for param in command.params if type(param.type) is click.types.StringParamType}
    assert texts == TEXTS.get(name, set())
    untold = [param.name for param in command.params if not isinstance(param.type, KNOWN) and param.name not in texts]
    assert not untold


def given(command: click.Command, values: dict[str, str]) -> list[str]:
    """Arguments with these values, and with another file wherever a command cannot do without one."""
    found, last = [], []
    for param in command.params:
        value = values.get(param.name or "", "other.json" if param.required else None)
        if isinstance(param, click.Option) and value is not None:
            found += [param.opts[0], value]
        elif value is not None:
            last.append(value)
    return [*found, *last]


@pytest.mark.parametrize(("name", "command", "written", "read"), list(pairs()))
@pytest.mark.parametrize("how", ["path", "symlink", "hard link"])
def test_outputs_that_are_inputs_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: click.Command,
    written: Any,
    read: Any,
    how: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.json").write_text("precious")
    out = {"path": f"../{tmp_path.name}/in.json"}.get(how, "out.json")
    if how == "symlink":
        os.symlink("in.json", out)
    elif how == "hard link":
        os.link("in.json", out)
    done = CliRunner().invoke(cli, [*name.split(), *given(command, {read.name: "in.json", written.name: out})])
    assert done.exit_code == 2
    assert f"would write over {out}, which" in done.output
    assert Path("in.json").read_text() == "precious"


def test_there_are_such_options() -> None:
    assert len(list(pairs())) > 40


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("refs.json").write_text(json.dumps({"1": ["a dog runs", "a brown dog"], "2": ["a woman cooks", "a lady"]}))
    Path("a.json").write_text(json.dumps([{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat"}]))
    for name in ("photos", "run", "figures", "data/composite"):
        Path(name).mkdir(parents=True)
    for file in (
        "photos/1.JPG",
        "run/config.toml",
        "f.npy",
        "f.ids.txt",
        "run/probe.npz",
        "run/vocabulary.txt",
        "figures/01-scores.svg",
    ):
        Path(file).write_text(file)
    Path("run/config.json").write_text('{"format": 1, "model": "m", "config": {}, "files": {"vocabulary.txt": ""}}')
    return tmp_path


SCORE = ["score", "a.json", "-r", "refs.json", "-m", "rouge_l"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*SCORE, "--images", "photos", "--json", "photos/1.JPG"],
        [*SCORE, "--features", "f.npy", "--per-caption", "f.ids.txt"],
        [*SCORE, "-m", "cider_d(df=f.npy)", "--save", "f.npy"],
        [*SCORE, "-m", "lece(checkpoint=run)", "--json", "run/vocabulary.txt"],
        ["caption", "--features", "x.npy", "--checkpoint", "run", "-o", "run/config.json"],
        ["features", "photos", "-o", "photos/1.JPG"],
        ["report", "figures/01-scores.svg", "--figures", "figures"],
        ["train", "lece", "--features", "run/probe.npz", "--out", "run"],
        ["train", "lece", "--input", "words=run/vocabulary.txt", "--out", "run"],
    ],
)
def test_files_that_are_read_beside_the_one_that_is_named(folder: Path, arguments: list[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert "would write over" in done.output
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("given", [["--data", "data"], []])
def test_the_files_of_a_benchmark(folder: Path, monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    from capeval.bench.registry import benchmarks

    monkeypatch.setenv("CAPEVAL_DATA", "data")
    file = Path("data", benchmarks()["composite"].sources[0].path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious")
    done = CliRunner().invoke(cli, ["bench", "run", "composite", *given, "--json", str(file)])
    assert done.exit_code == 2
    assert f"would write over {file}, which NAME reads" in done.output
    assert file.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SCORE, "--json", "x", "--per-caption", "./x"], "--json and --per-caption would write the same file, ./x"),
        ([*SCORE, "--json", "link", "--save", "x"], "--json and --save would write the same file, x"),
        (["report", "a.json", "--latex", "x", "--markdown", "x"], "--latex and --markdown would write the same file"),
        (["report", "a.json", "--latex", "-", "--markdown", "-"], "only one output can go to standard output"),
        (["report", "a.json", "--latex", "figures/02-x.svg", "--figures", "./figures"], "might write the same file"),
        (["report", "a.json", "--latex", "figures/01-scores.svg", "--figures", "figures"], "might write the same file"),
    ],
)
def test_outputs_that_are_one_file_are_refused(folder: Path, arguments: list[str], message: str) -> None:
    os.symlink("x", "link")
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not Path("x").exists()


def test_what_is_harmless_is_done(folder: Path) -> None:
    """Also a second time, when the files are there."""
    for _ in range(2):
        named = ["--json", "photos/kept.json", "--per-caption", "each.csv", "--save", "run/part.npz"]
        done = CliRunner().invoke(cli, [*SCORE, "--images", "photos", *named])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(cli, [*SCORE, "--json", os.devnull, "--per-caption", os.devnull])
    assert done.exit_code == 0, "a device is not written over"
    train = dict(commands())["train"]
    refuse_overwriting(train, {"config": "run/config.toml", "out": "run"})  # may lie with what is made of it
    os.link("run/probe.npz", "run/parser.npz")  # neither is another's
    refuse_overwriting(train, {"features": ("f.npy",), "out": "run"})
    with pytest.raises(click.UsageError):
        refuse_overwriting(train, {"config": "run/config.json", "out": "run"})


def in_a_shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -c 'from capeval.cli import main; main()'"
    line = command.replace("capeval", program, 1)
    return subprocess.run(line, shell=True, capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name != "posix", reason="written for a POSIX shell")
def test_files_behind_standard_input_and_output(folder: Path) -> None:
    before = Path("a.json").read_text()
    done = in_a_shell("capeval score - -r refs.json -m rouge_l --json a.json < a.json")
    assert done.returncode == 2
    assert "--json would write over a.json, which CANDIDATES reads" in done.stderr
    assert Path("a.json").read_text() == before
    done = in_a_shell("capeval score a.json -r refs.json -m rouge_l --json out.json > out.json")
    assert done.returncode == 2
    assert "standard output and --json would write the same file, out.json" in done.stderr
    done = in_a_shell("capeval tokenize a.json >> a.json")
    assert done.returncode == 2
    assert Path("a.json").read_text() == before
