"""CIDEr's score of one caption, n-gram by n-gram: what each weighs, and what it adds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from capeval.metrics.explaining import weighed
from capeval.types import Explanation

# N-grams that the candidate lacks which are shown, those that weigh most first.
_MISSING = 8

Gram = tuple[str, ...]
Weights = Mapping[Gram, float]


def explanation(
    facts: Mapping[str, str | float],
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    n: int,
    idf: Callable[[Gram], float],
    clip: bool,
    sigma: float,
) -> Explanation:
    """What n-grams add is added up to the score, by the formula of the engine's `cider_stats`.

    A word has its share of what the n-grams add that it is in.
    """
    adds: dict[Gram, float] = defaultdict(float)
    ours = _weights(candidate, n, idf)
    theirs = [_weights(each, n, idf) for each in references]
    for reference, weights in zip(references, theirs):
        gap = max(0, len(candidate) - 1) - max(0, len(reference) - 1) if n > 1 else 0
        penalty = math.exp(-(gap**2) / (2 * sigma**2))
        for gram, mine in ours.items():
            if gram not in weights:
                continue
            scale = _norm(ours, len(gram)) * _norm(weights, len(gram)) or 1.0
            product = (min(mine, weights[gram]) if clip else mine) * weights[gram]
            adds[gram] += 10 * penalty * product / scale / n / len(references)
    counts = Counter(_grams(candidate, n))
    rows: list[tuple[str | float, ...]] = [
        (" ".join(gram), counts[gram], sum(gram in each for each in theirs), idf(gram), adds[gram])
        for gram in sorted(counts, key=lambda gram: (-adds[gram], -idf(gram), gram))
    ]
    missing = {gram: sum(gram in each for each in theirs) for each in theirs for gram in each if gram not in counts}
    heaviest = sorted(missing, key=lambda gram: (-missing[gram] * idf(gram), gram))[:_MISSING]
    rows += [(" ".join(gram), 0, missing[gram], idf(gram), 0.0) for gram in heaviest]
    shares = [0.0] * len(candidate)
    for size in range(1, n + 1):
        for start in range(len(candidate) - size + 1):
            gram = tuple(candidate[start : start + size])
            for place in range(start, start + size):
                shares[place] += adds[gram] / counts[gram] / size
    return Explanation(
        " / ".join(" ".join(each) for each in references),
        facts,
        ("n-gram", "count", "references with it", "idf", "adds"),
        rows,
        weighed(candidate, shares),
    )


def _grams(words: Sequence[str], n: int) -> list[Gram]:
    return [tuple(words[i : i + size]) for size in range(1, n + 1) for i in range(len(words) - size + 1)]


def _weights(words: Sequence[str], n: int, idf: Callable[[Gram], float]) -> Weights:
    return {gram: count * idf(gram) for gram, count in Counter(_grams(words, n)).items()}


def _norm(weights: Weights, size: int) -> float:
    return math.sqrt(sum(weight**2 for gram, weight in weights.items() if len(gram) == size))
