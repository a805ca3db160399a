"""Shapley's shares: what each of several numbers adds to a score that is made of all of them."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np

from capeval.errors import ExpressionError
from capeval.types import Array

_MOST = 16  # numbers; every subset of them is looked at


def shares(score: Callable[[Array], Array], given: Array, usual: Array) -> Array:
    """The exact share of each number of `given`; they sum up to score(given) - score(usual).

    `score` takes rows of numbers. A number's share is the mean, over all orders in which the usual numbers can give way
    to the given ones, of the change when its turn comes.
    """
    count = len(given)
    if count > _MOST:
        raise ExpressionError(f"shares of {count} features cannot be told exactly: {_MOST} are the most")
    subsets = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    scores = score(np.where(subsets == 1, given, usual))
    sizes = subsets.sum(axis=1)
    found = np.empty(count)
    for feature in range(count):
        without = np.flatnonzero(subsets[:, feature] == 0)
        weights = np.array([1 / (count * comb(count - 1, size)) for size in sizes[without].tolist()])
        found[feature] = weights @ (scores[without | (1 << feature)] - scores[without])
    return found
