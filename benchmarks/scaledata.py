"""Shards for benchmarks/scale.py: captions of COCO val2014, Flickr30k and Flickr8k, drawn again and again, and tars of
pictures.

COCO's are taken from the annotations inside the installed pycocoevalcap package (no Java is needed), Flickr's from the
folder CAPEVAL_DATA, where it is.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SHARD = 100_000


def pool() -> list[list[str]]:
    """The captions of each picture."""
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("this benchmark takes its captions from a package: pip install pycocoevalcap==1.2")
    found: dict[object, list[str]] = {}
    jar = Path(spec.submodule_search_locations[0]) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        for row in json.loads(archive.read("coco/annotations/captions_val2014.json"))["annotations"]:
            found.setdefault(row["image_id"], []).append(row["caption"])
    data = Path(os.environ.get("CAPEVAL_DATA", "../shared"), "data")
    flickr30k = data / "flickr30k" / "captions.json.gz"
    if flickr30k.exists():
        found.update(json.loads(gzip.decompress(flickr30k.read_bytes())))
    flickr8k = data / "flickr8k" / "Flickr8k.token.txt"
    if flickr8k.exists():
        for line in flickr8k.read_text("utf-8").splitlines():
            name, _, caption = line.partition("\t")
            found.setdefault(name.partition("#")[0], []).append(caption)
    return [captions for captions in found.values() if len(captions) >= 2]


def write_shards(folder: Path, rows: int, size: int = SHARD) -> None:
    """Each row: a caption of a picture, or of another one, and 1 to 5 of the picture's other captions as references."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = pool()
    texts = pa.array([caption for captions in pictures for caption in captions])
    first = np.cumsum([0, *map(len, pictures)])
    for shard in range(-(-rows // size)):
        path = folder / f"{shard:05d}.parquet"
        count = min(size, rows - shard * size)
        if path.exists() and pq.ParquetFile(path).metadata.num_rows == count:
            continue
        draw = np.random.default_rng([7, shard])
        picture = draw.integers(0, len(pictures), count)
        have = np.diff(first)[picture]
        many = np.minimum(draw.integers(1, 6, count), have - 1)
        order = np.argsort(draw.random((count, int(have.max()))) + (np.arange(have.max()) >= have[:, None]), axis=1)
        other = first[draw.integers(0, len(pictures), count)]
        caption = np.where(draw.random(count) < 0.5, first[picture] + order[:, 0], other)
        chosen = (np.arange(order.shape[1] - 1) < many[:, None]).ravel()
        references = (first[picture][:, None] + order[:, 1:]).ravel()[chosen]
        offsets = np.concatenate([[0], np.cumsum(many)]).astype(np.int32)
        begin = shard * size
        table = pa.table(
            {
                "image_id": pa.array([f"{begin + i:09d}" for i in range(count)]),
                "caption": texts.take(pa.array(caption)),
                "references": pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(references))),
            }
        )
        pq.write_table(table, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)


def write_distinct(folder: Path, captions: int, shards: int = 8) -> list[Path]:
    """So many captions, no two of them the same, so that each has to be parsed: a row for each picture."""
    known, rows, left = set[str](), [list[dict[str, object]]() for _ in range(shards)], captions
    for i, texts in enumerate(pool()):
        new = [text for text in dict.fromkeys(texts) if text not in known][:left]
        if len(new) < 2:
            continue
        known.update(new)
        left -= len(new)
        rows[i % shards].append({"image_id": str(i), "caption": new[0], "references": new[1:]})
        if not left:
            break
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{k}.parquet" for k in range(shards)]
    for path, part in zip(paths, rows, strict=True):
        pq.write_table(pa.Table.from_pylist(part), path)
    return paths


def write_picture_shards(folder: Path, files: Sequence[Path], size: int = 1000) -> list[Path]:
    """Tars of samples `KEY.jpg` and `KEY.txt`, as img2dataset makes them; the captions are anybody's."""
    folder.mkdir(parents=True, exist_ok=True)
    captions = [texts[0] for texts in pool()]
    shards = []
    for begin in range(0, len(files), size):
        path = folder / f"{begin // size:05d}.tar"
        shards.append(path)
        if path.exists():
            continue
        with tarfile.open(path.with_suffix(".part"), "w") as archive:
            for i, file in enumerate(files[begin : begin + size], begin):
                text = captions[i % len(captions)].encode()
                info = tarfile.TarInfo(f"{file.stem}.txt")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
                archive.add(file, f"{file.stem}.jpg")
        path.with_suffix(".part").rename(path)
    return shards
