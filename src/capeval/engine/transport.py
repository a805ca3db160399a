"""Word Mover's Distance in plain Python: the cheapest way to turn one bag of words into another.

The compiled engine has twins of `transport` and `wmd_stats`. They differ in that the C++ skips references whose lower
bounds show that another reference is closer; the numbers are the same.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from capeval.engine.checks import check_array, check_grams, check_range, check_rows, check_threads
from capeval.engine.rows import references_of
from capeval.types import Array, Floats, Ints, Longs, Rows

Bag = tuple[Ints, Ints]
"""Numbers of words, ascending, and how often each occurs."""

MAX_MASS = 2**31 - 1


def wmd_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    vectors: Floats,
    rows: Rows,
    best: bool,
    threads: int,
) -> Array:
    """Per row: exp(-distance) to the closest reference (`best`), or its mean over the references.

    The bag of caption c is `ids` and `counts` at `gram_offsets[c]:gram_offsets[c + 1]`; word i is at `vectors[i]`.
    An empty bag is similar to nothing.
    """
    check_threads(threads)
    captions = check_grams(ids, counts, gram_offsets, 1)
    check_array(vectors, np.float32, 2, "vectors")
    if not vectors.shape[1]:
        raise ValueError("vectors must have at least one dimension")
    check_range(ids, len(vectors), "ids must be below the number of vectors")
    if not np.isfinite(vectors).all():
        raise ValueError("vectors must be finite")
    _check_bags(ids, counts, gram_offsets)
    check_rows(rows, captions)

    def bag(caption: int) -> Bag:
        span = slice(gram_offsets[caption], gram_offsets[caption + 1])
        return ids[span], counts[span]

    stats = np.zeros((len(rows.candidate), 1))
    for row, caption in enumerate(rows.candidate.tolist()):
        references = references_of(rows, row)
        similar = [math.exp(-distance(bag(caption), bag(reference), vectors)) for reference in references]
        if similar:
            stats[row] = max(similar) if best else math.fsum(similar) / len(similar)
    return stats


def distance(ours: Bag, theirs: Bag, vectors: Floats) -> float:
    """Word Mover's Distance of two bags; infinite when one is empty."""
    if not len(ours[0]) or not len(theirs[0]):
        return math.inf
    words, surplus, whole = excess(ours, theirs)
    giving, taking = surplus > 0, surplus < 0
    cost = distances(vectors[words[giving]], vectors[words[taking]])
    flow = transport(cost, surplus[giving], -surplus[taking])
    return float((flow * cost).sum()) / whole


def excess(ours: Bag, theirs: Bag) -> tuple[Ints, Longs, int]:
    """The words of both bags, by how much each weighs more in ours than in theirs, and the weight of a whole bag.

    Weights are whole numbers: each count is multiplied by the size of the other bag, which makes both bags equally
    heavy. What a word has in both bags can stay where it is, because no detour is shorter than the direct way.
    """
    our_size, their_size = int(ours[1].sum(dtype=np.int64)), int(theirs[1].sum(dtype=np.int64))
    words = np.union1d(ours[0], theirs[0])
    surplus = np.zeros(len(words), np.int64)
    surplus[np.searchsorted(words, ours[0])] += ours[1].astype(np.int64) * their_size
    surplus[np.searchsorted(words, theirs[0])] -= theirs[1].astype(np.int64) * our_size
    return words, surplus, our_size * their_size


def distances(a: Floats, b: Floats) -> Array:
    """Euclidean distance of each row of `a` to each row of `b`."""
    difference = a.astype(np.float64)[:, None, :] - b.astype(np.float64)[None, :, :]
    return np.asarray(np.sqrt(np.square(difference).sum(axis=2)))


