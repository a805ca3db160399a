"""Tails of the normal and of Student's distribution, and of Kendall's tau."""

from __future__ import annotations

import math


def normal_p(z: float) -> float:
    """How likely a standard normal number is at least as far from 0 as z."""
    return math.erfc(abs(z) / math.sqrt(2))


def student_p(t: float, freedom: float) -> float:
    """How likely a number of Student's distribution is at least as far from 0 as t."""
    if math.isinf(t):
        return 0.0
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction is slow, its mirror image is fast
        return 1 - incomplete_beta(1 - x, b, a)
    logarithm = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(logarithm) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d1 / (1 + d2 / ...)), forwards: Lentz's method multiplies up the ratio of one step to the one before."""
    tiny = 1e-300  # stands for a 0 that would be divided by
    value, ratio, inverse, term = tiny, tiny, 0.0, 1.0
    for step in range(1, 10_000):
        inverse = 1 / ((1 + term * inverse) or tiny)
        ratio = (1 + term / ratio) or tiny
        value *= ratio * inverse
        if abs(ratio * inverse - 1) < 1e-15:
            break
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
    return value


def kendall_p(discordant: int, n: int) -> float:
    """Of all orders of n things without ties, the share with a tau at least as far from 0."""
    fewest = min(discordant, n * (n - 1) // 2 - discordant)
    # counts[k]: orders of the first things that have k discordant pairs.
    counts = [1] + [0] * fewest
    for things in range(2, n + 1):
        counts = [sum(counts[max(0, k - things + 1) : k + 1]) for k in range(fewest + 1)]
    return min(1.0, 2 * sum(counts) / math.factorial(n))
