"""How rows become batches."""

from __future__ import annotations

import numpy as np

from capeval.train.batching import by_near_groups, near_groups


def clusters() -> tuple[np.ndarray, np.ndarray]:
    """Forty rows around ten distant points, in mixed order, and the point of each."""
    random = np.random.default_rng(0)
    point = random.permutation(np.repeat(np.arange(10), 4))
    centres = 100 * random.standard_normal((10, 6))
    return (centres[point] + random.standard_normal((40, 6))).astype(np.float32), point


def test_groups_are_near_and_each_row_comes_once() -> None:
    vectors, point = clusters()
    groups = near_groups(vectors, np.arange(40), 4, np.random.default_rng(1))
    assert sorted(np.concatenate(groups).tolist()) == list(range(40))
    assert {len(each) for each in groups} == {4}
    spread = np.mean([len(set(point[each].tolist())) for each in groups])
    at_random = np.mean(
        [len(set(point[each].tolist())) for each in np.split(np.random.default_rng(2).permutation(40), 10)]
    )
    assert spread < at_random / 2
    again = near_groups(vectors, np.arange(40), 4, np.random.default_rng(5))
    assert {tuple(sorted(each)) for each in groups} != {tuple(sorted(each)) for each in again}


def test_what_fills_no_group_is_left_over() -> None:
    vectors, _ = clusters()
    groups = near_groups(vectors, np.arange(11), 4, np.random.default_rng(0))
    assert [len(each) for each in groups] == [4, 4]
    assert near_groups(vectors, np.arange(3), 4, np.random.default_rng(0)) == []


def test_batches_are_of_one_source() -> None:
    vectors, _ = clusters()
    sources = [np.arange(16), np.arange(16, 40)]
    batches = list(by_near_groups(vectors, sources, 4, 8, np.random.default_rng(0)))
    assert sorted(np.concatenate(batches).tolist()) == list(range(40))
    assert {len(each) for each in batches} == {8}
    assert all((each < 16).all() or (each >= 16).all() for each in batches)
