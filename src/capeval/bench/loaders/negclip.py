"""NegCLIP's negatives: a person's caption against one in which two of its words have changed places.

They are of pictures of the Karpathy split's validation part that no test set has, and for fitting metrics: a figure on
them is no test. The references are the other captions of the image.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import pairs_of, read_jsonl
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/negclip_train.jsonl.gz", "c1857aae480758a48dd0bd5ad3cfaf2daf5d2bbfcc4d328bf8fad19149f27f4a")


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path))


NEGCLIP = Benchmark(
    name="negclip",
    summary="For fitting: 5,212 captions of COCO images, each against one with words swapped",
    citation="Yuksekgonul, Bianchi, Kalluri, Jurafsky, Zou 2023: When and Why Vision-Language Models Behave like "
    "Bags-of-Words, and What to Do About It? ICLR",
    licence="MIT",
    published="https://github.com/mertyg/vision-language-models-are-bows (docs/tasks/bench.md tells how the file is "
    "laid out)",
    sources=(_ROWS,),
    holds=("images:coco-val2014",),
    load=_load,
    purpose="fitting",
    pictures=coco_picture,
)
