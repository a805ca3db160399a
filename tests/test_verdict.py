"""Results in a sentence."""

from __future__ import annotations

import re

import pytest

from capeval.documents import CompareDocument, Difference, Limits, ScoreDocument, SystemScores
from capeval.verdict import compared, scored


def difference(gap: float | None, p: float | None) -> Difference:
    a = None if gap is None else 0.5 + gap
    return Difference(a=a, b=0.5, difference=gap, low=gap, high=gap, p_bootstrap=p, p_permutation=p)


def document(**found: Difference) -> CompareDocument:
    return CompareDocument(n=9, comparisons=found, signatures={}, a="results/ours.json", b="theirs.json")


def test_all_metrics_agree() -> None:
    told = compared(document(bleu_4=difference(0.1, 0.001), cider_d=difference(0.2, 0.002)))
    assert told == (
        "A (ours.json) is better than B (theirs.json) on all 2 metrics (p ≤ 0.002, permutation test, "
        "Holm's correction for 2 metrics)."
    )


def test_one_metric_tells_the_difference() -> None:
    told = compared(document(cider_d=difference(-0.2, 0.004)))
    assert told.startswith("B (theirs.json) is better than A (ours.json) on cider_d: A - B is -0.2000")
    assert "p = 0.004" in told
    assert "may well be equal on cider_d" in compared(document(cider_d=difference(-0.2, 0.2)))


def test_each_has_its_side() -> None:
    told = compared(
        document(a=difference(0.1, 0.001), b=difference(0.1, 0.001), c=difference(-0.1, 0.001), d=difference(0.1, 0.6))
    )
    assert "on 2 of 4 metrics (a, b), worse on 1 (c); on 1 the difference may be chance (d)" in told
    even = compared(document(a=difference(0.1, 0.001), c=difference(-0.1, 0.001)))
    assert even.startswith("It depends on the metric: A (ours.json) is better on 1 of 2 (a), B (theirs.json) on 1 (c)")


def test_many_metrics_do_not_make_a_winner_by_chance() -> None:
    """One of twenty at p = .04 is what chance gives."""
    found = {f"m{i}": difference(0.1, 0.04 if i == 0 else 0.5) for i in range(20)}
    assert "on none of 20 metrics" in compared(document(**found))


@pytest.mark.parametrize("gap", [None, 0.0])
def test_nothing_to_tell(gap: float | None) -> None:
    told = compared(document(a=difference(gap, None if gap is None else 1.0), b=difference(gap, None)))
    assert re.search("No metric has a score|may well be equal", told)


def systems(**limits: tuple[float, float, float]) -> ScoreDocument:
    made = {
        name: SystemScores(n=3, scores={"m": value}, intervals={"m": Limits(low=low, high=high)})
        for name, (value, low, high) in limits.items()
    }
    return ScoreDocument(n=6, scores={"m": 0.5}, signatures={}, systems=made)


def test_of_systems_only_intervals_that_lie_apart_make_a_winner() -> None:
    assert "on 1 of these its 95 % interval lies above" in scored(systems(x=(0.9, 0.8, 1.0), y=(0.5, 0.4, 0.6)))
    assert "but on none of them" in scored(systems(x=(0.6, 0.5, 0.7), y=(0.5, 0.4, 0.6)))
    assert scored(systems(x=(0.5, 0.5, 0.7), y=(0.5, 0.4, 0.6))) == "No system leads: all scores are equal."
