"""Phrase structure trees in bracket notation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from capeval.errors import DataError

# A word may hold a no-break space ("1\u00a01/2"), so only the plain one separates.
_PIECE = re.compile(r"\(([^ ()]+)|([^ ()]+)|\)")


@dataclass(slots=True)
class Tree:
    """A constituent (label and children), or a leaf: a tag with its word and the word's place, counted from 1."""

    label: str
    children: list[Tree] = field(default_factory=list)
    word: str | None = None
    index: int = 0


def read_tree(text: str) -> Tree:
    """The tree of "(ROOT (NP (DT a) (NN dog)))"."""
    top = Tree("")
    stack = [top]
    words = 0
    for piece in _PIECE.finditer(text):
        label, word = piece.groups()
        if label is not None:
            node = Tree(label)
            stack[-1].children.append(node)
            stack.append(node)
        elif len(stack) < 2:
            raise DataError(f"not a tree in brackets: {text[:80]!r}")
        elif word is not None:
            words += 1
            stack[-1].word, stack[-1].index = word, words
        else:
            stack.pop()
    if len(stack) != 1 or len(top.children) != 1:
        raise DataError(f"not a tree in brackets: {text[:80]!r}")
    return top.children[0]
