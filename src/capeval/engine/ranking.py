"""Agreement of two rankings under many resamples, in plain NumPy: what the C++ twin must compute.

Rows belong to groups (the captions of one image), and a resample says how often each group was drawn. The rows are
sorted once; a resample only changes their weights.
"""

from __future__ import annotations

import numpy as np

from capeval.engine.checks import check_array, check_range, check_threads
from capeval.types import Array, Ints, Longs

RANK_COLUMNS = ("rows", "balance", "ties_x", "ties_y", "values_x", "values_y", "product", "square_x", "square_y")
"""What `rank_stats` gives for each resample; a row drawn twice counts as two rows.

`balance` is concordant minus discordant pairs, `ties_x` are the pairs with equal x, and `values_x` is how many
different values of x there are. The last three are sums of products and squares of twice the centred mid-ranks.
"""

# Resamples worked on together: enough for NumPy to be fast, few enough for little memory.
_BATCH = 16


def rank_stats(x: Ints, y: Ints, group: Ints, weights: Ints, threads: int) -> Array:
    """One row of `RANK_COLUMNS` for each resample.

    `x` and `y` number the values of either variable in their order, from 0; `weights[r, g]` says how often group g is
    in resample r.
    """
    check_threads(threads)
    check_ranking(x, y, group, weights)
    order = np.lexsort((y, x))
    x, y, group = x[order], y[order], group[order]
    stats = [_batch(x, y, weights[at : at + _BATCH, group].astype(np.int64)) for at in range(0, len(weights), _BATCH)]
    return np.concatenate([np.zeros((0, len(RANK_COLUMNS))), *stats])


def check_ranking(x: Ints, y: Ints, group: Ints, weights: Ints) -> None:
    for name, values in (("x", x), ("y", y), ("group", group)):
        check_array(values, np.int32, 1, name)
    check_array(weights, np.int32, 2, "weights")
    if not len(x) == len(y) == len(group):
        raise ValueError("x, y and group differ in length")
    check_range(x, len(x), "x must number the values from 0")
    check_range(y, len(y), "y must number the values from 0")
    check_range(group, weights.shape[1], "group must hold columns of weights")
    if weights.size and weights.min() < 0:
        raise ValueError("weights must not be negative")


def _batch(x: Ints, y: Ints, weights: Longs) -> Array:
    """Rows are sorted by x, then y; `weights` is [resamples, rows]."""
    rows = weights.sum(axis=1)
    per_x, per_y = _totals(x, weights), _totals(y, weights)
    is_new_pair = (np.diff(x, prepend=-1) != 0) | (np.diff(y, prepend=-1) != 0)
    pair_number = (np.cumsum(is_new_pair) - 1).astype(np.int32)
    ties_x, ties_y, ties_both = (_pairs(each) for each in (per_x, per_y, _totals(pair_number, weights)))
    untied = _pairs(rows[:, None]) - ties_x - ties_y + ties_both
    rank_x, rank_y = _centred_ranks(per_x)[:, x], _centred_ranks(per_y)[:, y]
    columns = (
        rows,
        untied - 2 * _discordant(y, weights),
        ties_x,
        ties_y,
        (per_x > 0).sum(axis=1),
        (per_y > 0).sum(axis=1),
        (weights * rank_x * rank_y).sum(axis=1),
        (weights * rank_x**2).sum(axis=1),
        (weights * rank_y**2).sum(axis=1),
    )
    return np.stack(columns, axis=1).astype(np.float64)


def _totals(values: Ints, weights: Longs) -> Longs:
    """The weight of each value, [resamples, values]."""
    size = int(values.max(initial=-1)) + 1
    totals = [np.bincount(values, weights=each, minlength=size) for each in weights]
    return np.stack(totals).astype(np.int64)


def _pairs(counts: Longs) -> Longs:
    """How many pairs have both members in the same class."""
    return np.asarray((counts * (counts - 1) // 2).sum(axis=1))


def _centred_ranks(totals: Longs) -> Array:
    """Twice the mid-rank of each value, less twice the mean rank."""
    up_to = np.cumsum(totals, axis=1)
    return np.asarray((2 * up_to - totals - up_to[:, -1:]), dtype=np.float64)


def _discordant(y: Ints, weights: Longs) -> Longs:
    """Pairs of which the first has the larger y. Rows with equal x are sorted by y and so add nothing.

    Two values of y differ first in some bit. So for each bit: among the rows that agree in all higher ones, count the
    pairs of a 1 before a 0. Going from the highest bit down, rows that agree so far are kept next to each other.
    """
    found = np.zeros(len(weights), np.int64)
    for bit in reversed(range(int(y.max(initial=0)).bit_length())):
        order = np.argsort(y >> (bit + 1), kind="stable")
        block = y[order] >> (bit + 1)
        is_one = (y[order] >> bit & 1).astype(bool)
        ordered = weights[:, order]
        ones = np.cumsum(ordered * is_one, axis=1)
        first = np.searchsorted(block, block)
        ones_before_block = np.where(first > 0, ones[:, first - 1], 0)
        found += ((ones - ones_before_block) * ordered * ~is_one).sum(axis=1)
    return found
