"""The table a tokenizer runs on: a finite automaton over UTF-16 code units that takes the longest match.

The tables are data, so both engines run the same tokenizer; what becomes of a matched piece of text is decided once
per distinct piece, in Python (`capeval.text.tokenize`). `tools/ptb` makes the tables from readable rules.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.io.shipped import shipped


class Scanner(NamedTuple):
    unit_class: npt.NDArray[np.uint8]
    """Character class of each of the 65,536 code units."""
    transitions: npt.NDArray[np.uint16]
    """[states, classes] -> next state; 0 is the dead state."""
    accepts: npt.NDArray[np.int16]
    """Rule that a state accepts, or -1."""
    start: int
    kinds: npt.NDArray[np.uint8]
    """Per rule, an index in KINDS."""
    heads: npt.NDArray[np.uint16]
    """Per rule, the start state of the automaton for the token alone, or 0 where nothing needs to follow."""
    tails: npt.NDArray[np.uint16]
    """Per rule, the start state of the automaton for what must follow."""
    cut: npt.NDArray[np.uint8]
    """Per rule, how many units at the token's end are a token of their own (`can` + `not`)."""
    reread: npt.NDArray[np.uint8]
    """Per rule, how many units at the token's end are scanned again though they stay (the dot after `etc.`)."""


# What happens to the matched text. The scanner drops "skip"; the rest is for `capeval.text.tokenize`.
KINDS = (
    "skip",
    "plain",
    "soft",
    "quote",
    "left_quote",
    "nbsp",
    "phone",
    "brackets",
    "bracket",
    "dash",
    "dashes",
    "ellipsis",
    "ampersand",
    "vulgar_fraction",
    "currency",
    "acronym",
    "less",
    "greater",
)
SKIP = KINDS.index("skip")


@cache
def ptb_scanner() -> Scanner:
    """The Penn Treebank tokenizer of the COCO evaluation."""
    with np.load(shipped("ptb.npz"), allow_pickle=False) as arrays:
        tables: dict[str, Any] = {name: arrays[name] for name in Scanner._fields}
    return Scanner(**tables | {"start": int(tables["start"])})


@cache
def space_scanner() -> Scanner:
    """Splits at white space and nothing else, for text that is tokenised already.

    A no-break space does not split: the official tokenizer leaves it inside tokens such as `23 3/4`.
    """
    white = np.zeros(0x10000, np.uint8)
    white[[unit for unit in range(0x10000) if chr(unit).isspace() and unit != 0xA0]] = 1
    return Scanner(
        unit_class=white,
        # States: 0 dead, 1 start, 2 in a token, 3 in white space.
        transitions=np.array([[0, 0], [2, 3], [2, 0], [0, 3]], np.uint16),
        accepts=np.array([-1, -1, 0, 1], np.int16),
        start=1,
        kinds=np.array([KINDS.index("plain"), SKIP], np.uint8),
        heads=np.zeros(2, np.uint16),
        tails=np.zeros(2, np.uint16),
        cut=np.zeros(2, np.uint8),
        reread=np.zeros(2, np.uint8),
    )
