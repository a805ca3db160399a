"""Two systems of one result."""

from __future__ import annotations

import pytest

import capeval
from capeval.api import compare_systems
from capeval.errors import DataError

REFERENCES = {str(i): [f"a man number {i} rides a bike"] for i in range(6)}
GOOD = [{"image_id": str(i), "caption": f"a man number {i} rides", "system": "good"} for i in range(6)]
BAD = [{"image_id": str(i), "caption": "a dog", "system": "bad"} for i in reversed(range(6))]


def test_it_is_what_compare_says_of_two_files() -> None:
    result = capeval.score([*GOOD, *BAD], REFERENCES, ["rouge_l", "bleu"])
    found = compare_systems(result, "good", "bad")
    plain = [[{key: row[key] for key in ("image_id", "caption")} for row in rows] for rows in (GOOD, BAD)]
    expected = capeval.compare(*plain, REFERENCES, ["rouge_l", "bleu"])
    assert found.comparisons == expected.comparisons
    assert [result.ids[row] for row in found.rows[0]] == [result.ids[row] for row in found.rows[1]]
    assert {result.systems[row] for row in found.rows[1]} == {"bad"}


def test_systems_without_common_captions_are_refused() -> None:
    rows = [{**GOOD[0]}, {**BAD[0]}]
    result = capeval.score(rows, REFERENCES, ["rouge_l"])
    with pytest.raises(DataError, match="no captions with the same ids"):
        compare_systems(result, "good", "bad")
