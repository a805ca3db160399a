"""Crisscrossed Captions: how well a caption fits an image (SITS), how similar two captions are (STS), from 0 to 5.

Two parts, of the Karpathy split's validation and test images. The first (`sits`, `sts`) is for fitting metrics, without
the images that any test set has: a figure on it is no test. The second (`sits-test`, `sts-test`) is read from the
published files, `cxc/sits_test.csv` and `cxc/sts_test.csv`; so is, for validation, the first with all its images
(`sits-val`, `sts-val`). They have the columns

    sits        caption, image, agg_score, sampling_method
    sts         caption1, caption2, agg_score, sampling_method

and name a caption by its number, as in `COCO_val2014:sentid:732091`: COCO's `captions_val2014.json` has its words. The
references of a caption with an image are the image's captions without it; those of the first of two captions are the
second.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import ratings_of, read_jsonl
from capeval.bench.originals import read_annotations
from capeval.bench.ratings import Ratings
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.run import Run
from capeval.types import Dataset

_SITS = Source(
    "judgements/cxc_sits_train.jsonl.gz", "56526b458e3e785ab2665dbfc93e2a3d9572822dd2133374fb0e92cca577b2e5", ("sits",)
)
_STS = Source(
    "judgements/cxc_sts_train.jsonl.gz", "36dd2a12656a9d4a09bc0889e1ed3386c5ead48ade3298541326a9b6dcb81a43", ("sts",)
)
_PUBLISHED = {
    "sits-test": "f92fd6d36329fb52fd5429eb5c2211f0ab3ad86bb737323f415375a144697ce6",
    "sts-test": "33eea25bf41061c513ef4b39282aaf64bdf9b17ff233e343a6d6ae44d73e0272",
    "sits-val": "482d996eb91998e0a6fbaf8c70f1e2cb127370a05346720caef1c0bbd3139a0f",
    "sts-val": "36d4fbdb88aed1ea90463f95ce40a4c081d25874fb6badd2dfaa62a28b25170b",
}
"""By variant the checksum of its file."""
_CSV = {name: Source(f"cxc/{name.replace('-', '_')}.csv", sha256, (name,)) for name, sha256 in _PUBLISHED.items()}
_CAPTIONS = Source("coco/captions_val2014.json", "", tuple(_PUBLISHED))
_MAIN = "spearman"
_COLUMNS = {
    "sits": ["caption", "image", "agg_score", "sampling_method"],
    "sts": ["caption1", "caption2", "agg_score", "sampling_method"],
}


def _load(root: Path, variant: str, run: Run) -> Ratings:
    if variant == "sits":
        return ratings_of(read_jsonl(root / _SITS.path), ["score"], _MAIN)
    if variant == "sts":
        return _similarity(root / _STS.path)
    return _published(root, variant)


def _similarity(path: Path) -> Ratings:
    """Two captions, whatever their pictures; pairs of one picture go together in resamples."""
    rows = read_jsonl(path)
    found = ratings_of(rows, ["score"], _MAIN)
    found.dataset.images = [f"sts/{row.name('coco_id')}" for row in rows]
    return found


def _published(root: Path, variant: str) -> Ratings:
    path, kind = root / _CSV[variant].path, variant.split("-")[0]
    captions: dict[int, str] = {}
    images: dict[int, int] = {}
    by_image: dict[int, list[int]] = {}
    for each in read_annotations(root / _CAPTIONS.path):
        captions[each.id], images[each.id] = each.caption, each.image
        by_image.setdefault(each.image, []).append(each.id)
    ids, pictures, candidates, sets, scores = [], [], [], [], []
    for line, (first, second, score, _) in enumerate(_cells(path, _COLUMNS[kind]), 2):
        try:
            candidate, grade = int(first.rsplit(":", 1)[1]), float(score)
            if kind == "sits":
                image = int(Path(second).stem.rsplit("_", 1)[1])
                others = [each for each in by_image[image] if each != candidate]
                pictures.append(second)
            else:
                others = [int(second.rsplit(":", 1)[1])]
                pictures.append(f"sts/{images[candidate]}")
            candidates.append(captions[candidate])
            sets.append(tuple(captions[each] for each in others))
        except (ValueError, IndexError):
            raise DataError(
                f"not laid out as the published file: {first}, {second}, {score}", file=str(path), line=line
            ) from None
        except KeyError as problem:
            raise DataError(f"{_CAPTIONS.path} does not have {problem}", file=str(path), line=line) from None
        ids.append(f"{variant}-{line - 1}")
        scores.append([grade])
    dataset = Dataset(ids, pictures, candidates, sets, np.arange(len(ids), dtype=np.int32))
    return Ratings(dataset, np.array(scores), _MAIN)


def _cells(path: Path, columns: list[str]) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(utf8_without_bom(read_bytes(path), str(path)).decode())))
    if not rows or rows[0] != columns:
        raise DataError(f"the columns {', '.join(columns)} are needed", file=str(path), line=1)
    for line, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise DataError(f"{len(row)} cells where {len(columns)} are needed", file=str(path), line=line)
    return rows[1:]


CXC = Benchmark(
    name="cxc",
    summary="For fitting: 61,369 grades of a caption for a COCO image (sits) or beside another caption (sts); the "
    "published files can be run too (sits-test, sts-test, sits-val, sts-val)",
    citation="Parekh, Baldridge, Cer, Waters, Yang 2021: Crisscrossed Captions: Extended Intramodal and Intermodal "
    "Semantic Similarity Judgments for MS-COCO. EACL",
    licence="free for any purpose",
    published="https://github.com/google-research-datasets/Crisscrossed-Captions, COCO's captions at "
    "https://cocodataset.org/#download (docs/tasks/bench.md tells how files are laid out)",
    sources=(_SITS, _STS, *_CSV.values(), _CAPTIONS),
    holds=("images:coco-val2014", "judgements:cxc"),
    load=_load,
    variants=("sits", "sts", *_PUBLISHED),
    default_variants=("sits", "sts"),
    variant_key="part",
    purpose="fitting",
    pictures=coco_picture,
)
