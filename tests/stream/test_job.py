"""Shards into a folder: the scores of scoring in one piece, resumed, filtered, and honest about what is wrong."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stream_maker as maker

from capeval.errors import CapevalError, DataError, UnknownName
from capeval.evaluate import evaluate
from capeval.results import Result
from capeval.stream.job import Done, score_shards
from capeval.stream.local import Local
from capeval.stream.work import Job
from capeval.types import Dataset, Sample

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.parquet as pq


def job(output: Path, metrics: tuple[str, ...] = maker.METRICS, **more: Any) -> Job:
    return Job(metrics, str(output), **more)


def scored(shards: list[str], output: Path, cores: int = 1, **more: Any) -> Done:
    return score_shards(shards, job(output, **more), Local(cores))


def in_one_piece(rows: list[dict[str, Any]], metrics: tuple[str, ...] = maker.METRICS) -> Result:
    samples = [Sample(str(i), r["image_id"], r["caption"], tuple(r["references"])) for i, r in enumerate(rows)]
    return evaluate(Dataset.from_samples(samples), metrics)


def table(folder: Path) -> dict[str, list[Any]]:
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]).to_pydict()


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return maker.made_rows(230, images=90)


@pytest.mark.parametrize("count", [1, 4])
def test_scores_signatures_and_rows_are_those_of_one_piece(
    tmp_path: Path, rows: list[dict[str, Any]], count: int
) -> None:
    """With CIDEr's frequencies of all shards together, though images have rows in several shards."""
    shards = maker.write_shards(tmp_path / "in", rows, count)
    done = scored(shards, tmp_path / "out")
    whole = in_one_piece(rows)
    assert done.document.scores == whole.scores
    assert done.document.signatures == whole.signatures
    found = table(tmp_path / "out")
    assert found["caption"] == [row["caption"] for row in rows]
    assert found["width"] == [row["width"] for row in rows]
    for name, values in whole.per_caption.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-12)


def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 3)
    scored(shards, tmp_path / "one", metrics=("rouge_l",))
    scored(shards, tmp_path / "two", cores=2, metrics=("rouge_l",))
    assert maker.contents(tmp_path / "one") == maker.contents(tmp_path / "two")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "tar"])
def test_every_form_gives_the_same_scores(tmp_path: Path, rows: list[dict[str, Any]], ending: str) -> None:
    if ending == "csv":
        rows = [{**row, "references": row["references"][:1]} for row in rows]
    shards = maker.write_shards(tmp_path / "in", rows, 2, ending)
    done = scored(shards, tmp_path / "out", metrics=("rouge_l",))
    assert done.document.scores == in_one_piece(rows, ("rouge_l",)).scores
    assert sorted(path.name for path in (tmp_path / "out").glob(f"0*.{ending}")) == [f"000.{ending}", f"001.{ending}"]


def test_intervals_are_near_those_of_drawing_images(tmp_path: Path) -> None:
    rows = maker.made_rows(4000, seed=5)
    done = scored(maker.write_shards(tmp_path / "in", rows, 2), tmp_path / "out", metrics=("bleu_1", "rouge_l"))
    for name, (low, high) in in_one_piece(rows, ("bleu_1", "rouge_l")).intervals().items():
        assert done.document.intervals is not None
        ours = done.document.intervals[name]
        assert ours.high - ours.low == pytest.approx(high - low, rel=0.2)
        assert ours.low == pytest.approx(low, abs=0.25 * (high - low))


def test_finished_shards_are_not_done_again(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 3)
    out = tmp_path / "out"
    scored(shards, out, metrics=("rouge_l",))
    first = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    before = maker.contents(out)
    (out / "001.parquet").unlink()
    (out / "manifest.json").unlink()
    scored(shards, out, metrics=("rouge_l",))
    assert maker.contents(out) == before
    assert {path.name for path in out.glob("*.parquet") if path.stat().st_mtime_ns != first[path.name]} == {
        "001.parquet"
    }


