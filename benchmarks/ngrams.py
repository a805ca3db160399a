"""Tokens + BLEU + ROUGE-L + CIDEr-D: `capeval score` against pycocoevalcap, whole commands in one run.

    python benchmarks/ngrams.py [--sizes 1000,10000,40000] [--repeat 3] [--candidates FILE]

The references are those of COCO val2014, 5 an image, from the annotations inside the installed pycocoevalcap package
(which is the peer, and needs Java). Candidates: COCO results for val2014 in FILE, else a caption of the next image.
"""

from __future__ import annotations

from coco import arguments
from peers import against_pycocoevalcap

SCORERS = """
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
SCORERS = {"bleu": Bleu(4), "rouge_l": Rouge(), "cider_d": Cider()}
"""

if __name__ == "__main__":
    against_pycocoevalcap(
        "ngrams.md",
        "Tokens, BLEU, ROUGE-L and CIDEr-D",
        ["bleu", "rouge", "cider_d"],
        SCORERS,
        arguments(__doc__, "1000,5000,10000,20000,40000"),
    )
