"""A benchmark of the user's own, from a JSONL file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from capeval.bench import Pairs, Ratings, Settings, load, run
from capeval.bench.registry import benchmark
from capeval.cli import cli
from capeval.cli.remedies import in_words
from capeval.errors import CapevalError, DataError

QUICK = Settings(resamples=20)
RATINGS: list[dict[str, Any]] = [
    {
        "id": "a",
        "image": "1.jpg",
        "candidate": "a dog runs",
        "references": ["a dog is running"],
        "score": 5,
        "votes": 3,
    },
    {"id": "b", "image": "1.jpg", "candidate": "a cat", "references": ["a dog is running"], "score": 1.5, "votes": 3},
    {"id": "c", "image": "2.jpg", "candidate": "two cars", "references": ["two red cars"], "score": 4, "votes": 2},
    {"id": 7, "image": 3, "candidate": "a tree", "references": ["a car"], "score": 0, "votes": 3},
]
PAIRS: list[dict[str, Any]] = [
    {"id": "p", "positive": "a dog runs", "negative": "a cat runs", "kind": "object", "references": ["a dog running"]},
    {"id": "q", "positive": "a red car", "negative": "a blue car", "kind": "colour", "references": ["the red car"]},
]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, arguments)])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return write(tmp_path / "mine.jsonl", RATINGS)


def test_ratings(mine: Path) -> None:
    found = load(str(mine), human="score")
    assert isinstance(found, Ratings)
    assert found.human[:, 0].tolist() == [5, 1.5, 4, 0]
    assert found.dataset.ids == ["a", "b", "c", "7"]
    assert found.dataset.images == ["1.jpg", "1.jpg", "2.jpg", "3"]
    assert found.dataset[2].references == ("two red cars",)
    data = run(str(mine), ["bleu_1", "rouge_l"], human="votes", settings=QUICK).to_dict()
    assert (data["benchmark"], data["human"], data["rows"]) == ("mine.jsonl", "votes", 4)


def test_on_the_command_line(mine: Path) -> None:
    done = call("run", mine, "--human", "score", "-m", "bleu_1", "--format", "json", "--resamples", "20")
    (row,) = json.loads(done.stdout)["metrics"]
    (same,) = run(str(mine), "bleu_1", human="score", settings=QUICK).to_dict()["metrics"]
    assert row["kendall_b"] == same["kendall_b"]
    rows = [json.loads(line) for line in call("rows", mine, "--human", "score").stdout.splitlines()]
    assert [row["id"] for row in rows] == ["a", "b", "c", "7"]
    assert call("run", mine, "--human", "score", "-m", "bleu_1").exit_code == 0
    over = call("run", mine, "--human", "score", "-m", "bleu_1", "--json", mine)
    assert over.exit_code != 0
    assert json.loads(mine.read_text().splitlines()[0]) == RATINGS[0]


def test_the_only_number_needs_no_name(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "votes"} for row in reversed(RATINGS)]
    path = write(tmp_path / "mine.jsonl", rows)
    found = load(str(path))
    assert isinstance(found, Ratings)
    assert found.human[:, 0].tolist() == [0, 4, 1.5, 5]


def test_several_numbers_need_a_name(mine: Path) -> None:
    with pytest.raises(DataError, match=r"these fields are numbers: score, votes\. Name it as `human`") as problem:
        load(str(mine))
    assert in_words(problem.value).endswith("Name it with --human")


def test_pairs_packed(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, PAIRS)).encode()))
    found = load(str(path))
    assert isinstance(found, Pairs)
    assert found.categories == ["object", "colour"]
    assert found.images == ["p", "q"]
    (row,) = run(str(path), "bleu_1", settings=QUICK).to_dict()["metrics"]
    assert (row["object"]["value"], row["colour"]["value"], row["mean"]["value"]) == (100, 100, 100)
    with pytest.raises(CapevalError, match="in one way only"):
        load(str(path), human="score")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the file is empty"),
        (["{"], "line 1: broken JSON"),
        (["[1]"], "line 1: a JSON object is needed, not a list"),
        ([RATINGS[0], "", RATINGS[0]], "line 3: the id 'a' is in line 1 already"),
        ([{"image": "1.jpg"}], "line 1: `id` must be a text, and the line has no such field"),
        ([{"id": "a", "score": 1}], "neither ratings, which need `candidate`, nor pairs"),
        ([RATINGS[0], {"id": "b", "score": 1}], "line 2: `candidate` must be a text"),
        ([RATINGS[0] | {"references": "a dog"}], 'line 1: `references` must be a list of captions, and it is "a dog"'),
        ([RATINGS[0], RATINGS[1] | {"score": "high"}], 'line 2: `score` must be a number, and it is "high"'),
        ([RATINGS[0], RATINGS[1] | {"score": None}], "line 2: `score` must be a number, and it is null"),
        ([RATINGS[0] | {"score": True}], "line 1: `score` must be a number, and it is true"),
        (['{"id": "a", "candidate": "x", "score": NaN}'], "line 1: `score` must be a number"),
        ([PAIRS[0] | {"negative": 3}], "line 1: `negative` must be a text, and it is 3"),
        ([PAIRS[0], {"id": "x", "positive": "y"}], "line 2: `negative` must be a text"),
    ],
)
def test_wrong_lines_are_told(tmp_path: Path, rows: list[Any], message: str) -> None:
    path = write(tmp_path / "mine.jsonl", rows)
    human = None if rows and isinstance(rows[0], dict) and "positive" in rows[0] else "score"
    with pytest.raises(DataError) as problem:
        load(str(path), human=human)
    assert message in str(problem.value)
    assert str(path) in str(problem.value)


def test_an_unknown_field_and_a_missing_file(mine: Path) -> None:
    with pytest.raises(DataError, match="`grade` must be a number, and the line has no such field"):
        load(str(mine), human="grade")
    with pytest.raises(DataError, match="there is no such file"):
        load(str(mine.parent / "other.jsonl"))


def test_pictures_lie_where_the_rows_say(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/1.png", "2.webp"):
        (tmp_path / name).touch()
    pictures = benchmark("mine.jsonl").pictures
    assert pictures(tmp_path, "in/1.png") == tmp_path / "in/1.png"
    assert pictures(tmp_path, "2.jpg") == tmp_path / "2.webp"
    assert pictures(tmp_path, "3") is None
