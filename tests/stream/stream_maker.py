"""Shards of made-up captions, in every form."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = [
    "a", "the", "man", "dog", "red", "runs", "on", "beach", "with", "ball", "two", "people", "green", "park", "big",
]  # fmt: skip
METRICS = ("bleu", "rouge_l", "cider_d")


def made_rows(count: int, *, images: int | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with 1 to 5 references; rows of the same image have the same ones."""
    draw = np.random.default_rng(seed)

    def caption() -> str:
        return " ".join(draw.choice(WORDS, int(draw.integers(1, 12))))

    references = [[caption() for _ in range(int(draw.integers(1, 6)))] for _ in range(images or count)]
    return [
        {"image_id": f"image{i % len(references)}", "caption": caption(), "references": references[i % len(references)],
         "width": 100 + i, "language": "en" if i % 3 else "de"}
        for i in range(count)
    ]  # fmt: skip


def write_parquet(path: Path, rows: Sequence[dict[str, Any]], **columns: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(list(rows), **columns), path)
    return path


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A cell holds one reference."""
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows({**row, "references": row["references"][0]} for row in rows)
    return path


def write_tar(path: Path, rows: Sequence[dict[str, Any]], pictures: Sequence[bytes] = ()) -> Path:
    with tarfile.open(path, "w") as archive:

        def add(name: str, data: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))

        for i, row in enumerate(rows):
            others = {name: value for name, value in row.items() if name != "caption"}
            add(f"{i:06d}.json", json.dumps(others).encode())
            add(f"{i:06d}.txt", row["caption"].encode())
            if pictures:
                add(f"{i:06d}.jpg", pictures[i % len(pictures)])
    return path


def write_shards(folder: Path, rows: Sequence[dict[str, Any]], count: int, ending: str = "parquet") -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    writers = {"parquet": write_parquet, "jsonl": write_jsonl, "csv": write_csv, "tar": write_tar}
    size = -(-len(rows) // count)
    parts = [rows[begin : begin + size] for begin in range(0, len(rows), size)]
    return [str(writers[ending](folder / f"{i:03d}.{ending}", part)) for i, part in enumerate(parts)]


def contents(folder: Path) -> dict[str, bytes]:
    """The files that a job has made for its user."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
