"""METEOR's alignment of a candidate with a reference, in plain Python: what the C++ twin must compute.

A match pairs words of the candidate with words of the reference. Four modules propose matches; a beam search picks
matches that do not overlap, covering many words in few chunks. What looks odd here is what METEOR 1.5 does, and it
decides ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from capeval.engine.phrases import Occurrence

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
BEAM = 40


class Match(NamedTuple):
    module: int
    start: int
    """First word in the reference."""
    length: int
    candidate_start: int
    candidate_length: int

    @property
    def distance(self) -> int:
        return abs(self.start - self.candidate_start)


class Caption(NamedTuple):
    words: list[int]
    phrases: list[Occurrence]


class Knowledge(NamedTuple):
    """What is known of each distinct word, and the paraphrases of each phrase."""

    keys: list[int]
    """Equal for words that count as the same."""
    stems: list[int]
    is_function: list[int]
    meanings: list[frozenset[int]]
    links: list[list[int]]


def align(candidate: Caption, reference: Caption, known: Knowledge) -> list[Match]:
    """The chosen matches in the order of the reference."""
    ours = [known.keys[word] for word in candidate.words]
    theirs = [known.keys[word] for word in reference.words]
    proposed: list[list[Match]] = [[] for _ in theirs]
    pairs = [(j, i) for j in range(len(theirs)) for i in range(len(ours))]
    for j, i in pairs:
        if theirs[j] == ours[i]:
            proposed[j].append(Match(EXACT, j, 1, i, 1))
    if ours != theirs:
        different = [(j, i) for j, i in pairs if theirs[j] != ours[i]]
        for j, i in different:
            if known.stems[reference.words[j]] == known.stems[candidate.words[i]]:
                proposed[j].append(Match(STEM, j, 1, i, 1))
        for j, i in different:
            if not known.meanings[reference.words[j]].isdisjoint(known.meanings[candidate.words[i]]):
                proposed[j].append(Match(SYNONYM, j, 1, i, 1))
        # The table's pairs have a direction, and both are tried.
        for there, here in _paraphrase_pairs(reference, candidate, known.links):
            proposed[there.start].append(Match(PARAPHRASE, there.start, there.length, here.start, here.length))
        for here, there in _paraphrase_pairs(candidate, reference, known.links):
            proposed[there.start].append(Match(PARAPHRASE, there.start, there.length, here.start, here.length))
    return _search(proposed, _only_choices(proposed, len(ours)))


def _paraphrase_pairs(
    sources: Caption, targets: Caption, links: list[list[int]]
) -> Iterator[tuple[Occurrence, Occurrence]]:
    places: dict[int, list[Occurrence]] = {}
    for target in targets.phrases:
        places.setdefault(target.phrase, []).append(target)
    for source in sources.phrases:
        for phrase in links[source.phrase]:
            for target in places.get(phrase, ()):
                yield source, target


def _only_choices(proposed: list[list[Match]], candidate_length: int) -> list[Match | None]:
    """For each reference position the match that begins there, if none of its words is in another match."""
    ours, theirs = [0] * candidate_length, [0] * len(proposed)
    for matches in proposed:
        for match in matches:
            for j in range(match.start, match.start + match.length):
                theirs[j] += 1
            for i in range(match.candidate_start, match.candidate_start + match.candidate_length):
                ours[i] += 1

    def is_alone(match: Match) -> bool:
        return all(count == 1 for count in theirs[match.start : match.start + match.length]) and all(
            count == 1 for count in ours[match.candidate_start : match.candidate_start + match.candidate_length]
        )

    return [matches[0] if len(matches) == 1 and is_alone(matches[0]) else None for matches in proposed]


@dataclass(slots=True)
class _Path:
    """A way through the reference up to `place`."""

    matched: int = 0
    chunks: int = 0
    distance: int = 0
    place: int = 0
    chunk_end: int | None = None
    """Where in the candidate the open chunk would go on."""
    used: int = 0
    """The candidate's matched words, one bit each."""
    matches: tuple[Match, ...] = ()

    def rank(self) -> tuple[int, int, int]:
        return -self.matched, self.chunks, self.distance

    def take(self, match: Match) -> None:
        # METEOR's weights here are 1 and 0.5, and it drops the fraction after each addition, on each side.
        whole = match.module == EXACT
        self.matched += match.length if whole else match.length // 2
        self.matched += match.candidate_length if whole else match.candidate_length // 2
        if self.chunk_end is not None and self.chunk_end != match.candidate_start:
            self.chunks += 1
        self.chunk_end = match.candidate_start + match.candidate_length
        self.place = match.start + match.length
        self.used |= _bits(match)
        self.matches += (match,)

    def close_chunk(self) -> None:
        if self.chunk_end is not None:
            self.chunks += 1
        self.chunk_end = None


def _bits(match: Match) -> int:
    return ((1 << match.candidate_length) - 1) << match.candidate_start


def _search(proposed: list[list[Match]], fixed: list[Match | None]) -> list[Match]:
    paths = [_Path()]
    for place, (matches, only) in enumerate(zip(proposed, fixed)):
        paths.sort(key=_Path.rank)
        following = []
        for path in paths[:BEAM]:
            if only is not None:
                path.take(only)
                path.distance += only.distance
            elif path.place <= place:
                for match in matches:
                    if not path.used & _bits(match):
                        child = replace(path)
                        child.take(match)
                        following.append(child)
                        # The distance goes to the parent, once the child was copied: a child has that of its elder
                        # siblings, not its own.
                        path.distance += match.distance
                path.close_chunk()
                path.place += 1
            following.append(path)
        paths = following
    paths.sort(key=_Path.rank)
    paths = paths[:BEAM]
    for path in paths:
        path.close_chunk()
    return list(min(paths, key=_Path.rank).matches)
