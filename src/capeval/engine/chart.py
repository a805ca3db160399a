"""The chart parser in plain Python: the readable twin of the compiled one, for short captions and small grammars.

A cell holds, for a span of words, the best score of each state over it. Scores are single precision and are added in
the order of the official parser, since rounding decides between trees that are equally good.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from capeval.types import Bytes, Floats, Ints, Longs

Cell = dict[int, np.float32]
_FLOOD_SCORE = np.float32(-1000)
_MAX_CHAIN = 64


def parse_captions(
    tokens: Ints,
    offsets: Longs,
    words: list[str],
    tag_offsets: Longs,
    tags: Ints,
    tag_scores: Floats,
    labels: list[str],
    is_tag: Bytes,
    binary: Ints,
    binary_scores: Floats,
    unary: Ints,
    unary_scores: Floats,
    root: int,
    end: int,
    max_tokens: int,
    threads: int,
) -> list[str]:
    """One bracketed tree for each caption; `threads` only matters to the compiled twin."""
    parser = _Parser(labels, is_tag, binary, binary_scores, unary, unary_scores, root, end)
    trees = []
    for begin, stop in pairwise(offsets.tolist()):
        if stop - begin > max_tokens:
            raise ValueError("a caption has more than max_tokens tokens")
        numbers = tokens[begin:stop].tolist()
        spans = [slice(tag_offsets[word], tag_offsets[word + 1]) for word in numbers]
        word_tags: list[Cell] = [dict(zip(tags[span].tolist(), tag_scores[span])) for span in spans]
        trees.append(parser.tree([words[word] for word in numbers], word_tags))
    return trees


class _Parser:
    def __init__(
        self,
        labels: Sequence[str],
        is_tag: Bytes,
        binary: Ints,
        binary_scores: Floats,
        unary: Ints,
        unary_scores: Floats,
        root: int,
        end: int,
    ) -> None:
        self.labels, self.root = labels, root
        self.all_tags = np.flatnonzero(is_tag).tolist()
        self.by_left: dict[int, list[tuple[int, int, np.float32]]] = defaultdict(list)
        self.by_parent: dict[int, list[tuple[int, int, np.float32]]] = defaultdict(list)
        self.root_rules: list[tuple[int, np.float32]] = []
        for (parent, left, right), score in zip(binary.tolist(), binary_scores):
            if left == end:
                continue
            if right == end:  # only the whole caption stands before the end symbol, and only the root above both
                if parent == root:
                    self.root_rules.append((left, score))
            else:
                self.by_left[left].append((parent, right, score))
                self.by_parent[parent].append((left, right, score))
        self.unary_by_parent: dict[int, list[tuple[int, np.float32]]] = defaultdict(list)
        for (parent, child), score in zip(unary.tolist(), unary_scores):
            if parent != child:
                self.unary_by_parent[parent].append((child, score))
        self.closed = _closed(self.unary_by_parent)

    def tree(self, words: list[str], tags: list[Cell]) -> str:
        """The best tree; without a parse, the best one with every tag on every word; else a flat one."""
        if not words:
            return ""
        flooded = [dict.fromkeys(self.all_tags, _FLOOD_SCORE) | own for own in tags]
        for word_tags in (tags, flooded):
            chart = self.fill(word_tags)
            whole = chart[0, len(words)]
            scores = [score + whole.get(left, np.float32(-np.inf)) for left, score in self.root_rules]
            if scores and max(scores) > -np.inf:
                best, _ = self.root_rules[scores.index(max(scores))]
                below = self.write(best, 0, len(words), chart, word_tags, words, 0)
                if below is not None:
                    return f"({self.labels[self.root]} {below})"
        return "(X " + " ".join(f"(XX {word})" for word in words) + ")"

    def fill(self, tags: list[Cell]) -> dict[tuple[int, int], Cell]:
        chart: dict[tuple[int, int], Cell] = {}
        for end in range(1, len(tags) + 1):
            chart[end - 1, end] = self.with_unary(dict(tags[end - 1]))
            for begin in range(end - 2, -1, -1):
                cell: Cell = {}
                for split in range(begin + 1, end):
                    self.combine(chart[begin, split], chart[split, end], cell)
                chart[begin, end] = self.with_unary(cell)
        return chart

    def combine(self, lefts: Cell, rights: Cell, cell: Cell) -> None:
        for left, left_score in lefts.items():
            for parent, right, rule_score in self.by_left.get(left, ()):
                if right in rights:
                    _raise_to(cell, parent, (rule_score + left_score) + rights[right])

    def with_unary(self, cell: Cell) -> Cell:
        # In the order of states, each with the score it has by then: what one rule raised, a later one may use.
        for state in sorted(self.closed):
            if state in cell:
                for parent, score in self.closed[state]:
                    _raise_to(cell, parent, cell[state] + score)
        return cell

    def write(
        self,
        state: int,
        begin: int,
        end: int,
        chart: dict[tuple[int, int], Cell],
        tags: list[Cell],
        words: list[str],
        chain: int,
    ) -> str | None:
        if end - begin == 1 and state in tags[begin]:
            below: str | None = words[begin]
        else:
            below = self.write_children(state, begin, end, chart, tags, words, chain)
        label = self.labels[state]
        return f"({label} {below})" if label and below is not None else below

    def write_children(
        self,
        state: int,
        begin: int,
        end: int,
        chart: dict[tuple[int, int], Cell],
        tags: list[Cell],
        words: list[str],
        chain: int,
    ) -> str | None:
        """By the rule of the highest sum in double precision; of equal ones the first, binary before unary."""
        best, chosen = -math.inf, []
        for split in range(begin + 1, end):
            lefts, rights = chart[begin, split], chart[split, end]
            for left, right, score in self.by_parent.get(state, ()):
                if left in lefts and right in rights:
                    total = float(score) + float(lefts[left]) + float(rights[right])
                    if total > best:
                        best, chosen = total, [(left, begin, split, 0), (right, split, end, 0)]
        for child, score in self.unary_by_parent.get(state, ()):
            if child in chart[begin, end]:
                total = float(score) + float(chart[begin, end][child])
                if total > best:
                    best, chosen = total, [(child, begin, end, chain + 1)]
        if not chosen or chosen[0][3] > _MAX_CHAIN:
            return None
        parts = [self.write(part, first, last, chart, tags, words, links) for part, first, last, links in chosen]
        return None if None in parts else " ".join(part for part in parts if part is not None)


def _raise_to(cell: Cell, state: int, score: np.float32) -> None:
    if state not in cell or score > cell[state]:
        cell[state] = score


def _closed(unary_by_parent: dict[int, list[tuple[int, np.float32]]]) -> dict[int, list[tuple[int, np.float32]]]:
    """For each child the parents that chains of unary rules reach, with the best sum.

    One state after the other, in order, becomes a possible station of chains.
    """
    parents: dict[int, Cell] = defaultdict(dict)
    children: dict[int, Cell] = defaultdict(dict)

    def relax(parent: int, child: int, score: np.float32) -> None:
        _raise_to(parents[child], parent, score)
        _raise_to(children[parent], child, score)

    for parent, rules in unary_by_parent.items():
        for child, score in rules:
            relax(parent, child, score)
    for station in sorted(set(parents) & set(children)):
        above, below = list(parents[station].items()), list(children[station].items())
        for parent, upper in above:
            for child, lower in below:
                if parent != child:
                    relax(parent, child, upper + lower)
    return {child: list(ends.items()) for child, ends in parents.items()}