def transport(cost: Array, supply: Longs, demand: Longs) -> Longs:
    """How much to move from each supplier (row) to each customer (column) so that the total cost is least.

    Supply and demand are whole numbers with the same total; costs are not negative. Goods are sent along a
    path without detours, time and again; a path may take back what was sent before. Each path moves at least one unit,
    so there is an end to it.
    """
    _check_problem(cost, supply, demand)
    flow = np.zeros(cost.shape, np.int64)
    left, wanted = supply.copy(), demand.copy()
    # Prices of one unit at each supplier and customer. Moving it from i to j is a detour as far as it costs more than
    # the price rises: cost[i, j] - (to_price[j] - from_price[i]). Prices are kept so that this is never negative, and 0
    # wherever goods flow. When nothing is left, such a flow is the cheapest (duality of linear programmes).
    from_price, to_price = np.zeros(len(supply)), cost.min(axis=0, initial=np.inf)
    for first in range(len(supply)):
        while left[first]:
            detour = np.maximum(0.0, cost + from_price[:, None] - to_price)  # rounding must not make it negative
            path, length_from, length_to = _cheapest_path(first, detour, flow, wanted)
            from_price += length_from
            to_price += length_to
            last = path[-1][1]
            taken_back = [(i, j) for (_, j), (i, _) in pairwise(path)]
            amount = min(left[first], wanted[last], *(flow[move] for move in taken_back))
            left[first] -= amount
            wanted[last] -= amount
            for move in path:
                flow[move] += amount
            for move in taken_back:
                flow[move] -= amount
    return flow


def _cheapest_path(first: int, detour: Array, flow: Longs, wanted: Longs) -> tuple[list[tuple[int, int]], Array, Array]:
    """From a supplier to the nearest customer who wants goods: the moves, and how far everybody is, up to there.

    Dijkstra's search over customers. Goods a customer has can be taken back at no detour, so the suppliers they came
    from are as far as the customer is.
    """
    suppliers, customers = detour.shape
    length_from, reached_through = np.full(suppliers, np.inf), np.full(suppliers, -1)
    length_to, supplied_by = np.full(customers, np.inf), np.full(customers, -1)
    done = np.zeros(customers, bool)
    length_from[first] = 0.0
    reached = [first]
    while True:
        for i in reached:
            length = length_from[i] + detour[i]
            supplied_by[length < length_to] = i
            length_to = np.minimum(length, length_to)
        nearest = int(np.argmin(np.where(done, np.inf, length_to)))
        if wanted[nearest]:
            break
        done[nearest] = True
        reached = np.flatnonzero((flow[:, nearest] > 0) & (length_from == np.inf)).tolist()
        length_from[reached] = length_to[nearest]
        reached_through[reached] = nearest
    path = [(int(supplied_by[nearest]), nearest)]
    while (back := int(reached_through[path[0][0]])) >= 0:
        path.insert(0, (int(supplied_by[back]), back))
    return path, np.minimum(length_from, length_to[nearest]), np.minimum(length_to, length_to[nearest])


def _check_bags(ids: Ints, counts: Ints, offsets: Longs) -> None:
    if len(counts) and counts.min() < 1:
        raise ValueError("counts must be at least 1")
    same_bag = np.ones(max(0, len(ids) - 1), bool)
    inner = offsets[(offsets > 0) & (offsets < len(ids))]
    same_bag[inner - 1] = False
    if (np.diff(ids)[same_bag] <= 0).any():
        raise ValueError("ids must rise within each caption")
    up_to = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if (np.diff(up_to[offsets]) > MAX_MASS).any():
        raise ValueError("a caption has too many words")


def _check_problem(cost: Array, supply: Longs, demand: Longs) -> None:
    check_array(cost, np.float64, 2, "cost")
    check_array(supply, np.int64, 1, "supply")
    check_array(demand, np.int64, 1, "demand")
    if cost.shape != (len(supply), len(demand)):
        raise ValueError("cost must have a row for each supply and a column for each demand")
    if not np.isfinite(cost).all() or (cost < 0).any():
        raise ValueError("cost must be finite and not negative")
    if (supply < 0).any() or (demand < 0).any():
        raise ValueError("supply and demand must not be negative")
    # Compared as Python numbers, whose sums cannot overflow.
    if not sum(supply.tolist()) == sum(demand.tolist()) < 2**62:
        raise ValueError("supply and demand must have the same total, below 2**62")