def test_a_shard_that_changed_is_done_again_and_new_ones_are_added(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 3)
    scored(shards[:2], tmp_path / "out", metrics=("rouge_l",))
    changed = maker.made_rows(20, seed=9)
    maker.write_parquet(Path(shards[0]), changed)
    done = scored(shards, tmp_path / "out", metrics=("rouge_l",))
    size = -(-len(rows) // 3)
    assert done.document.scores == in_one_piece(changed + rows[size:], ("rouge_l",)).scores


def test_other_metrics_score_all_shards_again(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 2)
    scored(shards, tmp_path / "out", metrics=("rouge_l",))
    done = scored(shards, tmp_path / "out", metrics=("bleu_1",))
    assert list(done.document.scores) == ["bleu_1"]
    assert "rouge_l" not in table(tmp_path / "out")


def test_a_filter_writes_only_what_passes(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 3)
    text = "rouge_l > 0.3 and length < 6 and language == 'en'"
    done = scored(shards, tmp_path / "out", metrics=("rouge_l",), filter=text)
    values = in_one_piece(rows, ("rouge_l",)).per_caption["rouge_l"]
    wanted = [
        row["width"]
        for row, value in zip(rows, values)
        if value > 0.3 and len(row["caption"].split()) < 6 and row["language"] == "en"
    ]
    assert 0 < len(wanted) < len(rows)
    assert table(tmp_path / "out")["width"] == wanted
    assert done.manifest["rows"] == {"read": 230, "scored": 230, "failed": 0, "written": len(wanted)}
    assert done.document.scores == in_one_piece(rows, ("rouge_l",)).scores  # of all rows


@pytest.mark.parametrize("cores", [1, 2])
def test_the_best_share_by_one_threshold_over_all_shards(
    tmp_path: Path, rows: list[dict[str, Any]], cores: int
) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 3)
    more: dict[str, Any] = {"metrics": ("bleu_1", "rouge_l"), "top": 0.3, "by": "rouge_l", "filter": "length > 2"}
    done = scored(shards, tmp_path / "out", cores, **more)
    values = in_one_piece(rows, ("rouge_l",)).per_caption["rouge_l"]
    passing = [i for i, row in enumerate(rows) if len(row["caption"].split()) > 2]
    best = sorted((values[i] for i in passing), reverse=True)[math.ceil(0.3 * len(passing)) - 1]
    assert table(tmp_path / "out")["width"] == [rows[i]["width"] for i in passing if values[i] >= best]
    assert done.manifest["top"] == {"share": 0.3, "by": "rouge_l", "at_least": best, "of": len(passing)}
    before = maker.contents(tmp_path / "out")
    scored(shards, tmp_path / "out", cores, **more)  # all is there
    assert maker.contents(tmp_path / "out") == before


