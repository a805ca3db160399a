"""`capeval score shards -o scored/`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from capeval.cli import cli

pytest.importorskip("pyarrow")

ROWS = [
    {"image_id": 1, "caption": "a man rides a bike", "references": ["a person rides a bicycle", "a man on a bike"]},
    {"image_id": 2, "caption": "a dog", "references": ["a dog runs on the beach"]},
    {"image_id": 3, "caption": None, "references": ["a red car"]},
    {"image_id": 4, "caption": "two people in a park", "references": ["two people sit in the green park"]},
]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def score(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["score", *arguments])


def test_rows_with_scores_a_table_and_a_manifest(tmp_path: Path) -> None:
    shard, out = write(tmp_path / "a.jsonl"), tmp_path / "out"
    done = score(shard, "-m", "rouge_l", "-o", str(out), "--intervals", "--format", "json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["n"] == 3
    assert set(shown["scores"]) == set(shown["intervals"]) == {"rouge_l"}
    assert "4 rows read, 3 scored, 4 written" in done.stderr
    assert "1 row could not be scored" in done.stderr
    rows = [json.loads(line) for line in (out / "a.jsonl").read_text().splitlines()]
    assert [{key: row[key] for key in ROWS[0]} for row in rows] == ROWS
    assert [row["rouge_l"] is None for row in rows] == [False, False, True, False]
    assert json.loads((out / "manifest.json").read_text())["scores"] == shown["scores"]


def test_columns_are_named_as_in_other_files(tmp_path: Path) -> None:
    rows = [{"url": row["image_id"], "alt": row["caption"], "gold": row["references"]} for row in ROWS]
    shard = write(tmp_path / "a.jsonl", rows)
    line = (shard, "-m", "rouge_l", "-o", str(tmp_path / "out"), "--id", "url", "--caption", "alt", "-r", "gold")
    done = score(*line)
    assert done.exit_code == 0, done.output
    assert "rouge_l" in done.stdout


def test_a_broken_shard_fails_the_command_after_the_others(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "a.jsonl"), tmp_path / "b.parquet"
    bad.write_bytes(b"PAR1 and then nothing")
    line = [sys.executable, "-m", "capeval", "score", good, str(bad), "-m", "rouge_l", "-o", str(tmp_path / "out")]
    done = subprocess.run([*line, "--threads", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "rouge_l" in done.stdout
    assert "1 of the shards could not be scored; the others are complete" in done.stderr
    assert "b.parquet: not a readable Parquet file" in done.stderr
    assert (tmp_path / "out" / "a.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "OUT"], "Missing option '-m'"),
        (["-m", "rouge_l", "--filter", "rouge_l > 1"], "--filter is for shards"),
        (["-m", "rouge_l", "--top", "0.5"], "--top is for shards"),
        (["-m", "rouge_l", "-o", "OUT", "--by", "rouge_l"], "--by says what --top goes by"),
        (["-m", "rouge_l", "-o", "OUT", "--strict"], "--strict does not go with -o"),
        (["-m", "rouge_l", "-o", "OUT", "--address", "auto"], "give --runner ray too"),
        (["-m", "rouge_l", "-o", "OUT", "--top", "0"], "is not in the range"),
        (["-m", "rouge_l", "-o", "OUT", "-r", "a", "-r", "b"], "a and b are two"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    shard = write(tmp_path / "a.jsonl")
    done = score(shard, *(str(tmp_path / "out") if each == "OUT" else each for each in arguments))
    assert done.exit_code == 2
    assert message in done.output


def test_several_files_need_a_folder(tmp_path: Path) -> None:
    done = score(write(tmp_path / "a.jsonl"), write(tmp_path / "b.jsonl"), "-m", "rouge_l")
    assert done.exit_code == 2
    assert "several files are scored as shards" in done.output


def test_shards_are_not_written_over(tmp_path: Path) -> None:
    done = score(write(tmp_path / "a.jsonl"), "-m", "rouge_l", "-o", str(tmp_path))
    assert done.exit_code == 2
    assert "would write over" in done.output
