"""Scene graphs: tuples merged by meaning, and how two graphs are compared. What the C++ twin must compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from capeval.engine.checks import check_array, check_offsets, check_range, check_rows, check_threads
from capeval.engine.rows import rows_by_set
from capeval.types import Array, Bytes, Ints, Longs, Rows

COLUMNS = ("object", "attribute", "relation", "cardinality", "color", "size")
"""The kinds of tuples that are counted; the last three are attributes of a certain kind."""
ATTRIBUTE_KINDS = ("", *COLUMNS[3:])
"""What the numbers in `attribute_kinds` mean."""
ABSENT = -1

Meanings = Callable[[str], Iterable[int]]
KindOf = Callable[[str], str]


def scene_stats(
    tuples: Ints,
    tuple_offsets: Longs,
    synsets: Ints,
    synset_offsets: Longs,
    attribute_kinds: Bytes,
    rows: Rows,
    threads: int,
) -> Array:
    """Matched tuples, tuples of the candidate and tuples of the references, for each of `COLUMNS` in turn.

    The tuples of caption c are the rows `tuple_offsets[c]:tuple_offsets[c + 1]` of `tuples`: numbers of words, filled
    up with -1. The synsets of word w, ascending, are `synsets[synset_offsets[w]:synset_offsets[w + 1]]`, and
    `attribute_kinds[w]` is the kind of attribute that it is, a number of `ATTRIBUTE_KINDS`.
    """
    check_threads(threads)
    check_tuples(tuples, tuple_offsets, synsets, synset_offsets, attribute_kinds)
    check_rows(rows, len(tuple_offsets) - 1)

    def meanings(word: str) -> list[int]:
        first, last = synset_offsets[int(word) : int(word) + 2].tolist()
        found: list[int] = synsets[first:last].tolist()
        return found

    def graph_of(captions: list[int]) -> ConceptGraph:
        numbers = [row for c in captions for row in tuples[tuple_offsets[c] : tuple_offsets[c + 1]].tolist()]
        return ConceptGraph(([str(word) for word in row if word != ABSENT] for row in numbers), meanings)

    stats = np.zeros((len(rows.candidate), 3 * len(COLUMNS)))
    for references, numbers in rows_by_set(rows):
        theirs = graph_of(references)
        for row in numbers:
            ours = graph_of([int(rows.candidate[row])])
            counts = compare(ours, theirs, lambda word: ATTRIBUTE_KINDS[attribute_kinds[int(word)]])
            stats[row] = [number for each in counts for number in each]
    return stats


def check_tuples(
    tuples: Ints, tuple_offsets: Longs, synsets: Ints, synset_offsets: Longs, attribute_kinds: Bytes
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
    check_array(attribute_kinds, np.uint8, 1, "attribute_kinds")
    if len(attribute_kinds) != words or (attribute_kinds >= len(ATTRIBUTE_KINDS)).any():
        raise ValueError(f"attribute_kinds must hold a number below {len(ATTRIBUTE_KINDS)} for each word")


class Concept:
    """Words that were found to mean the same, and all their synsets."""

    __slots__ = ("synsets", "words")

    def __init__(self, word: str, synsets: Iterable[int]) -> None:
        self.words = {word: None}  # a dict, because a set forgets the order
        self.synsets = set(synsets)

    def __str__(self) -> str:
        return "/".join(self.words)

    def equals(self, other: Concept) -> bool:
        return self.words.keys() == other.words.keys() and self.synsets == other.synsets

    def resembles(self, other: Concept) -> bool:
        """Whether a word or a synset is shared."""
        return not (self.words.keys().isdisjoint(other.words) and self.synsets.isdisjoint(other.synsets))

    def similarity(self, other: Concept) -> float:
        if not self.words.keys().isdisjoint(other.words):
            return 1.0
        shared = len(self.synsets & other.synsets)
        return shared / (len(self.synsets) + len(other.synsets) - shared) if shared else 0.0

    def absorb(self, other: Concept) -> None:
        self.words.update(other.words)
        self.synsets |= other.synsets


class ConceptGraph:
    """Tuples merged by meaning. Attributes are (object, attribute), relations (subject, relation, object)."""

    def __init__(self, tuples: Iterable[Sequence[str]], meanings: Meanings) -> None:
        self.objects: list[Concept] = []
        self.attributes: list[tuple[Concept, Concept]] = []
        self.relations: list[tuple[Concept, Concept, Concept]] = []
        self._meanings = meanings
        for each in tuples:
            self.add(each)

    def add(self, parts: Sequence[str]) -> None:
        """Takes in `(object,)`, `(object, attribute)` or `(subject, object, relation)`."""
        if len(parts) == 1:
            self._object(parts[0])
        elif len(parts) == 2:
            self._add_attribute(self._object(parts[0]), self._concept(parts[1]))
        else:
            subject, thing = self._object(parts[0]), self._object(parts[1])
            self._add_relation(subject, self._concept(parts[2].removeprefix("be ")), thing)

    def tuples(self) -> list[tuple[Concept, ...]]:
        return [*((each,) for each in self.objects), *self.attributes, *self.relations]

    def _concept(self, words: str) -> Concept:
        return Concept(words, self._meanings(words))

    def _object(self, word: str) -> Concept:
        """The object that the word stands for: the same one, else the most similar, else a new one."""
        new = self._concept(word)
        for known in self.objects:
            if known.equals(new):
                return known
        best = max(self.objects, key=new.similarity, default=None)  # the first of the best
        if best is None or not best.resembles(new):
            self.objects.append(new)
            return new
        best.absorb(new)
        return best

    def _add_attribute(self, owner: Concept, new: Concept) -> None:
        if not _merge(new, [attribute for thing, attribute in self.attributes if thing is owner]):
            self.attributes.append((owner, new))

    def _add_relation(self, subject: Concept, new: Concept, thing: Concept) -> None:
        known = [relation for one, relation, other in self.relations if one is subject and other is thing]
        if not _merge(new, known):
            self.relations.append((subject, new, thing))


def _merge(new: Concept, known: list[Concept]) -> bool:
    """Whether one of the known concepts could take the new one in.

    Where several could, the official tool takes any: it walks a hash set whose order changes from run to run. Of the
    three official outputs known to depend on it, two are those of taking the last one, as is done here.
    """
    if any(each.equals(new) for each in known):
        return True
    for each in reversed(known):
        if each.resembles(new):
            each.absorb(new)
            return True
    return False


class TupleCounts(NamedTuple):
    """Tuples of one kind: matched ones of the candidate, all of the candidate, all of the references."""

    matched: int
    candidate: int
    reference: int


def compare(candidate: ConceptGraph, reference: ConceptGraph, kind_of: KindOf) -> list[TupleCounts]:
    """The counts of each kind, in the order of `COLUMNS`. A tuple of the references may serve several times."""
    counts = [
        _count([(each,) for each in candidate.objects], [(each,) for each in reference.objects]),
        _count(candidate.attributes, reference.attributes),
        _count(candidate.relations, reference.relations),
    ]
    for kind in COLUMNS[3:]:
        counts.append(_count(_of_kind(candidate, kind, kind_of), _of_kind(reference, kind, kind_of)))
    return counts


def _of_kind(graph: ConceptGraph, kind: str, kind_of: KindOf) -> list[tuple[Concept, Concept]]:
    """Attributes of one kind. One that was merged from several words is of none."""
    return [each for each in graph.attributes if len(each[1].words) == 1 and kind_of(str(each[1])) == kind]


def _count(candidate: Sequence[tuple[Concept, ...]], reference: Sequence[tuple[Concept, ...]]) -> TupleCounts:
    matched = sum(any(alike(each, other) for other in reference) for each in candidate)
    return TupleCounts(matched, len(candidate), len(reference))


def alike(one: tuple[Concept, ...], other: tuple[Concept, ...]) -> bool:
    return len(one) == len(other) and all(a.resembles(b) for a, b in zip(one, other))
