"""Tokens to the official tree: the words' tags from the lexicon, the tree from the chart parser."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval import engine
from capeval.run import Run
from capeval.scene.official.grammar import Grammar
from capeval.types import Longs

MAX_TOKENS = 120
"""Time grows with the cube of the length. A longer caption is parsed in pieces, which one flat node holds together."""
_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-", " ": "\u00a0", "\n": "\u00a0"})


class Parser:
    """Parses captions that are tokenised already. Trees are bracketed strings, as `read_tree` reads them."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._labels = grammar.labels()
        self._is_tag = np.zeros(len(grammar.states), dtype=np.uint8)
        self._is_tag[grammar.tag_states] = 1
        self._root, self._end = grammar.root, grammar.end

    def trees(self, captions: Sequence[Sequence[str]], run: Run | None = None) -> list[str]:
        """The tree of each caption; a caption without tokens has the empty one. Threads do not change the trees."""
        pieces = [_pieces([token for token in caption if token]) for caption in captions]
        trees = iter(self._parse([piece for own in pieces for piece in own], run or Run()))
        return [_joined([next(trees) for _ in own]) for own in pieces]

    def _parse(self, captions: list[list[str]], run: Run) -> list[str]:
        numbers: dict[tuple[str, bool], int] = {}
        tokens = [
            numbers.setdefault((token, place == 0), len(numbers))
            for caption in captions
            for place, token in enumerate(caption)
        ]
        lexicon, tag_states = self.grammar.lexicon, self.grammar.tag_states
        tags = [lexicon.scores(lexicon.known_as(word), is_first) for word, is_first in numbers]
        return engine.load(run.engine).parse_captions(
            tokens=np.array(tokens, dtype=np.int32),
            offsets=_offsets([len(caption) for caption in captions]),
            words=[_printable(word) for word, _ in numbers],
            tag_offsets=_offsets([len(states) for states, _ in tags]),
            tags=tag_states[_concatenated([states for states, _ in tags], np.int32)],
            tag_scores=_concatenated([scores for _, scores in tags], np.float32),
            labels=self._labels,
            is_tag=self._is_tag,
            binary=self.grammar.binary,
            binary_scores=self.grammar.binary_scores,
            unary=self.grammar.unary,
            unary_scores=self.grammar.unary_scores,
            root=self._root,
            end=self._end,
            max_tokens=MAX_TOKENS,
            threads=run.threads,
        )


def _pieces(tokens: list[str]) -> list[list[str]]:
    """The tokens in as few pieces as the limit allows, all of nearly the same length."""
    count = -(-len(tokens) // MAX_TOKENS)
    cuts = [len(tokens) * k // max(count, 1) for k in range(count + 1)]
    return [tokens[begin:end] for begin, end in pairwise(cuts)]


def _joined(trees: list[str]) -> str:
    """The tree of a caption: of one piece as it is, of several with all that their roots hold under one X."""
    if len(trees) < 2:
        return trees[0] if trees else ""
    inner = [tree.removeprefix("(ROOT ").removesuffix(")") if tree.startswith("(ROOT ") else tree for tree in trees]
    return f"(ROOT (X {' '.join(inner)}))"


def _printable(word: str) -> str:
    """Brackets and spaces would break the tree's notation; halves of surrogate pairs cannot be written at all."""
    return word.translate(_BRACKETS).encode("utf-8", "replace").decode("utf-8")


def _offsets(lengths: list[int]) -> Longs:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _concatenated(arrays: list[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=dtype), *arrays])