def test_rows_that_fail_are_named_and_keep_their_place(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows[7]["caption"] = None
    rows[100]["references"] = []
    rows[101]["references"] = ["a dog", None]
    shards = maker.write_shards(tmp_path / "in", rows, 2)
    done = scored(shards, tmp_path / "out", metrics=("rouge_l",))
    assert done.manifest["rows"] == {"read": 230, "scored": 227, "failed": 3, "written": 230}
    listed = [json.loads(line) for line in (tmp_path / "out" / "failures.jsonl").read_text().splitlines()]
    assert listed == done.manifest["failures"]["first"]
    assert [(each["shard"], each["row"], each["reason"]) for each in listed] == [
        ("000.parquet", 7, "`caption` is null, not a text"),
        ("000.parquet", 100, "it has no references"),
        ("000.parquet", 101, "one of its `references` is null, not a text"),
    ]
    found = table(tmp_path / "out")
    assert len(found["caption"]) == 230
    assert [i for i, value in enumerate(found["rouge_l"]) if value is None] == [7, 100, 101]
    with pytest.raises(DataError, match=r"000\.parquet: row 7 cannot be scored: `caption` is null"):
        scored(shards, tmp_path / "strict", metrics=("rouge_l",), on_error="fail")
    assert not list((tmp_path / "strict").glob("*.parquet"))


def test_what_is_wrong_with_a_shard_does_not_touch_the_others(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """Cut short, no Parquet at all, without the column, with a column of another type."""
    shards = maker.write_shards(tmp_path / "in", rows, 6)
    broken = Path(shards[1]).read_bytes()
    Path(shards[1]).write_bytes(broken[: len(broken) // 2])
    Path(shards[2]).write_bytes(b"this is no Parquet")
    maker.write_parquet(Path(shards[3]), [{"image_id": "x", "words": "a dog", "references": ["a dog"]}])
    maker.write_parquet(Path(shards[4]), [{"image_id": "x", "caption": 7, "references": ["a dog"]}])
    done = scored(shards, tmp_path / "out", metrics=("rouge_l",))
    assert [each["name"] for each in done.manifest["shards"]] == ["000.parquet", "005.parquet"]
    assert [each["source"] for each in done.manifest["problems"]] == shards[1:5]
    cut, other, lacking, typed = (each["problem"] for each in done.manifest["problems"])
    assert "not a readable Parquet file" in cut
    assert "not a readable Parquet file" in other
    assert "there is no column `caption`" in lacking
    assert "The columns there are: image_id, words, references" in lacking
    assert "not one row can be scored. The first: `caption` is a number, not a text" in typed
    Path(shards[1]).write_bytes(broken)
    again = scored([shards[0], shards[1], shards[5]], tmp_path / "out", metrics=("rouge_l",))
    assert not again.problems
    size = -(-len(rows) // 6)
    assert again.document.scores == in_one_piece(rows[: 2 * size] + rows[5 * size :], ("rouge_l",)).scores


def test_columns_that_no_metric_reads_may_differ(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    maker.write_parquet(tmp_path / "a.parquet", rows[:50])
    maker.write_parquet(tmp_path / "b.parquet", [{**row, "more": [1, 2]} for row in rows[50:]])
    done = scored([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")], tmp_path / "out", metrics=("rouge_l",))
    assert not done.problems
    assert "more" in pq.read_schema(tmp_path / "out" / "b.parquet").names


FULL = """
import resource, sys
from capeval.errors import DataError
from capeval.stream.job import score_shards
from capeval.stream.local import Local
from capeval.stream.work import Job
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    score_shards(sys.argv[3:], Job(("rouge_l",), sys.argv[2]), Local(1))
except DataError as problem:
    sys.exit(str(problem))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit to the size of files to run into")
def test_a_full_disk_stops_the_job_and_loses_nothing(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 2)
    maker.write_parquet(Path(shards[1]), maker.made_rows(20_000, images=20, seed=4))
    run = [sys.executable, "-c", FULL, "40000", str(tmp_path / "out"), *shards]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 1
    assert "001.parquet: cannot be written: " in done.stderr
    assert "Shards that are complete stay; the same command goes on with the others" in done.stderr
    assert {path.name for path in (tmp_path / "out").glob("*") if path.is_file()} == {"000.parquet"}
    scored(shards, tmp_path / "whole", metrics=("rouge_l",))
    scored(shards, tmp_path / "out", metrics=("rouge_l",))
    assert maker.contents(tmp_path / "out") == maker.contents(tmp_path / "whole")


def test_what_a_killed_run_left_is_cleared(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 2)
    out = tmp_path / "out"
    (out / ".capeval").mkdir(parents=True)
    for leftover in (out / ".000.parquet.1-ab.capeval-tmp", out / ".capeval" / ".000.parquet.json.1-ab.capeval-tmp"):
        leftover.write_bytes(b"half")
    (out / ".capeval" / "000.parquet.json").write_bytes(b"{")
    scored(shards, out, metrics=("rouge_l",))
    assert not list(out.rglob("*.capeval-tmp"))


def test_what_a_lost_worker_left_is_cleared_too(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 2)

    class Losing(Local):
        def run(self, *arguments: Any) -> Iterator[Any]:
            (tmp_path / "out" / ".000.parquet.2-cd.capeval-tmp").write_bytes(b"half")
            yield from super().run(*arguments)

    score_shards(shards, job(tmp_path / "out", ("rouge_l",)), Losing(1))
    assert not list((tmp_path / "out").rglob("*.capeval-tmp"))


def test_two_jobs_do_not_write_into_one_folder(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    from capeval.io.locks import locked

    shards = maker.write_shards(tmp_path / "in", rows, 1)
    (tmp_path / "out" / ".capeval").mkdir(parents=True)
    with (
        locked(tmp_path / "out" / ".capeval" / "job"),
        pytest.raises(DataError, match="another process is writing to it"),
    ):
        scored(shards, tmp_path / "out", metrics=("rouge_l",))


def test_references_by_image_and_metrics_that_need_none(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    references = {row["image_id"]: row["references"] for row in rows}
    (tmp_path / "refs.json").write_text(json.dumps(references))
    bare = [{"image_id": row["image_id"], "caption": row["caption"]} for row in rows]
    bare.append({"image_id": "unknown", "caption": "a dog"})
    shards = maker.write_shards(tmp_path / "in", bare, 2)
    more: dict[str, Any] = {"metrics": ("rouge_l", "cider_d"), "references": (str(tmp_path / "refs.json"),)}
    done = scored(shards, tmp_path / "out", **more)
    assert done.document.scores == in_one_piece(rows, ("rouge_l", "cider_d")).scores
    assert done.manifest["failures"]["reasons"] == {"there are no references for the image 'unknown'": 1}
    with pytest.raises(DataError, match="there is no column of references"):
        scored(shards, tmp_path / "without", metrics=("rouge_l",), on_error="fail")


def test_wrong_wishes_are_refused_before_anything_is_read(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 1)
    with pytest.raises(DataError, match="would be written over those that are read"):
        scored(shards, tmp_path / "in", metrics=("rouge_l",))
    with pytest.raises(UnknownName, match=r"unknown score to choose the best by 'rouge'\. Did you mean rouge_l"):
        scored(shards, tmp_path / "out", metrics=("rouge_l",), top=0.5, by="rouge")
    with pytest.raises(CapevalError, match="ends too early"):
        scored(shards, tmp_path / "out", metrics=("rouge_l",), filter="rouge_l >")
    with pytest.raises(DataError, match=r"shards are \.parquet"):
        scored([str(tmp_path / "x.json")], tmp_path / "out", metrics=("rouge_l",))
    shutil.copytree(tmp_path / "in", tmp_path / "in2")
    with pytest.raises(DataError, match="two shards have the same name"):
        scored([*shards, str(tmp_path / "in2" / "000.parquet")], tmp_path / "out", metrics=("rouge_l",))
    assert not (tmp_path / "out").exists()


def test_a_name_in_the_filter_that_nothing_has(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    shards = maker.write_shards(tmp_path / "in", rows, 1)
    with pytest.raises(CapevalError, match=r"unknown name in the filter 'widht'\. Did you mean width"):
        scored(shards, tmp_path / "out", metrics=("rouge_l",), filter="widht > 3")


def test_a_metric_that_one_row_spoils(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """What a metric cannot take is found by halving, and is that row's failure alone."""
    from dataclasses import dataclass
    from typing import ClassVar

    from capeval.corpus import Corpus
    from capeval.stream.block import block_of
    from capeval.stream.forms.parquet import ArrowRows
    from capeval.stream.names import Names
    from capeval.stream.scorer import Scorer
    from capeval.types import Array, Info, Metric

    @dataclass(frozen=True)
    class Picky(Metric):
        info: ClassVar[Info] = Info("picky", ("picky",), "refuses two captions", "nobody", needs=())

        def stats(self, corpus: Corpus) -> Array:
            if {"bad", "worse"} & set(corpus.dataset.candidates):
                raise ZeroDivisionError("not this caption")
            return np.array([[len(text)] for text in corpus.dataset.candidates], np.float64)

        def per_sample(self, stats: Array) -> Array:
            return stats

    captions = ["a", "bb", "bad", "dddd", "eeeee", "worse", "ggggggg"]
    scorer = Scorer([Picky()])
    batch = pa.table({"caption": captions})
    names = Names().found_in(batch.schema.names)
    found = scorer.score(block_of(ArrowRows(batch), names, needs_references=False))
    assert found.failures == {2: "not this caption", 5: "not this caption"}
    np.testing.assert_array_equal(found.columns["picky"], [1, 2, np.nan, 4, 5, np.nan, 7])
