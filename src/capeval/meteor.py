"""How METEOR aligns two captions.

>>> from capeval import meteor
>>> alignment = meteor.align("a man rides a bike", "a person is riding a bicycle")
>>> [f"{pair.module}: {pair.candidate[0]} - {pair.reference[0]}" for pair in alignment.pairs]
['exact: a - a', 'paraphrase: man - person', 'stem: rides - riding', 'exact: a - a', 'synonym: bike - bicycle']
"""

from __future__ import annotations

from capeval.metrics.meteor import Alignment, Pair, align_tokens
from capeval.run import Run
from capeval.text.tokenize import tokenize

__all__ = ["Alignment", "Pair", "align"]


def align(candidate: str, reference: str, tokenizer: str = "ptb") -> Alignment:
    """Which words of the candidate METEOR matches with which of the reference, by which module, and the score."""
    run = Run(tokenizer=tokenizer)
    ours, theirs = tokenize([candidate, reference], run)
    return align_tokens(ours, theirs, run)
