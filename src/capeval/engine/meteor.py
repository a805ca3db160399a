"""The statistics of METEOR, in plain Python: what the C++ twin must compute."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from capeval.engine.alignment import Caption, Knowledge, Match, align
from capeval.engine.checks import check_array, check_captions, check_offsets, check_range, check_rows, check_threads
from capeval.engine.phrases import Occurrence
from capeval.engine.rows import references_of
from capeval.types import Array, Bytes, Ints, Longs, Rows

T = TypeVar("T")

# Columns of the statistics: words, words, function words, function words (candidate and reference); then for each
# module the matched content words and function words (candidate, reference, candidate, reference); then chunks.
LENGTHS, MATCHED, CHUNKS = slice(0, 4), slice(4, 20), 20
COLUMNS = 21


def meteor_stats(
    tokens: Ints,
    offsets: Longs,
    keys: Ints,
    stems: Ints,
    is_function: Bytes,
    synsets: Ints,
    synset_offsets: Longs,
    starts: Ints,
    lengths: Ints,
    phrases: Ints,
    phrase_offsets: Longs,
    links: Ints,
    link_offsets: Longs,
    parameters: Array,
    rows: Rows,
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
    check_rows(rows, len(offsets) - 1)
    captions = captions_of(tokens, offsets, starts, lengths, phrases, phrase_offsets)
    known = knowledge_of(keys, stems, is_function, synsets, synset_offsets, links, link_offsets)
    stats = np.zeros((len(rows.candidate), COLUMNS))
    for row, number in enumerate(rows.candidate.tolist()):
        ours, others = captions[number], [captions[reference] for reference in references_of(rows, row)]
        found = [statistics(ours, theirs, align(ours, theirs, known), known) for theirs in others]
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
    is_function: Bytes,
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


def _slices(values: list[T], offsets: Longs) -> list[list[T]]:
    return [values[first:last] for first, last in pairwise(offsets.tolist())]


def _check_words(
    tokens: Ints, keys: Ints, stems: Ints, is_function: Bytes, synsets: Ints, synset_offsets: Longs
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
