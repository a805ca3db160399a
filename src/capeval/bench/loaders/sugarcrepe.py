"""SugarCrepe: a person's caption against one that says something else in fluent words, in seven kinds.

An object, attribute or relation is replaced, added or swapped with another one. The references are the other captions
of the image.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import pairs_of, read_jsonl
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/sugarcrepe.jsonl.gz", "5e28af75ff311d4645955215148664ea6f17833e345a4ae4fb7decac7ae9efc7")


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path))


SUGARCREPE = Benchmark(
    name="sugarcrepe",
    summary="7,511 captions of COCO images, each against one with a small change of meaning: seven kinds",
    citation="Hsieh, Zhang, Ma, Kembhavi, Krishna 2023: SugarCrepe: Fixing Hackable Benchmarks for Vision-Language "
    "Compositionality. NeurIPS",
    licence="MIT",
    published="https://github.com/RAIVNLab/sugar-crepe (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014",),
    load=_load,
    pictures=coco_picture,
)
