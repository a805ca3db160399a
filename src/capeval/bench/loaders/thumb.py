"""THumB 1.0: captions of COCO test images by four systems and a person, judged for precision, recall and fluency.

`total` is the mean of precision and recall, less what was taken off for fluency, conciseness and language that is not
inclusive. The person's caption is one of COCO's five, and is not among the references of its image here. People like it
best and classic metrics do not: correlations are given without (`machines`) and with it (`all`).
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import ratings_of, read_jsonl
from capeval.bench.ratings import Ratings
from capeval.run import Run

_ROWS = Source("judgements/thumb.jsonl.gz", "6f0f7b9f8bc9951cccacc7e77497ad0b263eac96beacaaa2cba70197a387d67b")
_JUDGEMENTS = ("total", "precision", "recall", "fluency", "conciseness", "inclusive")


def _load(root: Path, variant: str, run: Run) -> Ratings:
    rows = read_jsonl(root / _ROWS.path)
    chosen = [row for row in rows if variant == "all" or row.text("system") != "Human"]
    return ratings_of(chosen, _JUDGEMENTS, main="pearson")


THUMB = Benchmark(
    name="thumb",
    summary="2,500 captions of 500 COCO images by four systems and a person: precision, recall, fluency, total",
    citation="Kasai, Sakaguchi, Dunagan, Morrison, Le Bras, Choi, Smith 2022: Transparent Human Evaluation for Image "
    "Captioning. NAACL",
    licence="for research; no licence is stated",
    published="https://github.com/jungokasai/THumB (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014", "judgements:thumb"),
    load=_load,
    variants=("machines", "all"),
    default_variants=("machines", "all"),
    variant_key="part",
    pictures=coco_picture,
)
