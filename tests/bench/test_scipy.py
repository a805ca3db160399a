"""The statistics equal scipy's, on random data with and without ties."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.bench.agreement import williams
from capeval.bench.correlation import correlations
from capeval.bench.probability import student_p

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("levels", [2, 4, 40, 10**9])
@pytest.mark.parametrize("rows", [5, 60, 3000])
@pytest.mark.parametrize("seed", range(3))
def test_correlations_equal_scipy(levels: int, rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, levels, rows).astype(float)
    y = np.round(x / levels * 4 + random.normal(size=rows))
    if len(set(x)) < 2 or len(set(y)) < 2:
        x[:2], y[:2] = (0, 1), (1, 0)
    found = correlations(x, y)
    expected = {
        "kendall_b": stats.kendalltau(x, y, variant="b"),
        "kendall_c": stats.kendalltau(x, y, variant="c"),
        "spearman": stats.spearmanr(x, y),
        "pearson": stats.pearsonr(x, y),
    }
    for name, theirs in expected.items():
        assert found[name].value == pytest.approx(theirs.statistic, abs=1e-12), name
        assert found[name].p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12), name


def test_student_tail_equals_scipy() -> None:
    for freedom in (1, 2, 5, 30, 1000):
        for t in (0.0, 0.3, 1.0, 2.5, 10.0):
            assert student_p(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)


def test_williams_equals_a_calculation_from_the_raw_data() -> None:
    """Independent of ours: correlations by numpy, the determinant by hand, the tail by scipy."""
    random = np.random.default_rng(8)
    human = random.normal(size=200)
    first, second = human + random.normal(size=200), human + 2 * random.normal(size=200)
    r = np.corrcoef([human, first, second])
    n, difference, mean = 200, r[0, 1] - r[0, 2], (r[0, 1] + r[0, 2]) / 2
    variance = (2 * np.linalg.det(r) * (n - 1) / (n - 3) + mean**2 * (1 - r[1, 2]) ** 3) / ((n - 1) * (1 + r[1, 2]))
    t, p = williams(r[0, 1], r[0, 2], r[1, 2], n)
    assert t == pytest.approx(difference / np.sqrt(variance))
    assert p == pytest.approx(2 * stats.t.sf(abs(t), n - 3))
