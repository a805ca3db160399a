"""The best share by an exact threshold."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.stream.selecting import label_for, threshold


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.5, 0.999, 1.0])
def test_the_threshold_is_that_of_sorting_all(share: float) -> None:
    draw = np.random.default_rng(3)
    values = np.concatenate([draw.normal(size=500), np.round(draw.normal(size=500), 1), [-0.0, 0.0, 1e300, -1e300]])
    values[::17] = np.nan
    ordered = np.sort(values[~np.isnan(values)])[::-1]
    at_least, count = threshold([values[:300], values[300:]], share)
    assert count == len(ordered)
    assert at_least == ordered[int(np.ceil(share * count - 1e-9)) - 1]
    assert np.sum(values >= at_least) >= share * count - 1e-9


def test_without_scores_nothing_is_the_best() -> None:
    assert threshold([np.array([np.nan])], 0.5) == (np.inf, 0)


def test_parameters_may_be_left_out_where_one_score_has_the_name() -> None:
    labels = ["cider_d(df=a)", "rouge_l"]
    assert label_for("cider_d", labels) == "cider_d(df=a)"
    assert label_for("cider_d", [*labels, "cider_d(df=b)"]) is None
    assert label_for("bleu_1", labels) is None
