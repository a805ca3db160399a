"""Which captions a table shows, and in which order: what its address says."""

from __future__ import annotations

import numpy as np
import pytest

from capeval.report.inputs import CaptionScores
from capeval.web.refusals import Refused
from capeval.web.view import View, query_of, whole

ROWS = CaptionScores(
    "rows", ["1", "2", "3", "4"], ["1", "2", "3", "4"], ["a", "b", "a", "b"],
    ["a dog", "A Cat on a mat", "two dogs", "a cat"],
    {"x": np.array([0.1, 0.4, np.nan, 0.2]), "y": np.array([0.9, 0.1, 0.5, 0.2])},
)  # fmt: skip


def shown(**params: str) -> list[int]:
    view = View(ROWS)
    return [int(each["row"]) for each in view.window(query_of(params, ROWS))]  # type: ignore[call-overload]


def test_sorting_puts_what_has_no_score_last() -> None:
    assert shown() == [0, 1, 2, 3]
    assert shown(sort="x") == [0, 3, 1, 2]
    assert shown(sort="-x") == [1, 3, 0, 2]
    assert shown(sort="-candidate") == [2, 0, 3, 1]


def test_filters() -> None:
    assert shown(words="CAT a") == [1, 3]
    assert shown(system="b") == [1, 3]
    assert shown(score="x", low="0.2") == [1, 3]
    assert shown(score="x", low="0", high="0.1") == [0]
    assert shown(words="cat", system="b", score="y", high="0.15") == [1]


def test_the_captions_that_two_metrics_place_most_differently_come_first() -> None:
    assert shown(a="x", b="y")[:2] == [0, 1]
    assert View(ROWS).apart(query_of({"a": "x"}, ROWS)) is None


def test_what_is_not_known_is_as_good_as_not_said() -> None:
    assert shown(sort="nothing", system="c", score="z", low="nan", a="x", b="x") == [0, 1, 2, 3]
    with pytest.raises(Refused):
        whole("-1")


def test_an_address_says_the_same_again() -> None:
    given = {"words": "a dog", "sort": "-x", "score": "x", "low": "0"}
    query = query_of(given, ROWS)
    assert query.address() == "?words=a+dog&score=x&low=0.0&sort=-x"
    assert query.address(offset=50).endswith("&offset=50")
