"""METEOR's alignment of a candidate with a reference, in plain Python. The compiled engine has twins of
`find_phrases` and `meteor_stats`.

A match pairs words of the candidate with words of the reference. Four modules propose matches; a beam search picks
matches that do not overlap, covering many words in few chunks. What looks odd here is what METEOR 1.5 does, and it
decides ties.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capeval.engine.checks import check_array, check_captions, check_offsets, check_range, check_rows, check_threads
from capeval.types import Array, Ints

Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]
T = TypeVar("T")

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
BEAM = 40

# Columns of the statistics: words, words, function words, function words (candidate and reference); then for each
# module the matched content words and function words (candidate, reference, candidate, reference); then chunks.
LENGTHS, MATCHED, CHUNKS = slice(0, 4), slice(4, 20), 20
COLUMNS = 21


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


class Occurrence(NamedTuple):
    """A phrase of the paraphrase table in a caption."""

    start: int
    length: int
    phrase: int


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


def meteor_stats(
    tokens: Ints,
    offsets: Longs,
    keys: Ints,
    stems: Ints,
    is_function: Flags,
    synsets: Ints,
    synset_offsets: Longs,
    starts: Ints,
    lengths: Ints,
    phrases: Ints,
    phrase_offsets: Longs,
    links: Ints,
    link_offsets: Longs,
    parameters: Array,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array:
    """Per row the statistics against the best reference: that of highest score, the first of several."""
    check_threads(threads)
    check_captions(tokens, offsets)
    _check_words(tokens, keys, stems, is_function, synsets, synset_offsets)
    _check_occurrences(offsets, starts, lengths, phrases, phrase_offsets, links, link_offsets)
    check_array(parameters, np.float64, 1, "parameters")
    if len(parameters) != 8:
        raise ValueError("parameters must be alpha, beta, gamma, delta and the weights of the four modules")
    check_rows(candidate, group, group_offsets, group_captions, len(offsets) - 1)
    captions = captions_of(tokens, offsets, starts, lengths, phrases, phrase_offsets)
    known = knowledge_of(keys, stems, is_function, synsets, synset_offsets, links, link_offsets)
    stats = np.zeros((len(candidate), COLUMNS))
    for row, number in enumerate(candidate.tolist()):
        ours = captions[number]
        references = group_captions[group_offsets[group[row]] : group_offsets[group[row] + 1]].tolist()
        found = [statistics(ours, captions[r], align(ours, captions[r], known), known) for r in references]
        if found:
            stats[row] = found[int(np.argmax(scores(np.array(found), parameters)))]
    return stats


def captions_of(
    tokens: Ints, offsets: Longs, starts: Ints, lengths: Ints, phrases: Ints, phrase_offsets: Longs
) -> list[Caption]:
    occurrences = [Occurrence(*each) for each in zip(starts.tolist(), lengths.tolist(), phrases.tolist())]
    words = _slices(tokens.tolist(), offsets)
    return [Caption(*each) for each in zip(words, _slices(occurrences, phrase_offsets))]


def knowledge_of(
    keys: Ints,
    stems: Ints,
    is_function: Flags,
    synsets: Ints,
    synset_offsets: Longs,
    links: Ints,
    link_offsets: Longs,
) -> Knowledge:
    meanings = [frozenset(each) for each in _slices(synsets.tolist(), synset_offsets)]
    related = _slices(links.tolist(), link_offsets)
    return Knowledge(keys.tolist(), stems.tolist(), is_function.tolist(), meanings, related)


def scores(stats: Array, parameters: Array) -> Array:
    """The score of each row of statistics [..., columns]. What METEOR cannot divide gets 0."""
    alpha, beta, gamma, delta, *weights = parameters.tolist()
    precision, recall, fragmentation = precision_recall_fragmentation(stats, delta, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = 1.0 / ((1.0 - alpha) / precision + alpha / recall)
        score = mean * (1.0 - gamma * fragmentation**beta)
    return np.asarray(np.where(np.isnan(score), 0.0, np.maximum(score, 0.0)))


def precision_recall_fragmentation(stats: Array, delta: float, weights: Sequence[float]) -> tuple[Array, Array, Array]:
    lengths = np.moveaxis(stats[..., LENGTHS], -1, 0)
    matched = np.moveaxis(stats[..., MATCHED], -1, 0)
    chunks = stats[..., CHUNKS]

    def share(side: int) -> Array:
        total = np.zeros(stats.shape[:-1])
        for module, weight in enumerate(weights):
            total = total + matched[4 * module + side] * weight * delta
        for module, weight in enumerate(weights):
            total = total + matched[4 * module + side + 2] * weight * (1.0 - delta)
        functions = lengths[side + 2]
        return np.asarray(total / (delta * (lengths[side] - functions) + (1.0 - delta) * functions))

    with np.errstate(divide="ignore", invalid="ignore"):
        fragmentation = np.where(is_perfect(stats), 0.0, chunks / (matched.sum(axis=0) / 2.0))
        return share(0), share(1), fragmentation


def is_perfect(stats: Array) -> npt.NDArray[np.bool_]:
    """Whether every word on both sides is matched, all in one chunk."""
    matched = stats[..., MATCHED]
    ours, theirs = matched[..., 0::2].sum(axis=-1), matched[..., 1::2].sum(axis=-1)
    return np.asarray((ours == stats[..., 0]) & (theirs == stats[..., 1]) & (stats[..., CHUNKS] == 1.0))


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


def statistics(candidate: Caption, reference: Caption, matches: list[Match], known: Knowledge) -> list[float]:
    """The row of statistics of an alignment; see `COLUMNS`."""
    ours = [known.is_function[word] for word in candidate.words]
    theirs = [known.is_function[word] for word in reference.words]
    row = [0.0] * COLUMNS
    row[LENGTHS] = len(ours), len(theirs), sum(ours), sum(theirs)
    for match in matches:
        column = 4 + 4 * match.module
        for is_function in ours[match.candidate_start : match.candidate_start + match.candidate_length]:
            row[column + 2 * is_function] += 1
        for is_function in theirs[match.start : match.start + match.length]:
            row[column + 1 + 2 * is_function] += 1
    row[CHUNKS] = count_chunks(matches)
    return row


def count_chunks(matches: list[Match]) -> int:
    """Runs of matches that follow one another on both sides."""
    breaks = sum(
        before.start + before.length != after.start
        or before.candidate_start + before.candidate_length != after.candidate_start
        for before, after in pairwise(matches)
    )
    return breaks + 1 if matches else 0


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


def _slices(values: list[T], offsets: Longs) -> list[list[T]]:
    return [values[first:last] for first, last in pairwise(offsets.tolist())]


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


def _check_words(
    tokens: Ints, keys: Ints, stems: Ints, is_function: Flags, synsets: Ints, synset_offsets: Longs
) -> None:
    check_array(keys, np.int32, 1, "keys")
    check_array(stems, np.int32, 1, "stems")
    check_array(is_function, np.uint8, 1, "is_function")
    check_array(synsets, np.int32, 1, "synsets")
    check_offsets(synset_offsets, len(synsets), "synset_offsets", "synsets")
    if not len(keys) == len(stems) == len(is_function) == len(synset_offsets) - 1:
        raise ValueError("keys, stems, is_function and synset_offsets must be of the same words")
    check_range(tokens, len(keys), "tokens must be below the number of words")
    if len(is_function) and is_function.max() > 1:
        raise ValueError("is_function must be 0 or 1")
    check_range(synsets, len(synsets), "synsets must be numbered from 0")


def _check_occurrences(
    offsets: Longs,
    starts: Ints,
    lengths: Ints,
    phrases: Ints,
    phrase_offsets: Longs,
    links: Ints,
    link_offsets: Longs,
) -> None:
    for values, name in ((starts, "starts"), (lengths, "lengths"), (phrases, "phrases"), (links, "links")):
        check_array(values, np.int32, 1, name)
    if not len(starts) == len(lengths) == len(phrases):
        raise ValueError("starts, lengths and phrases differ in length")
    check_offsets(phrase_offsets, len(phrases), "phrase_offsets", "phrases")
    check_offsets(link_offsets, len(links), "link_offsets", "links")
    if len(phrase_offsets) != len(offsets):
        raise ValueError("phrase_offsets must have one entry per caption, and one more")
    check_range(phrases, len(link_offsets) - 1, "phrases must be indices of phrases")
    check_range(links, len(link_offsets) - 1, "links must be indices of phrases")
    room = np.repeat(np.diff(offsets), np.diff(phrase_offsets))
    if (starts < 0).any() or (lengths < 1).any() or (starts.astype(np.int64) + lengths > room).any():
        raise ValueError("phrases must lie within their captions")
