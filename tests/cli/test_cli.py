"""The command line: what is printed where, in which form, and with which exit code."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import capeval
from capeval.cli import COMMANDS, main

REFERENCES = {
    "1": ["a dog runs along the beach", "a brown dog is running on the sand"],
    "2": ["a woman cooks in a kitchen", "a lady is making food in the kitchen"],
    "3": ["two cars are parked on a street", "cars stand near a tall building"],
}
CAPTIONS = {1: "A dog running on the beach.", 2: "a woman in a kitchen", 3: "cars on a street"}
WORSE = {1: "a cat", 2: "a lady is making food", 3: "a tall building"}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Run:
    """Calls the command line in this process, in a folder with the files below."""

    def call(*arguments: str, stdin: str | bytes = b"") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "argv", ["capeval", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Outcome(code, *capsys.readouterr())

    return call


def rows(captions: dict[int, str], **fields: str) -> list[dict[str, Any]]:
    return [{"image_id": image, "caption": caption, **fields} for image, caption in captions.items()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.json").write_text(json.dumps(REFERENCES))
    (tmp_path / "a.json").write_text(json.dumps(rows(CAPTIONS)))
    (tmp_path / "b.json").write_text(json.dumps(rows(WORSE)))
    both = rows(CAPTIONS, system="good") + rows(WORSE, system="bad [red] :dog:")
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in both))
    return tmp_path


def expected(*metrics: str, captions: dict[int, str] = CAPTIONS) -> dict[str, float]:
    return capeval.score(captions, REFERENCES, metrics).scores


def test_json(run: Run) -> None:
    done = run("score", "a.json", "-r", "refs.json", "-m", "bleu", "-m", "cider_d(n=2)", "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert list(done.json) == ["schema", "n", "scores", "signatures"]
    assert done.json["n"] == 3
    assert done.json["scores"] == expected("bleu", "cider_d(n=2)")
    assert set(done.json["signatures"]) == set(done.json["scores"])


@pytest.mark.parametrize("command", [["score", "a.json"], ["compare", "a.json", "b.json"]])
def test_the_result_is_kept_as_json(run: Run, folder: Path, command: list[str]) -> None:
    done = run(*command, "-r", "refs.json", "-m", "rouge_l", "--resamples", "20", "--json", "kept.json")
    assert done.code == 0
    assert "rouge_l" in done.out
    kept = json.loads((folder / "kept.json").read_text())
    assert kept["command"].startswith(f"capeval {' '.join(command)} -r refs.json")
    printed = run(*command, "-r", "refs.json", "-m", "rouge_l", "--resamples", "20", "--format", "json").json
    assert printed.items() <= kept.items()


@pytest.mark.parametrize("command", [["score", "a.json"], ["compare", "a.json", "b.json"]])
def test_a_score_that_is_not_defined(run: Run, folder: Path, command: list[str]) -> None:
    asked = (*command, "-r", "plain.json", "-m", "spice_fast_color", "--resamples", "20")
    (folder / "plain.json").write_text(json.dumps({"1": ["a dog"], "2": ["a woman"], "3": ["cars"]}))
    table, plain = run(*asked), run(*asked, "--format", "csv")
    assert (table.code, plain.code) == (0, 0)
    assert "nan" not in table.out + plain.out
    assert "Warning" not in table.err
    assert "null" in run(*asked, "--format", "json").out


def test_csv(run: Run) -> None:
    done = run("score", "a.json", "-r", "refs.json", "-m", "rouge_l", "-m", "bleu_1", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["metric"]: float(row["score"]) for row in table} == expected("rouge_l", "bleu_1")
    assert all(row["signature"].endswith(f"capeval:{capeval.__version__}") for row in table)


def test_table(run: Run) -> None:
    done = run("score", "a.json", "-r", "refs.json", "-m", "rouge_l", "-m", "bleu_1")
    assert done.code == 0
    assert done.err == "3 captions\n"
    lines = done.out.splitlines()
    assert lines[0].split() == ["metric", "score"]
    assert lines[2].split()[:2] == ["rouge_l", f"{expected('rouge_l')['rouge_l']:.4f}"]
    assert lines[5] == "signatures in short (in full: --signatures)"
    assert lines[6].startswith("tok:ptb|#:2|d:")
    assert lines[7] == "  rouge_l, bleu_1"


def test_without_a_metric_all_that_can_be_used_are(run: Run) -> None:
    done = run("score", "a.json", "-r", "refs.json", "--format", "json")
    assert done.code == 0
    assert {"bleu_1", "bleu_4", "rouge_l", "cider", "cider_d"} <= set(done.json["scores"])


def test_intervals(run: Run) -> None:
    done = run(
        "score", "a.json", "-r", "refs.json", "-m", "rouge", "--intervals", "--resamples", "50", "--format", "json"
    )
    found = done.json["intervals"]["rouge_l"]
    assert list(found) == ["low", "high"]
    assert found["low"] < done.json["scores"]["rouge_l"] < found["high"]
    again = run(
        "score", "a.json", "-r", "refs.json", "-m", "rouge", "--intervals", "--resamples", "50", "--format", "csv"
    )
    assert float(next(csv.DictReader(io.StringIO(again.out)))["low"]) == found["low"]
    other = run("score", "a.json", "-r", "refs.json", "-m", "rouge", "--intervals", "--resamples", "50", "--seed", "1")
    assert other.code == 0
    assert "low" in other.out.splitlines()[0]


def test_several_systems(run: Run) -> None:
    done = run("score", "both.jsonl", "-r", "refs.json", "-m", "rouge_l", "--format", "json", "--intervals")
    assert list(done.json) == ["schema", "n", "scores", "signatures", "systems"]
    systems = done.json["systems"]
    assert systems["good"]["scores"] == expected("rouge_l")
    assert systems["bad [red] :dog:"]["scores"] == expected("rouge_l", captions=WORSE)
    assert set(systems["good"]["intervals"]["rouge_l"]) == {"low", "high"}
    table = run("score", "both.jsonl", "-r", "refs.json", "-m", "rouge_l")
    assert "bad [red] :dog:" in table.out
    assert table.out.splitlines()[0].split()[0] == "system"


def test_scores_per_caption(run: Run, folder: Path) -> None:
    done = run("score", "a.json", "-r", "refs.json", "-m", "bleu_4", "-m", "rouge", "--per-caption", "each.jsonl")
    assert done.code == 0
    found = [json.loads(line) for line in (folder / "each.jsonl").read_text().splitlines()]
    assert [list(row) for row in found] == [["id", "image", "candidate", "scores"]] * 3
    assert found[1]["candidate"] == CAPTIONS[2]
    whole = capeval.score(CAPTIONS, REFERENCES, ["bleu_4", "rouge"])
    assert found == list(whole.records())


@pytest.mark.parametrize("name", ["each.csv", "each.tsv", "each.json", "each.jsonl.gz"])
def test_scores_per_caption_in_other_forms_can_be_scored_again(run: Run, name: str) -> None:
    assert run("score", "a.json", "-r", "refs.json", "-m", "bleu_4", "--per-caption", name).code == 0
    again = run("score", name, "-r", "refs.json", "-m", "bleu_4", "--format", "json")
    assert again.json["scores"] == expected("bleu_4")


def test_unused_references_are_counted_or_refused(run: Run, folder: Path) -> None:
    (folder / "more.json").write_text(json.dumps(REFERENCES | {"8": ["x"], "9": ["y"]}))
    done = run("score", "a.json", "-r", "more.json", "-m", "cider_d", "--format", "json")
    assert done.json["scores"] == expected("cider_d")  # not in the document frequencies either
    assert done.err.startswith("2 images with references have no candidate")
    strict = run("score", "a.json", "-r", "more.json", "-m", "cider_d", "--strict")
    assert (strict.code, strict.out) == (1, "")
    assert "Ids: '8', '9'" in strict.err


def test_standard_input(run: Run) -> None:
    done = run("score", "-", "-r", "refs.json", "-m", "rouge", "--format", "json", stdin=json.dumps(rows(CAPTIONS)))
    assert done.json["scores"] == expected("rouge")
    packed = gzip.compress(json.dumps(REFERENCES).encode(), mtime=0)
    done = run("score", "a.json", "-r", "-", "-m", "rouge", "--format", "json", stdin=packed)
    assert done.json["scores"] == expected("rouge")


def test_only_one_input_can_be_standard_input(run: Run) -> None:
    for arguments in (
        ["score", "-", "-r", "-"],
        ["compare", "-", "-", "-r", "refs.json"],
        ["compare", "-", "b.json", "-r", "-"],
    ):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert "only one input can come from standard input" in done.err


def test_gzip_under_any_name(run: Run, folder: Path) -> None:
    (folder / "refs").write_bytes(gzip.compress(json.dumps(REFERENCES).encode(), mtime=0))
    done = run("score", "a.json", "-r", "refs", "-m", "rouge", "--format", "json")
    assert done.json["scores"] == expected("rouge")


def test_threads_and_tokenizer(run: Run) -> None:
    arguments = ["score", "a.json", "-r", "refs.json", "-m", "cider", "--format", "json"]
    assert run(*arguments, "--threads", "3").out == run(*arguments, "--threads", "1").out
    assert run(*arguments, "--tokenizer", "none").json["scores"] != run(*arguments).json["scores"]


def test_bad_metrics_are_reported_together_before_files_are_read(run: Run) -> None:
    done = run("score", "missing.json", "-r", "missing.json", "-m", "blue", "-m", "bleu", "-m", "cider(n=0)")
    assert (done.code, done.out) == (2, "")
    assert "'blue'. Did you mean bleu" in done.err
    assert "n is 0" in done.err
    assert "missing.json" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "missing.json", "-r", "refs.json"], "missing.json: there is no such file"),
        (["score", ".", "-r", "refs.json"], "this is a directory"),
        (["score", "refs.json", "-r", "a.json"], "refs.json"),
        (["score", "a.json", "-r", "refs.json", "-m", "cider(df=no.df)"], "no.df: cannot be read"),
        (["score", "a.json", "-r", "refs.json", "-m", "bleu", "--per-caption", "no/each.csv"], "cannot be written"),
        (["score", "a.json", "-r", "refs.json", "-m", "bleu", "--save", "no/part.npz"], "cannot be written"),
        (["score", "a.json", "-r", "refs.json", "-m", "bleu", "--json", "no/kept.json"], "there is no folder no"),
        (["compare", "a.json", "b.json", "-r", "refs.json", "-m", "bleu", "--json", "."], "it is a folder"),
        (["df", "refs.json", "-o", "no/table.df"], "cannot be written"),
        (["tokenize", "missing.txt"], "missing.txt: there is no such file"),
        (["join", "a.json"], "`capeval score --save` writes results to be joined"),
        (["join", "missing.npz"], "there is no such file"),
        (["compare", "a.json", "missing.json", "-r", "refs.json"], "there is no such file"),
    ],
)
def test_failures_exit_with_1_and_say_why(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scroe"], "Did you mean score"),
        (["score"], "CANDIDATES"),
        (["score", "a.json"], "--references"),
        (["score", "a.json", "-r", "refs.json", "--metrics", "bleu"], "--metric"),
        (["score", "a.json", "-r", "refs.json", "--format", "xml"], "xml"),
        (["score", "a.json", "-r", "refs.json", "--threads", "0"], "--threads"),
        (["score", "a.json", "-r", "refs.json", "--resamples", "0"], "--resamples"),
        (["score", "a.json", "-r", "refs.json", "--seed", "-1"], "--seed"),
        (["score", "a.json", "-r", "refs.json", "--tokenizer", "bert"], "bert"),
        (["df", "refs.json", "-o", "t.df", "-n", "9"], "-n"),
        (["join"], "PART"),
        (["score", "a.json", "-r", "refs.json", "-m", "blue"], "Did you mean bleu"),
        (["score", "a.json", "-r", "refs.json", "-m", "bleu", "--per-caption", "-"], "needs a file"),
        (["explain", "blue", "a dog", "-r", "a dog"], "Did you mean bleu"),
        (["compare", "a.json", "-r", "refs.json"], "B"),
    ],
)
def test_wrong_usage_exits_with_2(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_tokenize(run: Run, folder: Path) -> None:
    (folder / "captions.txt").write_bytes("A dog.\r\n\nIt's a\u2028cat!\n".encode())
    assert run("tokenize", "captions.txt").out == "a dog\n\nit 's a cat\n"
    assert run("tokenize", "-", stdin="A dog").out == "a dog\n"
    assert run("tokenize", "-", "--tokenizer", "none", stdin="\ufeffA  dog.").out == "A dog.\n"
    assert run("tokenize", "-", stdin="").out == ""
    bad = run("tokenize", "-", stdin=b"ok\n\xff\n")
    assert bad.code == 1
    assert "<stdin>, line 2: not UTF-8" in bad.err


def test_a_table_of_document_frequencies(run: Run, folder: Path) -> None:
    made = run("df", "refs.json", "-o", "own.df")
    assert (made.code, made.out) == (0, "")
    assert "of 3 images" in made.err
    done = run("score", "a.json", "-r", "refs.json", "-m", "cider_d(df=own.df)", "--format", "json")
    assert done.json["scores"]["cider_d(df=own.df)"] == pytest.approx(expected("cider_d")["cider_d"], abs=1e-12)
    assert run("df", "refs.json", "-o", "stems.df", "--stem", "-n", "2").code == 0
    unfit = run("score", "a.json", "-r", "refs.json", "-m", "cider_d(df=stems.df)")
    assert unfit.code == 1
    assert "does not fit cider_d" in unfit.err


def test_join(run: Run, folder: Path) -> None:
    for image in ("1", "2", "3"):
        (folder / f"{image}.json").write_text(json.dumps(rows({int(image): CAPTIONS[int(image)]})))
        arguments = ["score", f"{image}.json", "-r", "refs.json", "-m", "bleu", "-m", "cider_d(df=coco-val2014)"]
        assert run(*arguments, "--save", f"{image}.npz").code == 0
    done = run("join", "1.npz", "2.npz", "3.npz", "--format", "json", "--per-caption", "each.jsonl", "--intervals")
    assert done.json["n"] == 3
    assert done.json["scores"] == pytest.approx(expected("bleu", "cider_d(df=coco-val2014)"), abs=1e-12)
    assert set(done.json["intervals"]) == set(done.json["scores"])
    assert len((folder / "each.jsonl").read_text().splitlines()) == 3
    twice = run("join", "1.npz", "1.npz")
    assert twice.code == 1
    assert "in several parts" in twice.err


def test_compare(run: Run) -> None:
    arguments = ["compare", "a.json", "b.json", "-r", "refs.json", "-m", "rouge_l", "--resamples", "199"]
    done = run(*arguments, "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert list(done.json) == ["schema", "n", "comparisons", "signatures"]
    found = done.json["comparisons"]["rouge_l"]
    assert list(found) == ["a", "b", "difference", "low", "high", "p_bootstrap", "p_permutation"]
    assert found["a"] == expected("rouge_l")["rouge_l"]
    assert found["b"] == expected("rouge_l", captions=WORSE)["rouge_l"]
    assert 0 < found["p_permutation"] <= 1
    row = next(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").out)))
    assert float(row["difference"]) == found["difference"]
    table = run(*arguments)
    assert "3 captions of each system" in table.err
    assert f"{found['difference']:.4f}" in table.out


def test_list(run: Run) -> None:
    done = run("list", "--format", "json")
    found = {row["metric"]: row for row in done.json}
    assert found["bleu"]["scores"] == "bleu_1 bleu_2 bleu_3 bleu_4"
    assert found["cider_d"]["parameters"] == "n=4, df=corpus, stem=false, sigma=6.0"
    assert "Papineni" in found["bleu"]["citation"]
    assert "rouge_l" in run("list").out
    assert run("list", "--format", "csv").out.startswith("metric,scores,parameters")


def test_version_and_help(run: Run) -> None:
    version = run("--version")
    assert version.code == 0
    assert version.out.startswith(f"capeval {capeval.__version__} (")
    for option in ("-h", "--help"):
        done = run(option)
        assert done.code == 0
        assert all(command in done.out for command in COMMANDS)
    for command in COMMANDS:
        assert run(command, "--help").out.startswith(f"Usage: capeval {command}")


def test_an_unknown_engine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_ENGINE", "rust")
    done = run("score", "a.json", "-r", "refs.json", "-m", "bleu")
    assert done.code == 1
    assert "it must be one of: python, compiled" in done.err


# What only a process of its own can show.

COMMAND = [sys.executable, "-c", "from capeval.cli import main; main()"]


def start(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], timeout=60, **options)


def test_as_a_process(folder: Path) -> None:
    arguments = ["score", "-", "-r", "refs.json", "-m", "bleu", "--format", "json"]
    done = start(*arguments, input=json.dumps(rows(CAPTIONS)).encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["scores"] == expected("bleu")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_text_that_the_terminal_cannot_show_does_not_break_it(folder: Path, encoding: str) -> None:
    done = start(
        "tokenize",
        "-",
        input="a café 犬\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.stderr == b""
    assert done.returncode == 0
    assert done.stdout.decode("utf-8") == "a café 犬\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes work differently here")
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_reader_that_goes_away_is_no_traceback(folder: Path, form: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = start(
            "score", "a.json", "-r", "refs.json", "-m", "bleu", "--format", form, stdout=writer, stderr=subprocess.PIPE
        )
    finally:
        os.close(writer)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    assert done.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["--per-caption", "--save"])
def test_a_full_disk_is_no_traceback(folder: Path, option: str) -> None:
    done = start("score", "a.json", "-r", "refs.json", "-m", "bleu", option, "/dev/full", capture_output=True)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"No space left on device" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_standard_output_is_no_traceback(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = start(
            "score", "a.json", "-r", "refs.json", "-m", "bleu", "--format", "csv", stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
