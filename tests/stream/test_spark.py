"""The recipe of docs/scale.md for Spark, where pyspark and Java are installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stream_maker as maker

import capeval

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Spark's own
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
]


def test_batches_in_a_map_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    def scored(batches: Iterator[Any]) -> Iterator[Any]:  # in here, since Spark's workers cannot import this file
        from capeval import score_stream

        yield from score_stream(batches, ["rouge_l"], threads=1)

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    rows = maker.made_rows(60)
    maker.write_shards(tmp_path / "in", rows, 2)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.read.parquet(str(tmp_path / "in"))
        found = frame.mapInArrow(scored, StructType([*frame.schema]).add("rouge_l", "double")).collect()
    finally:
        spark.stop()
    whole = capeval.score([row["caption"] for row in rows], [row["references"] for row in rows], metrics=["rouge_l"])
    expected = sorted(zip((row["width"] for row in rows), whole.per_caption["rouge_l"].tolist(), strict=True))
    assert sorted((row["width"], row["rouge_l"]) for row in found) == expected
