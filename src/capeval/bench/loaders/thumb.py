"""THumB 1.0: captions of COCO test images by four systems and a person, judged for precision, recall and fluency.

`total` is the mean of precision and recall, less what was taken off for fluency, conciseness and language that is not
inclusive. The person's caption is one of COCO's five, and is not among the references of its image here. People like it
best and classic metrics do not: correlations are given without (`machines`) and with it (`all`).

The authors' repository has the judgements (`mscoco_THumB-1.0.jsonl`) and the other captions of each image
(`mscoco_references.json`, an object a line), a few of which are the person's candidate still: it is taken out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import Row, ratings_of, read_jsonl
from capeval.bench.originals import without
from capeval.bench.ratings import Ratings
from capeval.run import Run

_ROWS = Source("judgements/thumb.jsonl.gz", "6f0f7b9f8bc9951cccacc7e77497ad0b263eac96beacaaa2cba70197a387d67b")
_THEIRS = Source(
    "THumB/mscoco/mscoco_THumB-1.0.jsonl", "463ebf947c793a541922ead33eb10a885e77c19e9c7d27cf89e034bfff643efa"
)
_REFERENCES = Source(
    "THumB/mscoco/mscoco_references.json", "897672f1f53ed33a376237c33fabc89ebbd04b40e9ced82691c2e9c9324d8fdf"
)
_FIELDS = {"P": "precision", "R": "recall", "Fl": "fluency", "Con": "conciseness", "Inc": "inclusive"}
_JUDGEMENTS = ("total", "precision", "recall", "fluency", "conciseness", "inclusive")


def _load(root: Path, variant: str, run: Run) -> Ratings:
    rows = read_jsonl(root / _ROWS.path) if (root / _ROWS.path).is_file() else _theirs(root)
    chosen = [row for row in rows if variant == "all" or row.text("system") != "Human"]
    return ratings_of(chosen, _JUDGEMENTS, main="pearson")


def _theirs(root: Path) -> list[Row]:
    """The rows of the authors' files, with the names that ours have."""
    given = read_jsonl(root / _THEIRS.path, id_of=("seg_id", "SYS"))
    known = {row.id: row.texts("refs") for row in read_jsonl(root / _REFERENCES.path, id_of=("seg_id",))}
    people = {row.name("seg_id"): row.text("hyp") for row in given if row.text("SYS") == "Human"}
    rows = []
    for row in given:
        image = row.name("seg_id")
        fields: dict[str, Any] = {ours: row.number(theirs) for theirs, ours in _FIELDS.items()}
        fields |= {"total": row.number("human_score"), "id": f"thumb-{row.id}", "image": row.text("image")}
        fields |= {"system": row.text("SYS"), "candidate": row.text("hyp")}
        fields["references"] = list(without(known.get(image, ()), people.get(image, "")))
        rows.append(Row(row.file, row.line, fields))
    return rows


THUMB = Benchmark(
    name="thumb",
    summary="2,500 captions of 500 COCO images by four systems and a person: precision, recall, fluency, total",
    citation="Kasai, Sakaguchi, Dunagan, Morrison, Le Bras, Choi, Smith 2022: Transparent Human Evaluation for Image "
    "Captioning. NAACL",
    licence="for research; no licence is stated",
    published="https://github.com/jungokasai/THumB (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    originals=(_THEIRS, _REFERENCES),
    holds=("images:coco-val2014", "judgements:thumb"),
    load=_load,
    variants=("machines", "all"),
    default_variants=("machines", "all"),
    variant_key="part",
    papers={"machines": (papers.THUMB,), "all": (papers.THUMB,)},
    pictures=coco_picture,
)
