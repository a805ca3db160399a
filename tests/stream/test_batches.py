"""`capeval.score_stream`: batches in, the same batches with scores out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stream_maker as maker

import capeval
from capeval.errors import CapevalError, DataError

pa = pytest.importorskip("pyarrow")

METRICS = ["bleu", "rouge_l", "cider_d(df=coco-val2014)"]


@pytest.fixture
def table() -> Any:
    return pa.Table.from_pylist(maker.made_rows(60))


def whole(table: Any, metrics: list[str] = METRICS) -> capeval.Result:
    return capeval.score(table["caption"].to_pylist(), table["references"].to_pylist(), metrics)


def test_scores_are_those_of_scoring_all_together(table: Any) -> None:
    found = pa.Table.from_batches(capeval.score_stream(table.to_batches(max_chunksize=7), METRICS))
    assert found.select(table.column_names).equals(table)
    for name, values in whole(table).per_caption.items():
        np.testing.assert_allclose(found[name].to_numpy(), values, rtol=0, atol=1e-12)


def test_what_comes_back_is_of_the_kind_that_went_in(table: Any) -> None:
    (batch,) = capeval.score_stream(table.to_batches(), "rouge_l")
    (same,) = capeval.score_stream([table], "rouge_l")
    (columns,) = capeval.score_stream([table.to_pydict()], "rouge_l")
    assert isinstance(batch, pa.RecordBatch)
    assert isinstance(same, pa.Table)
    assert columns["rouge_l"] == same["rouge_l"].to_pylist() == batch["rouge_l"].to_pylist()


def test_nothing_is_read_before_it_is_asked_for(table: Any) -> None:
    taken = []

    def batches() -> Any:
        for batch in table.to_batches(max_chunksize=10):
            taken.append(batch)
            yield batch

    stream = capeval.score_stream(batches(), "rouge_l")
    assert not taken
    next(stream)
    assert len(taken) == 1


def test_filter_references_and_columns(table: Any) -> None:
    references = {row["image_id"]: row["references"] for row in table.to_pylist()}
    renamed = table.select(["image_id", "caption"]).rename_columns(["url", "alt"])
    columns = {"caption": "alt", "image": "url"}
    (found,) = capeval.score_stream(
        [renamed], "rouge_l", references=references, columns=columns, filter="rouge_l > 0.3"
    )
    values = whole(table, ["rouge_l"]).per_caption["rouge_l"]
    assert found["url"].to_pylist() == [f"image{i}" for i in np.flatnonzero(values > 0.3)]


def test_rows_that_cannot_be_scored(table: Any) -> None:
    broken = table.set_column(1, "caption", pa.array([None, *table["caption"].to_pylist()[1:]]))
    (found,) = capeval.score_stream([broken], "rouge_l")
    assert found["rouge_l"].null_count == 1
    with pytest.raises(DataError, match="row 60 cannot be scored: `caption` is null"):
        list(capeval.score_stream([table, broken], "rouge_l", on_error="fail"))


def test_what_is_refused(table: Any) -> None:
    with pytest.raises(DataError, match="weighs n-grams by the images scored together"):
        capeval.score_stream([table], "cider_d")
    with pytest.raises(CapevalError, match="on_error is 'ignore'"):
        capeval.score_stream([table], "rouge_l", on_error="ignore")
    with pytest.raises(DataError, match="there is a column 'rouge_l' already"):
        list(capeval.score_stream(capeval.score_stream([table], "rouge_l"), "rouge_l"))
    with pytest.raises(DataError, match="there is no column `caption` or `candidate`"):
        list(capeval.score_stream([table.select(["references"])], "rouge_l"))


def test_pictures_in_rows_as_bytes_and_as_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models")
    from capeval.io.shipped import shipped

    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path))
    folder = shipped("demo") / "pictures"
    captions = json.loads((shipped("demo") / "pictures_captions.json").read_text())[:2]
    names = [f"{row['image_id']}.jpg" for row in captions]
    texts = [row["caption"] for row in captions]
    wanted = capeval.score(
        [{"image_id": row["image_id"], "caption": row["caption"]} for row in captions], metrics=["uice_sem"],
        images=folder,
    )  # fmt: skip
    expected = wanted.per_caption["uice_sem"]
    as_bytes = pa.table({
        "caption": [*texts, "a dog"], "jpg": [*((folder / name).read_bytes() for name in names), b"no picture"],
    })  # fmt: skip
    (found,) = capeval.score_stream([as_bytes], "uice_sem")
    np.testing.assert_allclose(found["uice_sem"].to_pylist()[:2], expected, rtol=0, atol=1e-12)
    assert found["uice_sem"].to_pylist()[2] is None
    as_paths = pa.table({"caption": texts, "path": names})
    (found,) = capeval.score_stream([as_paths], "uice_sem", images=folder)
    np.testing.assert_allclose(found["uice_sem"].to_pylist(), expected, rtol=0, atol=1e-12)
    as_objects = pa.table({
        "caption": texts, "image": [{"bytes": (folder / name).read_bytes(), "path": name} for name in names],
    })  # fmt: skip
    (found,) = capeval.score_stream([as_objects], "uice_sem")
    np.testing.assert_allclose(found["uice_sem"].to_pylist(), expected, rtol=0, atol=1e-12)
