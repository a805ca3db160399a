"""Heads of words from scores of arcs, in plain NumPy: what the C++ twin must compute."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from capeval.types import Floats


def best_tree(scores: Floats) -> list[int]:
    """The best tree without crossing arcs and with one word under the root; official trees have none that cross."""
    words = len(scores)
    allowed = scores.copy()
    allowed[np.arange(words), np.arange(1, words + 1)] = -np.inf
    heads = [int(head) for head in allowed.argmax(axis=1)]
    return heads if _is_tree(heads) and not _crosses(heads) else _projective(scores)


def _is_tree(heads: list[int]) -> bool:
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        node, steps = word, 0
        while node:
            node, steps = heads[node - 1], steps + 1
            if steps > len(heads):
                return False
    return True


def _crosses(heads: list[int]) -> bool:
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return any(left < other_left < right < other_right for left, right in arcs for other_left, other_right in arcs)


def _projective(scores: Floats) -> list[int]:
    """The best tree without crossing arcs and with one word under the root (Eisner 1996)."""
    last = len(scores)
    # By (left, right): best score and where it was split. Open: an arc joins the ends; closed: the head, which stands
    # at the named end's opposite, has all its words on that side.
    zero = np.float32(0.0)
    closed_left = {(word, word): (zero, 0) for word in range(1, last + 1)}
    closed_right = dict(closed_left)
    open_left: dict[tuple[int, int], tuple[np.float32, int]] = {}
    open_right: dict[tuple[int, int], tuple[np.float32, int]] = {}
    for width in range(1, last):
        for left in range(1, last - width + 1):
            right = left + width
            inside = [(closed_right[left, at][0] + closed_left[at + 1, right][0], at) for at in range(left, right)]
            open_left[left, right] = _best((score + scores[left - 1, right], at) for score, at in inside)
            open_right[left, right] = _best((score + scores[right - 1, left], at) for score, at in inside)
            closed_left[left, right] = _best(
                (closed_left[left, at][0] + open_left[at, right][0], at) for at in range(left, right)
            )
            closed_right[left, right] = _best(
                (open_right[left, at][0] + closed_right[at, right][0], at) for at in range(left + 1, right + 1)
            )
    _, top = _best(
        ((closed_left[1, word][0] + closed_right[word, last][0]) + scores[word - 1, 0], word)
        for word in range(1, last + 1)
    )
    heads = [0] * last
    work = [("closed left", 1, top), ("closed right", top, last)]
    while work:
        kind, left, right = work.pop()
        if left == right:
            continue
        if kind == "closed left":
            at = closed_left[left, right][1]
            work += [("closed left", left, at), ("open left", at, right)]
        elif kind == "closed right":
            at = closed_right[left, right][1]
            work += [("open right", left, at), ("closed right", at, right)]
        else:
            if kind == "open left":
                heads[left - 1], at = right, open_left[left, right][1]
            else:
                heads[right - 1], at = left, open_right[left, right][1]
            work += [("closed right", left, at), ("closed left", at + 1, right)]
    return heads


def _best(options: Iterable[tuple[np.float32, int]]) -> tuple[np.float32, int]:
    """The first of the best."""
    return max(options, key=lambda option: float(option[0]))
