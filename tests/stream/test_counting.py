"""Counts of n-grams that are added up, each part with a vocabulary of its own."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from capeval.stream import counting
from capeval.stream.counting import Counted, Tally

Grams = Counter[tuple[str, ...]]


def made(seed: int, count: int = 300) -> tuple[Counted, Grams]:
    """N-grams of up to three of 40 words, each once, with counts."""
    draw = np.random.default_rng(seed)
    vocabulary = [f"w{word}" for word in draw.permutation(40)]
    grams = np.unique(draw.integers(0, 40, (count, 3)).astype(np.int32), axis=0)
    grams[np.arange(3) >= draw.integers(1, 4, len(grams))[:, None]] = -1
    grams = np.unique(grams, axis=0)
    counts = draw.integers(1, 9, len(grams))
    words = [tuple(vocabulary[i] for i in gram if i >= 0) for gram in grams.tolist()]
    return Counted(vocabulary, grams, counts), Counter(dict(zip(words, counts.tolist(), strict=True)))


def as_counter(counted: Counted) -> Grams:
    found = [tuple(counted.vocabulary[i] for i in gram if i >= 0) for gram in counted.grams.tolist()]
    assert len(found) == len(set(found))
    return Counter(dict(zip(found, counted.counts.tolist(), strict=True)))


@pytest.mark.parametrize("at_once", [1, 500, 10_000])
def test_parts_are_added_up(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(counting, "_ROWS_AT_ONCE", at_once)
    tally, expected = Tally(3), Grams()
    for seed in range(8):
        part, counts = made(seed)
        tally.add(part)
        expected.update(counts)
    assert as_counter(tally.total()) == expected


def test_n_grams_that_are_mixed_to_one_number_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which no n-grams of this world do: so the first two ways of mixing are made bad ones."""
    usual = counting._mixed

    def bad(grams: np.ndarray, seed: int) -> np.ndarray:  # type: ignore[type-arg]
        return usual(grams, seed) % np.uint64({1: 50_000, 2: 7}.get(seed, 2**63))

    monkeypatch.setattr(counting, "_mixed", bad)
    monkeypatch.setattr(counting, "_ROWS_AT_ONCE", 1)
    (one, first), (two, second) = made(1), made(2)
    tally = Tally(3)
    tally.add(one)
    tally.add(two)
    assert as_counter(tally.total()) == first + second


def test_what_was_counted_elsewhere_is_taken_back() -> None:
    (one, first), (two, _) = made(1), made(2)
    tally = Tally(3)
    tally.add(one)
    tally.add(two)
    assert as_counter(counting.taken_back(tally.total(), two)) == first
    assert not Tally(3).total().vocabulary
