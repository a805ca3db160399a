"""The interfaces of other tools, over our own metrics: code written for them runs with other import lines, or as it is.

`install()`, or `python -m capeval.compat run script.py`, puts ours in the place of pycocoevalcap and pyciderevalcap.
"""

from capeval.compat.cider import Cider, CiderD, PlainCider
from capeval.compat.cocoeval import COCOEvalCap, COCOEvalCapSpice
from capeval.compat.modules import install
from capeval.compat.pycocoevalcap import Bleu, Meteor, PTBTokenizer, Rouge, Spice, compute_score

__all__ = [
    "Bleu",
    "COCOEvalCap",
    "COCOEvalCapSpice",
    "Cider",
    "CiderD",
    "Meteor",
    "PTBTokenizer",
    "PlainCider",
    "Rouge",
    "Spice",
    "compute_score",
    "install",
]
