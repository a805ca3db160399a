"""Dependency trees to the tuples of SPICE, by the rules of `capeval.scene.graph` and `capeval.scene.tuples`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from capeval.engine.checks import check_array, check_captions, check_range
from capeval.types import Ints

Longs = npt.NDArray[np.int64]


def dependency_tuples(
    words: list[str],
    tags: list[str],
    lemmas: list[str],
    stems: list[str],
    tokens: Ints,
    offsets: Longs,
    heads: Ints,
    relations: Ints,
    names: list[str],
) -> list[list[tuple[str, ...]]]:
    """The tuples of each caption.

    Distinct words with their tags stand in a table: `words` and `lemmas` in lower case, `stems` the lemmas as they
    stand. `tokens` are rows of it. `heads` are words of the same caption, counted from 1, or 0, and `relations` numbers
    of `names`; words without a head, and only those, have the relation root.
    """
    from capeval.scene.graph import enhanced_graph
    from capeval.scene.graph_types import Token
    from capeval.scene.tuples import tuples_of_graph

    check_captions(tokens, offsets)
    check_array(heads, np.int32, 1, "heads")
    check_array(relations, np.int32, 1, "relations")
    if not len(words) == len(tags) == len(lemmas) == len(stems):
        raise ValueError("words, tags, lemmas and stems must be of one length")
    if not len(tokens) == len(heads) == len(relations):
        raise ValueError("every token must have a head and a relation")
    check_range(tokens, len(words), "tokens must be rows of the table")
    check_range(relations, len(names), "relations must be numbers of names")
    table = [Token(*row) for row in zip(words, tags, stems, strict=True)]
    found = []
    for begin, end in pairwise(offsets.tolist()):
        basic = [
            (head, place, names[relation])
            for place, (head, relation) in enumerate(
                zip(heads[begin:end].tolist(), relations[begin:end].tolist(), strict=True), 1
            )
        ]
        for head, place, name in basic:
            if not 0 <= head <= end - begin or head == place:
                raise ValueError("heads must be other words of the caption, or 0")
            if (head == 0) != (name == "root"):
                raise ValueError("words without a head must be roots")
        found.append(tuples_of_graph(enhanced_graph([table[token] for token in tokens[begin:end].tolist()], basic)))
    return found
