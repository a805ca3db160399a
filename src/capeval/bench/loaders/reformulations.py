"""Human reformulations: a machine's caption against what a person made of it who was to correct its mistakes.

The two share most of their words. Pairs are of COCO and Flickr30k images; the references are people's captions of the
image.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture, flickr30k_picture
from capeval.bench.jsonl import pairs_of, read_jsonl
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/reformulations.jsonl.gz", "8cb0fe316cabf9af7ca151305e416e1d931c674f688d5ae40533fbabc3f4d51a")


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path))


def _picture(root: Path, image: str) -> Path | None:
    """Flickr8k has many pictures of Flickr30k, under the same number with more after it."""
    if (path := coco_picture(root, image) or flickr30k_picture(root, image)) is not None:
        return path
    return next((root / "flickr8k").glob(f"{Path(image).stem}_*"), None)


REFORMULATIONS = Benchmark(
    name="reformulations",
    summary="4,344 captions by machines, each against a person's correction of it",
    citation="Berger, Stanovsky, Abend, Frermann 2024: Surveying the Landscape of Image Captioning Evaluation. "
    "arXiv:2408.04909",
    licence="for research; no licence is stated",
    published="https://github.com/uriberger/caption_evaluation (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014", "images:flickr30k"),
    load=_load,
    pictures=_picture,
)
