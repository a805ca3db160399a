"""Filters are read by a parser of their own and compare column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capeval.stream.filters import Filter, FilterError

COLUMNS: dict[str, Any] = {
    "score": np.array([0.1, 0.5, np.nan, 0.9]),
    "width": [100, 200, 300, None],
    "language": ["en", "de", None, "en"],
    "text_number": ["1", "20", "", "3"],
    "cider_d(df=x)": np.array([1.0, 2.0, 3.0, 4.0]),
}


def passing(text: str) -> list[int]:
    return np.flatnonzero(Filter(text)(COLUMNS.__getitem__, 4)).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("score > 0.3", [1, 3]),
        ("0.3 < score", [1, 3]),
        ("0.3 < score <= 0.5", [1]),
        ("score > 0.3 and width < 250", [1]),
        ("score < 0.3 or width >= 200", [0, 1, 2]),
        ("score < 0.3 or score > 0.3 and width < 150", [0]),
        ("(score < 0.3 or score > 0.3) and width < 150", [0]),
        ("not score > 0.3", [0, 2]),
        ("score != 0.5", [0, 3]),
        ("language == 'en'", [0, 3]),
        ('language != "en"', [1]),
        ("text_number > 2", [1, 3]),
        ("`cider_d(df=x)` >= 3", [2, 3]),
        ("width > score", [0, 1]),
        ("score > -1e-3", [0, 1, 3]),
    ],
)
def test_rows_that_pass(text: str, rows: list[int]) -> None:
    assert passing(text) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends too early"),
        ("score", "ends too early"),
        ("score >", "ends too early"),
        ("score > 1 width < 2", "`and` or `or` is missing"),
        ("(score > 1", "ends too early"),
        ("score > 1)", "is missing before it"),
        ("score = 1", "cannot be read at '= 1'"),
        ("and > 1", "a name, a number"),
        ("__import__('os').system('true')", "cannot be read at ."),
        ("score > 1; import os", "cannot be read"),
        ("(" * 200 + "score > 1" + ")" * 200, "too many brackets"),
        ("language > 3", "compares a number with a text"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message.replace("(", r"\(").replace("?", r"\?")):
        passing(text)


def test_the_names_that_it_speaks_of() -> None:
    assert Filter("score > 1 and `a b` < width or score < 0").names == ["score", "a b", "width"]
