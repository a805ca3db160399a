"""The engine in plain Python and NumPy: what the C++ twin must compute, written to be read.

Captions are runs of integers: caption c is `tokens[offsets[c]:offsets[c + 1]]`. A row is one candidate caption
(`candidate`, an index of a caption) judged by one reference set (`group`, an index of a set); set g is
`group_captions[group_offsets[g]:group_offsets[g + 1]]`, again indices of captions.

`threads` is there for the C++ twin. Sums run in ascending order of n-gram number in both engines, so that both round
alike.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from capeval.engine.alignment import find_phrases as find_phrases
from capeval.engine.alignment import meteor_stats as meteor_stats
from capeval.engine.checks import (
    check_array,
    check_captions,
    check_grams,
    check_order,
    check_range,
    check_rows,
    check_sets,
    check_threads,
)
from capeval.engine.network import parse_network as parse_network
from capeval.engine.ranking import rank_stats as rank_stats
from capeval.engine.resampling import resample as resample
from capeval.engine.rules import dependency_tuples as dependency_tuples
from capeval.engine.scanning import scan as scan
from capeval.engine.scenes import scene_stats as scene_stats
from capeval.engine.transport import transport as transport
from capeval.engine.transport import wmd_stats as wmd_stats
from capeval.types import Array, Ints

Longs = npt.NDArray[np.int64]

PADDING = -1


def simd() -> str:
    """Which vector instructions the loops are compiled for: `avx2` in the C++ twin, where the machine has them."""
    return "none"


def ngrams(tokens: Ints, offsets: Longs, n: int, threads: int) -> tuple[Ints, Ints, Longs, Ints]:
    """The distinct n-grams of every caption: `(ids, counts, gram_offsets, grams)`.

    Those of caption c and order k stand at `gram_offsets[c * n + k - 1]:gram_offsets[c * n + k]`, ids ascending.
    Ids are given in order of first occurrence: captions in order, then orders, then positions. Row g of `grams` holds
    the tokens of gram g, padded with -1.
    """
    check_threads(threads)
    check_order(n)
    check_captions(tokens, offsets)
    number: dict[tuple[int, ...], int] = {}
    ids, counts, bounds = array("i"), array("i"), array("q", [0])
    for first, last in pairwise(offsets.tolist()):
        caption = tuple(tokens[first:last].tolist())
        for k in range(1, n + 1):
            found: dict[int, int] = {}
            for start in range(len(caption) - k + 1):
                gram = number.setdefault(caption[start : start + k], len(number))
                found[gram] = found.get(gram, 0) + 1
            ordered = sorted(found)
            ids.extend(ordered)
            counts.extend([found[gram] for gram in ordered])
            bounds.append(len(ids))
    rows = array("i")
    for words in number:
        rows.extend(words + (PADDING,) * (n - len(words)))
    grams = np.array(rows, dtype=np.int32).reshape(len(number), n)
    return np.array(ids, dtype=np.int32), np.array(counts, dtype=np.int32), np.array(bounds, dtype=np.int64), grams


def document_frequency(
    ids: Ints, gram_offsets: Longs, n: int, group_offsets: Longs, group_captions: Ints, size: int, threads: int
) -> Ints:
    """In how many reference sets each of the `size` grams occurs, each set counted once."""
    check_threads(threads)
    captions = check_grams(ids, ids, gram_offsets, n)
    check_sets(group_offsets, group_captions, captions)
    if size < 0:
        raise ValueError("size must not be negative")
    check_range(ids, size, "ids must be below size")
    sets_with = np.zeros(size, dtype=np.int32)
    for references in _sets(group_offsets, group_captions):
        occurring = [ids[gram_offsets[c * n] : gram_offsets[(c + 1) * n]] for c in references]
        if occurring:
            sets_with[np.unique(np.concatenate(occurring))] += 1
    return sets_with


def match_grams(grams: Ints, table: Ints, threads: int) -> Ints:
    """For each row of `grams` the index of the equal row of `table`, else -1.

    Table rows with a number below -1 (words that the vocabulary does not have) match nothing.
    """
    check_threads(threads)
    check_array(grams, np.int32, 2, "grams")
    check_array(table, np.int32, 2, "table")
    if not grams.shape[1] or grams.shape[1] != table.shape[1]:
        raise ValueError("grams and table must have equally many columns")
    known = np.flatnonzero((table >= PADDING).all(axis=1))
    place: dict[bytes, int] = {}
    for index in known.tolist():
        place.setdefault(table[index].tobytes(), index)
    return np.array([place.get(gram.tobytes(), -1) for gram in grams], dtype=np.int32)


def bleu_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    n: int,
    offsets: Longs,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array:
    """Per row: correct_1..n, guess_1..n, candidate length, closest reference length (of equals the shorter)."""
    check_threads(threads)
    captions = check_grams(ids, counts, gram_offsets, n)
    check_array(offsets, np.int64, 1, "offsets")
    if len(offsets) != captions + 1:
        raise ValueError("offsets and gram_offsets disagree on the number of captions")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets must rise")
    check_rows(candidate, group, group_offsets, group_captions, captions)
    lengths = np.diff(offsets).tolist()
    stats = np.zeros((len(candidate), 2 * n + 2))
    for references, rows in _rows_by_set(group, group_offsets, group_captions):
        most: dict[int, int] = {}  # largest count of a gram in any one reference
        for reference in references:
            span = slice(gram_offsets[reference * n], gram_offsets[(reference + 1) * n])
            for gram, count in zip(ids[span].tolist(), counts[span].tolist()):
                most[gram] = max(count, most.get(gram, 0))
        for row in rows:
            caption = int(candidate[row])
            length = lengths[caption]
            for k in range(1, n + 1):
                span = _span(gram_offsets, n, caption, k)
                pairs = zip(ids[span].tolist(), counts[span].tolist())
                stats[row, k - 1] = sum(min(count, most.get(gram, 0)) for gram, count in pairs)
                stats[row, n + k - 1] = max(0, length - k + 1)
            stats[row, 2 * n] = length
            reference_lengths = [lengths[reference] for reference in references]
            stats[row, 2 * n + 1] = min(reference_lengths, key=lambda r: (abs(r - length), r), default=0)
    return stats


def rouge_stats(
    tokens: Ints,
    offsets: Longs,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array:
    """Per row: largest precision and largest recall of the longest common subsequence over the references.

    The two maxima may come from different references.
    """
    check_threads(threads)
    check_captions(tokens, offsets)
    check_rows(candidate, group, group_offsets, group_captions, len(offsets) - 1)
    stats = np.zeros((len(candidate), 2))
    for references, rows in _rows_by_set(group, group_offsets, group_captions):
        reference_words = [tokens[offsets[r] : offsets[r + 1]].tolist() for r in references]
        for row in rows:
            words = tokens[offsets[candidate[row]] : offsets[candidate[row] + 1]].tolist()
            for others in reference_words:
                if words and others:
                    common = _longest_common_subsequence(words, others)
                    stats[row, 0] = max(stats[row, 0], common / len(words))
                    stats[row, 1] = max(stats[row, 1], common / len(others))
    return stats


def cider_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    n: int,
    idf: Array,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    clip: bool,
    sigma: float,
    threads: int,
) -> Array:
    """Per row and order: mean over the references of the cosine of tf-idf vectors, times a length penalty.

    `clip` cuts the candidate's weights to the reference's before the product (CIDEr-D). `sigma` is the width of the
    penalty; infinity means none.
    """
    check_threads(threads)
    captions = check_grams(ids, counts, gram_offsets, n)
    check_array(idf, np.float64, 1, "idf")
    check_rows(candidate, group, group_offsets, group_captions, captions)
    check_range(ids, len(idf), "ids must be below the length of idf")
    if not 2 * sigma * sigma > 0:
        raise ValueError("sigma must be positive")
    weights = counts * idf[ids]
    # bincount adds one by one in the order given; np.sum would add in pairs, and round differently from the C++ twin.
    slices = np.repeat(np.arange(captions * n), np.diff(gram_offsets))
    norms = np.sqrt(np.bincount(slices, weights * weights, minlength=captions * n)).tolist()
    bigrams = _count_bigrams(counts, gram_offsets, n)
    stats = np.zeros((len(candidate), n))
    for references, rows in _rows_by_set(group, group_offsets, group_captions):
        for row in rows:
            caption = int(candidate[row])
            for k in range(1, n + 1):
                span = _span(gram_offsets, n, caption, k)
                ours = dict(zip(ids[span].tolist(), weights[span].tolist()))
                total = 0.0
                for reference in references:
                    product = 0.0
                    span = _span(gram_offsets, n, reference, k)
                    for gram, theirs in zip(ids[span].tolist(), weights[span].tolist()):
                        if gram in ours:
                            product += (min(ours[gram], theirs) if clip else ours[gram]) * theirs
                    scale = norms[caption * n + k - 1] * norms[reference * n + k - 1]
                    if scale:
                        product /= scale
                    # Inherited quirk: the length the penalty compares is the number of bigrams, not of words.
                    delta = float(bigrams[caption] - bigrams[reference])
                    total += product * math.exp(-(delta * delta) / (2 * sigma * sigma))
                if references:
                    stats[row, k - 1] = total / len(references)
    return stats


def _longest_common_subsequence(a: list[int], b: list[int]) -> int:
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for j, other in enumerate(b, start=1):
            above = row[j]
            row[j] = diagonal + 1 if word == other else max(above, row[j - 1])
            diagonal = above
    return row[-1]


def _count_bigrams(counts: Ints, gram_offsets: Longs, n: int) -> list[int]:
    """Bigrams per caption, repeated ones too; none when bigrams were not counted (n = 1)."""
    captions = (len(gram_offsets) - 1) // n
    if n < 2:
        return [0] * captions
    up_to = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    totals: list[int] = (up_to[gram_offsets[2::n]] - up_to[gram_offsets[1::n]]).tolist()
    return totals


def _span(gram_offsets: Longs, n: int, caption: int, k: int) -> slice:
    return slice(gram_offsets[caption * n + k - 1], gram_offsets[caption * n + k])


def _sets(group_offsets: Longs, group_captions: Ints) -> Iterator[list[int]]:
    for first, last in pairwise(group_offsets.tolist()):
        yield group_captions[first:last].tolist()


def _rows_by_set(group: Ints, group_offsets: Longs, group_captions: Ints) -> Iterator[tuple[list[int], list[int]]]:
    """Each reference set in use with the rows that are judged by it, so that work on the set is done once."""
    by_set = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[by_set], np.arange(len(group_offsets)))
    for g, references in enumerate(_sets(group_offsets, group_captions)):
        if bounds[g] < bounds[g + 1]:
            yield references, by_set[bounds[g] : bounds[g + 1]].tolist()
