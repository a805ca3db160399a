"""Crisscrossed Captions in three parts. Needs no torch; the judgements are not part of the repository."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

if sys.version_info < (3, 11):
    pytest.importorskip("tomli")

from capeval.train.data import benchmark_images
from capeval.train.parts import PARTS, divided, judged, pictures_of, swapped


def test_no_picture_is_in_two_parts(shared: Path) -> None:
    pictures = {part: set(pictures_of(part, shared)) for part in PARTS}
    assert sum(map(len, pictures.values())) == len(set().union(*pictures.values())) == 3837
    for part in PARTS:
        for kind in ("sits", "sts"):
            assert {row.image for row in judged(kind, part, shared)} <= pictures[part]
    # All are of Karpathy's validation split; SemStyle's captions of some of them are a test of styles, not of fit.
    used = benchmark_images(shared)["coco"]
    assert set().union(*(used[image] for each in pictures.values() for image in each)) == {"karpathy-val", "semstyle"}


def test_most_judgements_are_kept(shared: Path) -> None:
    kept = {part: len(judged("sits", part, shared)) + len(judged("sts", part, shared)) for part in PARTS}
    assert kept == {"A": 34613, "B": 13684, "C": 7829}
    assert all(0 <= row.score <= 1 and row.references for row in judged("sits", "C", shared))


def test_swapped_captions_have_their_part(shared: Path) -> None:
    images = {part: {row.image for row in swapped(part, shared)} for part in PARTS}
    assert images["A"].isdisjoint(images["C"])
    assert images["C"] <= set(pictures_of("C", shared))
    assert sum(len(swapped(part, shared)) for part in PARTS) == 5212


def test_pictures_that_share_judgements_stay_together() -> None:
    """Islands of ten pictures each: far fewer pairs are torn apart than by chance, and the shares are kept."""
    shared_by = [Counter({n: 5 for n in range(i // 10 * 10, i // 10 * 10 + 10) if n != i}) for i in range(200)]
    parts = divided(shared_by)
    assert parts == divided(shared_by)
    torn = sum(parts[one] != parts[other] for one, others in enumerate(shared_by) for other in others)
    by_chance = (1 - 0.6**2 - 0.25**2 - 0.15**2) * 200 * 9
    assert torn < 0.6 * by_chance
    sizes = np.bincount(parts, minlength=3)
    assert sizes[0] <= 0.62 * 200
    assert sizes[0] > sizes[1] > sizes[2] > 0
