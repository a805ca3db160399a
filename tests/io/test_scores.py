"""Scores of captions in files: writing ours, reading others."""

from __future__ import annotations

import csv
import gzip
import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval.errors import MissingExtra
from capeval.io.scores import read_scores, write_rows

ROWS: list[dict[str, Any]] = [
    {"id": "1", "image": "x", "candidate": 'a "dog", é', "scores": {"bleu": np.float64(0.5), "cider": 2}},
    {"id": "2", "image": "x", "candidate": "", "system": "s", "scores": {"bleu": np.float32(0.25), "cider": None}},
]
JSON_ROWS = [
    {"id": "1", "image": "x", "candidate": 'a "dog", é', "scores": {"bleu": 0.5, "cider": 2}},
    {"id": "2", "image": "x", "system": "s", "candidate": "", "scores": {"bleu": 0.25, "cider": None}},
]


def test_jsonl(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", iter(ROWS))
    lines = (tmp_path / "a.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == JSON_ROWS
    assert lines[-1] == ""
    write_rows(tmp_path / "b.jsonl.gz", ROWS)
    assert gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()


def test_json(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", ROWS)
    assert json.loads((tmp_path / "a.json").read_bytes()) == JSON_ROWS
    write_rows(tmp_path / "a.json", [])
    assert json.loads((tmp_path / "a.json").read_bytes()) == []


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_rows("-", ROWS)
    assert [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()] == JSON_ROWS


def test_tables(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", ROWS)
    expected = 'id,image,system,candidate,bleu,cider\n1,x,,"a ""dog"", é",0.5,2.0\n2,x,s,,0.25,\n'
    assert (tmp_path / "a.csv").read_text("utf-8") == expected
    write_rows(tmp_path / "a.tsv", [{**ROWS[0], "system": ""}])
    assert (tmp_path / "a.tsv").read_text("utf-8").split("\n")[0] == "id\timage\tcandidate\tbleu\tcider"


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(tmp_path / "a.parquet", ROWS)
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert list(table) == ["id", "image", "system", "candidate", "bleu", "cider"]
    assert table["cider"] == [2.0, None]
    assert table["system"] == ["", "s"]


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra):
        write_rows(tmp_path / "a.parquet", ROWS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, np.float64("nan")])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_scores_that_are_not_finite(tmp_path: Path, name: str, bad: float) -> None:
    with pytest.raises(ValueError, match="row '9': the score bleu is"):
        write_rows(tmp_path / name, [ROWS[0], {**ROWS[0], "id": "9", "scores": {"bleu": bad, "cider": 0}}])
    assert list(tmp_path.iterdir()) == []


def test_rows_with_different_scores(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="row '1' has the scores"):
        write_rows(tmp_path / "a.csv", [ROWS[0], {**ROWS[0], "scores": {"bleu": 1}}])


def test_long_cells_do_not_touch_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    (tmp_path / "s.csv").write_text(f"id,candidate,m\n1,{'x' * 2 * limit},0.5\n")

    def read(_: int) -> list[float]:
        return list(read_scores(tmp_path / "s.csv", ["1"])["m"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(20))) == [[0.5]] * 20
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error, match="field limit"):
        list(csv.reader(["x" * 2 * limit]))
