"""Scene graphs of captions compared, in plain Python: what the C++ twin must compute."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capeval.engine.checks import check_array, check_offsets, check_range, check_rows, check_threads
from capeval.scene.scene_graph import COLUMNS, SceneGraph, compare
from capeval.types import Array, Ints

Longs = npt.NDArray[np.int64]

ABSENT = -1
SORTS = ("", *COLUMNS[3:])
"""What the numbers in `sorts` mean."""


def scene_stats(
    tuples: Ints,
    tuple_offsets: Longs,
    synsets: Ints,
    synset_offsets: Longs,
    sorts: npt.NDArray[np.uint8],
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array:
    """Matched tuples, tuples of the candidate and tuples of the references, for each of `COLUMNS` in turn.

    The tuples of caption c are the rows `tuple_offsets[c]:tuple_offsets[c + 1]` of `tuples`: numbers of words, filled
    up with -1. The synsets of word w, ascending, are `synsets[synset_offsets[w]:synset_offsets[w + 1]]`, and `sorts[w]`
    is the sort of attribute that it is.
    """
    check_threads(threads)
    check_tuples(tuples, tuple_offsets, synsets, synset_offsets, sorts)
    check_rows(candidate, group, group_offsets, group_captions, len(tuple_offsets) - 1)

    def meanings(word: str) -> list[int]:
        first, last = synset_offsets[int(word) : int(word) + 2].tolist()
        found: list[int] = synsets[first:last].tolist()
        return found

    def graph_of(captions: list[int]) -> SceneGraph:
        rows = [row for c in captions for row in tuples[tuple_offsets[c] : tuple_offsets[c + 1]].tolist()]
        return SceneGraph(([str(word) for word in row if word != ABSENT] for row in rows), meanings)

    stats = np.zeros((len(candidate), 3 * len(COLUMNS)))
    for g in np.unique(group).tolist():
        reference = graph_of(group_captions[group_offsets[g] : group_offsets[g + 1]].tolist())
        for row in np.flatnonzero(group == g).tolist():
            counts = compare(graph_of([int(candidate[row])]), reference, lambda word: SORTS[sorts[int(word)]])
            stats[row] = [number for each in counts for number in each]
    return stats


def check_tuples(
    tuples: Ints, tuple_offsets: Longs, synsets: Ints, synset_offsets: Longs, sorts: npt.NDArray[np.uint8]
) -> None:
    check_array(tuples, np.int32, 2, "tuples")
    if tuples.shape[1] != 3:
        raise ValueError("tuples must have three columns")
    check_offsets(tuple_offsets, len(tuples), "tuple_offsets", "tuples")
    check_array(synsets, np.int32, 1, "synsets")
    check_offsets(synset_offsets, len(synsets), "synset_offsets", "synsets")
    words = len(synset_offsets) - 1
    check_range(tuples[:, 0], words, "tuples must begin with a word")
    if len(tuples) and (tuples.min() < ABSENT or tuples.max() >= words):
        raise ValueError("tuples must hold numbers of words, or -1")
    if ((tuples[:, 1] == ABSENT) & (tuples[:, 2] != ABSENT)).any():
        raise ValueError("tuples must be filled up with -1 at the end")
    check_array(sorts, np.uint8, 1, "sorts")
    if len(sorts) != words or (sorts >= len(SORTS)).any():
        raise ValueError(f"sorts must hold a number below {len(SORTS)} for each word")
