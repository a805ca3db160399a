"""VALSE: a caption against a foil of it, in eleven kinds, from existence and counting to coreference.

Only pairs whose foil most people found wrong. The captions of `foil-it`, `plurals` and `relations` are COCO's, so their
images have other captions as references; the other kinds have none, and are for metrics that need none.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture, picture_in
from capeval.bench.jsonl import pairs_of, read_jsonl
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/valse.jsonl.gz", "64fd7c292396e107725c6749d27eb3275735bc1662a8ac9d486a932245969fd9")


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path))


def _picture(root: Path, image: str) -> Path | None:
    """Pictures of COCO, and those of SWiG, Visual7W and VisDial in a folder of their own."""
    return coco_picture(root, image) or picture_in("valse")(root, image)


VALSE = Benchmark(
    name="valse",
    summary="7,702 captions, each against a foil: eleven kinds, of which three have references",
    citation="Parcalabescu, Cafagna, Muradjan, Frank, Calixto, Gatt 2022: VALSE: A Task-Independent Benchmark for "
    "Vision and Language Models Centered on Linguistic Phenomena. ACL",
    licence="MIT",
    published="https://github.com/Heidelberg-NLP/VALSE (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014", "images:coco-val2017", "images:visual7w", "images:swig", "images:visdial"),
    load=_load,
    pictures=_picture,
)
