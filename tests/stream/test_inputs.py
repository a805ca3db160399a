"""Shards as others make them: their column names, their folders, and metrics that fit what is there."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import stream_maker as maker

import capeval
from capeval.errors import DataError
from capeval.io.shipped import shipped
from capeval.stream.job import Done, score_shards
from capeval.stream.local import Local
from capeval.stream.names import Names
from capeval.stream.work import Job

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.parquet as pq


def scored(shards: list[str], output: Path, *metrics: str, **more: Any) -> Done:
    return score_shards(shards, Job(metrics, str(output), **more), Local(1))


@pytest.mark.parametrize(
    ("header", "binary", "expected"),
    [
        pytest.param(
            ["uid", "url", "text", "original_width", "clip_b32_similarity_score", "sha256"], [],
            Names("text", "", "uid", ""), id="DataComp",
        ),
        pytest.param(["SAMPLE_ID", "URL", "TEXT", "similarity"], [], Names("TEXT", "", "SAMPLE_ID"), id="LAION"),
        pytest.param(
            ["url", "caption", "key", "status", "error_message", "width", "exif", "sha256", "jpg"], ["jpg"],
            Names("caption", "", "key", "jpg"), id="img2dataset, Parquet",
        ),
        pytest.param(
            ["__key__", "caption", "url", "key", "status", "txt", "jpg"], ["jpg"],
            Names("caption", "", "__key__", "jpg"), id="img2dataset, webdataset",
        ),
        pytest.param(["Image", "Caption"], ["Image"], Names("Caption", "", "", "Image"), id="pictures in Image"),
        pytest.param(["image", "Text", "text"], [], Names("text", "", "image"), id="the name as it is goes first"),
    ],
)  # fmt: skip
def test_columns_by_the_names_that_others_give_them(header: list[str], binary: list[str], expected: Names) -> None:
    assert Names().found_in(header, binary) == expected


def img2dataset(folder: Path) -> None:
    """A folder as img2dataset leaves it: tars of pictures, a table of all downloads beside each, and counts."""
    demo = shipped("demo")
    captions = json.loads((demo / "pictures_captions.json").read_text())[:3]
    folder.mkdir()
    rows = []
    with tarfile.open(folder / "00000.tar", "w") as archive:
        for i, row in enumerate(captions):
            key = f"00000{i:04d}"
            facts = {"caption": row["caption"], "url": f"http://host/{i}.jpg", "key": key, "status": "success",
                     "error_message": None, "width": 256, "height": 256, "exif": "{}"}  # fmt: skip
            rows.append(facts)
            picture = (demo / "pictures" / f"{row['image_id']}.jpg").read_bytes() if i < 2 else b"no picture"
            parts = {"jpg": picture, "json": json.dumps(facts).encode(), "txt": row["caption"].encode()}
            for ending, data in parts.items():
                info = tarfile.TarInfo(f"{key}.{ending}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    rows.append(dict(rows[0], key="000000009", status="failed_to_download", error_message="404"))
    maker.write_parquet(folder / "00000.parquet", rows)
    (folder / "00000_stats.json").write_text("{}")


def test_a_folder_of_img2dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unified, without the references that nobody has; the row whose picture is none is told."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models_unified")
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    img2dataset(tmp_path / "in")
    done = scored([str(tmp_path / "in/00000.tar")], tmp_path / "out", "unified", filter="unified > 0 and length < 60")
    assert list(done.document.scores) == ["unified(references=none)"]
    assert done.manifest["rows"] == {"read": 3, "scored": 2, "failed": 1, "written": 2}
    assert "not a picture" in done.manifest["failures"]["first"][0]["reason"]
    with tarfile.open(tmp_path / "out/00000.tar") as archive:
        names = archive.getnames()
    assert names[:4] == ["000000000.jpg", "000000000.json", "000000000.txt", "000000000.scores.json"]
    with pytest.raises(DataError, match=r"shards of several forms lie here, parquet and tar\. Name those.*/\*\.tar"):
        scored([str(tmp_path / "in")], tmp_path / "other", "unified")


def test_other_files_in_a_folder_are_no_shards(tmp_path: Path) -> None:
    rows = maker.made_rows(20)
    (tmp_path / "in").mkdir()
    maker.write_parquet(tmp_path / "in" / "0.parquet", rows)
    (tmp_path / "in" / "0_stats.json").write_text("{}")
    done = scored([str(tmp_path / "in")], tmp_path / "out", "rouge_l")
    assert [each["name"] for each in done.manifest["shards"]] == ["0.parquet"]
    (tmp_path / "in" / "0.parquet").unlink()
    with pytest.raises(DataError, match=r"there are no shards in this folder: \.parquet"):
        scored([str(tmp_path / "in")], tmp_path / "out", "rouge_l")


def test_a_metric_is_what_it_is_without_pictures(tmp_path: Path) -> None:
    pytest.importorskip("capeval_models")
    rows = [{"uid": str(i), "text": text} for i, text in enumerate(["a dog runs on the beach", "dog the beach a on"])]
    shard = maker.write_parquet(tmp_path / "0.parquet", rows)
    done = scored([str(shard)], tmp_path / "out", "uice", top=0.5, by="uice_syn")
    assert list(done.document.scores) == ["uice_syn"]
    written = pq.read_table(tmp_path / "out" / "0.parquet")
    assert written.column_names == ["uid", "text", "uice_syn"]
    (batch,) = capeval.score_stream([pa.Table.from_pylist(rows)], "uice")
    assert max(batch["uice_syn"].to_pylist()) == written["uice_syn"][0].as_py()


def test_where_no_shard_can_be_scored_the_reason_is_told(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"this is no Parquet")
    maker.write_parquet(tmp_path / "1.parquet", [{"words": "a dog"}])
    shards = [str(tmp_path / "0.parquet"), str(tmp_path / "1.parquet")]
    with pytest.raises(DataError, match=r"no shard could be scored, of 2\. The first: .*0\.parquet: not a readable"):
        scored(shards, tmp_path / "out", "rouge_l")
