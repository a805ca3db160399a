"""Running a tokenizer's table over texts, in plain Python. The compiled engine has a twin of `scan`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capeval.types import Bytes, Ints, Longs, Shorts

SKIP = 0
# What is taken to follow every text: a line break and a new sentence, as in a file of captions. It decides whether
# the dot of a last "K." belongs to the letter; the official tool looks at the next caption, which most often begins so.
AFTER_TEXT = "\nA "
_HALVES = re.compile("[\ud800-\udfff]")


def scan(
    texts: Sequence[str],
    unit_class: Bytes,
    transitions: npt.NDArray[np.uint16],
    accepts: Shorts,
    start: int,
    kinds: Bytes,
    heads: npt.NDArray[np.uint16],
    tails: npt.NDArray[np.uint16],
    cut: Bytes,
    reread: Bytes,
    threads: int = 1,
) -> tuple[Ints, Longs, list[int], list[str]]:
    """Cuts each text into pieces.

    Returns the pieces of all texts as numbers, the offset of each text's first piece, and, for each number, the kind
    and the spelling of the piece. Numbers are given in order of first occurrence.
    """
    classes: list[int] = unit_class.tolist()
    table: list[list[int]] = transitions.tolist()
    accepted: list[int] = accepts.tolist()
    kind_of, head_of, tail_of = kinds.tolist(), heads.tolist(), tails.tolist()
    cut_of, reread_of = cut.tolist(), reread.tolist()

    def accepting_ends(state: int, units: list[int], begin: int, end: int) -> list[int]:
        ends = []
        for place in range(begin, end):
            state = table[state][units[place]]
            if not state:
                break
            if accepted[state] >= 0:
                ends.append(place + 1)
        return ends

    def token_end(rule: int, units: list[int], begin: int, end: int) -> int:
        """Where the token stops and what must follow it begins: as far right as both allow."""
        for middle in reversed(accepting_ends(head_of[rule], units, begin, end)):
            if end in accepting_ends(tail_of[rule], units, middle, end):
                return middle
        raise AssertionError("a rule matched whose parts do not")  # the tables would be inconsistent

    pieces: list[int] = []
    offsets = [0]
    numbers: dict[tuple[int, str], int] = {}
    for text in texts:
        text, length = _as_units(text)
        units = [classes[ord(char)] for char in text + AFTER_TEXT]
        begin = 0
        while begin < length:
            state, rule, end = start, -1, begin
            for place in range(begin, len(units)):
                state = table[state][units[place]]
                if not state:
                    break
                if accepted[state] >= 0:
                    rule, end = accepted[state], place + 1
            if rule < 0:
                begin += 1  # no rule takes this unit: leave it out
                continue
            if head_of[rule]:
                end = token_end(rule, units, begin, end)
            end = min(end, length) - cut_of[rule]
            if kind_of[rule] != SKIP:
                piece = (kind_of[rule], _as_text(text[begin:end]))
                pieces.append(numbers.setdefault(piece, len(numbers)))
            begin = end - reread_of[rule]
        offsets.append(len(pieces))
    return (
        np.array(pieces, np.int32),
        np.array(offsets, np.int64),
        [kind for kind, _ in numbers],
        [spelling for _, spelling in numbers],
    )


def _as_units(text: str) -> tuple[str, int]:
    """The text with each character outside the basic plane as its two UTF-16 halves."""
    if text.isascii() or max(text) <= "\uffff":
        return text, len(text)
    raw = text.encode("utf-16-le")
    halves = "".join(chr(raw[i] | raw[i + 1] << 8) for i in range(0, len(raw), 2))
    return halves, len(halves)


def _as_text(units: str) -> str:
    """The inverse of `_as_units`; half a character becomes a question mark."""
    if units.isascii() or not _HALVES.search(units):
        return units
    return _HALVES.sub("?", units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))
