"""CapEval1k: captions of COCO test images by four systems, graded by people; the mean is from 0 to 1."""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import ratings_of, read_jsonl
from capeval.bench.ratings import Ratings
from capeval.run import Run

_ROWS = Source("judgements/capeval1k.jsonl.gz", "ae99fa16524ba85f679cf456e12755f7aaf271271b17365cb5939e7c8b77bfb8")


def _load(root: Path, variant: str, run: Run) -> Ratings:
    return ratings_of(read_jsonl(root / _ROWS.path), ["total"], main="kendall_b")


CAPEVAL1K = Benchmark(
    name="capeval1k",
    summary="1,000 captions of 250 COCO images by four systems, graded by people",
    citation="Lee, Yoon, Dernoncourt, Bui, Jung 2021: UMIC: An Unreferenced Metric for Image Captioning via "
    "Contrastive Learning. ACL",
    licence="MIT",
    published="https://github.com/hwanheelee1993/UMIC (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014", "judgements:capeval1k"),
    load=_load,
    pictures=coco_picture,
)
