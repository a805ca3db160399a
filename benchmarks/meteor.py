"""Tokens + METEOR: `capeval score` against pycocoevalcap, whole commands in one run, index in place.

    python benchmarks/meteor.py [--sizes 1000,10000] [--repeat 3] [--candidates FILE]

Data as in ngrams.py.
"""

from __future__ import annotations

from coco import arguments
from peers import against_pycocoevalcap

from capeval.text.paraphrase import find_table, load_phrases

SCORERS = """
from pycocoevalcap.meteor.meteor import Meteor
SCORERS = {"meteor": Meteor()}
"""

if __name__ == "__main__":
    load_phrases(find_table())
    against_pycocoevalcap("meteor.md", "Tokens and METEOR", ["meteor"], SCORERS, arguments(__doc__, "1000,10000"))
