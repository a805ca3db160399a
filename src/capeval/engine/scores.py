"""The statistics of BLEU, ROUGE-L and CIDEr, in plain Python: what the C++ twin must compute.

Sums run in ascending order of n-gram number in both engines, so that both round alike.
"""

from __future__ import annotations

import math

import numpy as np

from capeval.engine.checks import check_array, check_captions, check_grams, check_range, check_rows, check_threads
from capeval.engine.rows import rows_by_set
from capeval.types import Array, Ints, Longs, Rows


def bleu_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    n: int,
    offsets: Longs,
    rows: Rows,
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
    check_rows(rows, captions)
    lengths = np.diff(offsets).tolist()
    stats = np.zeros((len(rows.candidate), 2 * n + 2))
    for references, numbers in rows_by_set(rows):
        most: dict[int, int] = {}  # largest count of a gram in any one reference
        for reference in references:
            span = slice(gram_offsets[reference * n], gram_offsets[(reference + 1) * n])
            for gram, count in zip(ids[span].tolist(), counts[span].tolist()):
                most[gram] = max(count, most.get(gram, 0))
        for row in numbers:
            caption = int(rows.candidate[row])
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
    rows: Rows,
    threads: int,
) -> Array:
    """Per row: largest precision and largest recall of the longest common subsequence over the references.

    The two maxima may come from different references.
    """
    check_threads(threads)
    check_captions(tokens, offsets)
    check_rows(rows, len(offsets) - 1)
    stats = np.zeros((len(rows.candidate), 2))
    for references, numbers in rows_by_set(rows):
        reference_words = [tokens[offsets[r] : offsets[r + 1]].tolist() for r in references]
        for row in numbers:
            caption = int(rows.candidate[row])
            words = tokens[offsets[caption] : offsets[caption + 1]].tolist()
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
    rows: Rows,
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
    check_rows(rows, captions)
    check_range(ids, len(idf), "ids must be below the length of idf")
    if not 2 * sigma * sigma > 0:
        raise ValueError("sigma must be positive")
    weights = counts * idf[ids]
    # bincount adds one by one in the order given; np.sum would add in pairs, and round differently from the C++ twin.
    slices = np.repeat(np.arange(captions * n), np.diff(gram_offsets))
    norms = np.sqrt(np.bincount(slices, weights * weights, minlength=captions * n)).tolist()
    bigrams = _count_bigrams(counts, gram_offsets, n)
    stats = np.zeros((len(rows.candidate), n))
    for references, numbers in rows_by_set(rows):
        for row in numbers:
            caption = int(rows.candidate[row])
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
