"""Judgements in small, in the layout of the files that several benchmarks are read from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

SYSTEMS = ("Human", "Up-Down", "Unified-VLP", "VinVL-base", "VinVL-large")
TEXTS = ("a dog runs", "a brown dog", "a cat on a mat", "two dogs run fast", "the dog is running")
REFERENCES = ["a dog is running", "a brown dog runs on grass"]


def coco(number: int) -> str:
    return f"COCO_val2014_{number:012}.jpg"


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, rows)).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def pair(name: str, kind: str, number: int, references: list[str] = REFERENCES) -> dict[str, Any]:
    texts = {"positive": "a brown dog runs", "negative": "a brown cat runs"}
    return {"id": name, "kind": kind, "image": coco(number), "references": references} | texts


@pytest.fixture
def judgements(tmp_path: Path) -> Path:
    """A root of data with nothing but the folder `judgements`."""
    folder = tmp_path / "judgements"
    grades = {"precision": 4.0, "recall": 3.0, "fluency": -0.0, "conciseness": 0, "inclusive": 0}
    thumb = [
        {"id": f"thumb-{n}-{system}", "image": coco(n), "system": system, "candidate": text, "references": REFERENCES}
        | grades | {"precision": 1.0 + (place + n) % 5, "total": 5.0 - place}
        for n in (1, 2)
        for place, (system, text) in enumerate(zip(SYSTEMS, TEXTS))
    ]  # fmt: skip
    write_lines(folder / "thumb.jsonl.gz", thumb)
    write_lines(folder / "capeval1k.jsonl.gz", [row | {"total": row["total"] / 5} for row in thumb])
    write_lines(folder / "sugarcrepe.jsonl.gz", [pair("s-0", "add_att", 1), pair("s-1", "swap_obj", 2)])
    without = [pair(f"v-{n}", "existence", n, []) for n in (3, 4)]
    write_lines(folder / "valse.jsonl.gz", [pair("v-0", "foil-it", 1), pair("v-1", "foil-it", 2), *without])
    write_lines(folder / "reformulations.jsonl.gz", [pair("r-0", "coco", 1), pair("r-1", "flickr30k", 2)])
    fits = [
        {"id": f"sits-{n}", "image": coco(n), "coco_id": n, "candidate": text, "references": REFERENCES, "score": n}
        for n, text in enumerate(TEXTS)
    ]
    write_lines(folder / "cxc_sits_train.jsonl.gz", fits)
    write_lines(folder / "negclip_train.jsonl.gz", [pair("negclip-1-0", "swap", 9)])
    alike = [{key: value for key, value in row.items() if key != "image"} | {"references": ["a dog"]} for row in fits]
    write_lines(folder / "cxc_sts_train.jsonl.gz", alike)
    return tmp_path
