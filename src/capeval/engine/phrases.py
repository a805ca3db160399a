"""Phrases of METEOR's paraphrase table in captions, in plain Python: what the C++ twin must compute."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from capeval.engine.checks import check_array, check_captions, check_range, check_threads
from capeval.types import Ints, Longs


class Occurrence(NamedTuple):
    """A phrase of the paraphrase table in a caption."""

    start: int
    length: int
    phrase: int


def find_phrases(
    tokens: Ints,
    offsets: Longs,
    table_words: Ints,
    child_start: Ints,
    last_word: Ints,
    pair_start: Ints,
    paraphrases: Ints,
    threads: int,
) -> tuple[Ints, Ints, Ints, Longs, Ints, Longs]:
    """Where phrases of the paraphrase table occur: `(starts, lengths, phrases, phrase_offsets, links, link_offsets)`.

    `table_words` has the table's number of each word, or -1; the tree of phrases is that of `capeval.text.paraphrase`.
    Phrases are numbered in order of first occurrence. The paraphrases of phrase p that occur in some caption are
    `links[link_offsets[p]:link_offsets[p + 1]]`, in the table's order. Phrases that no such link touches are left out.
    """
    check_threads(threads)
    check_captions(tokens, offsets)
    _check_table(child_start, last_word, pair_start, paraphrases)
    check_array(table_words, np.int32, 1, "table_words")
    check_range(tokens, len(table_words), "tokens must be below the length of table_words")
    roots = table_words[tokens].tolist() if len(tokens) else []
    number: dict[int, int] = {}
    found: list[list[Occurrence]] = []
    for first, last in pairwise(offsets.tolist()):
        occurrences = []
        for start in range(first, last):
            node, end = roots[start], start + 1
            while 0 <= node < len(last_word):
                occurrences.append(Occurrence(start - first, end - start, number.setdefault(node, len(number))))
                node = _child(node, roots[end], child_start, last_word) if end < last else -1
                end += 1
        found.append(occurrences)
    links = [_links(node, number, pair_start, paraphrases) for node in number]
    linked = {p for p, targets in enumerate(links) if targets}.union(*links)
    kept = [[each for each in occurrences if each.phrase in linked] for occurrences in found]
    rows = np.array([each for occurrences in kept for each in occurrences], np.int32).reshape(-1, 3)
    starts, lengths, phrases = (np.ascontiguousarray(column) for column in rows.T)
    flat = np.array([target for targets in links for target in targets], np.int32)
    return starts, lengths, phrases, _offsets(kept), flat, _offsets(links)


def _child(node: int, word: int, child_start: Ints, last_word: Ints) -> int:
    """The node one word longer, or -1."""
    first, last = int(child_start[node]), int(child_start[node + 1])
    if word < 0 or not 0 <= first < last <= len(last_word):
        return -1
    place = bisect_left(last_word, word, first, last)
    return place if place < last and last_word[place] == word else -1


def _links(node: int, number: dict[int, int], pair_start: Ints, paraphrases: Ints) -> list[int]:
    first, last = int(pair_start[node]), int(pair_start[node + 1])
    if not 0 <= first <= last <= len(paraphrases):
        raise ValueError("the paraphrase table is damaged")
    return [number[target] for target in paraphrases[first:last].tolist() if target in number]


def _offsets(lists: Sequence[Sequence[object]]) -> Longs:
    return np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)


def _check_table(child_start: Ints, last_word: Ints, pair_start: Ints, paraphrases: Ints) -> None:
    # Only the sizes: the table is large, so what it says is checked where it is used.
    for values, name in (
        (child_start, "child_start"),
        (last_word, "last_word"),
        (pair_start, "pair_start"),
        (paraphrases, "paraphrases"),
    ):
        check_array(values, np.int32, 1, name)
    if len(child_start) != len(last_word) + 1 or len(pair_start) != len(last_word) + 1:
        raise ValueError("child_start and pair_start must have one entry more than last_word")
