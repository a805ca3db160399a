"""Results as documents: nothing is lost on the way, and whatever is wrong with one is said before it is shown."""

from __future__ import annotations

import copy
import json
import random
from importlib.resources import files
from typing import Any

import pytest

import capeval
from capeval.bench import robust
from capeval.documents import BenchDocument, ScoreDocument, as_dict, decode, decode_as
from capeval.errors import DataError
from capeval.report import report

DEMO = files("capeval") / "data" / "demo"
REFERENCES = str(DEMO / "references.json")
SCORE = {"n": 2, "scores": {"bleu_1": 0.5, "spice_color": None}, "signatures": {"bleu_1": "bleu_1|..."}}


def kept(data: dict[str, Any]) -> dict[str, Any]:
    """What is left after a document was decoded and written again."""
    written: dict[str, Any] = json.loads(json.dumps(as_dict(decode(data)), allow_nan=False))
    return written


def test_nothing_of_a_result_is_lost(
    rated: dict[str, Any], paired: dict[str, Any], ranked: dict[str, Any], compared: dict[str, Any]
) -> None:
    for data in (rated, paired, ranked, compared):
        assert kept(data) == data
    tagged = copy.deepcopy(rated)
    for row in (*tagged["metrics"], *tagged["comparisons"], *tagged["analysis"]):
        row["references"] = "kept"
    assert kept(tagged) == tagged
    assert decode_as(BenchDocument, tagged).metrics[0].tags == {"references": "kept"}


def test_nothing_of_a_score_is_lost() -> None:
    captions = [{"id": f"{s}{i}", "image_id": i, "caption": "a dog", "system": s} for s in "ab" for i in (1, 2)]
    result = capeval.score(captions, {"1": ["a dog"], "2": ["a cat", "a dog"]}, ["bleu_1", "spice_fast_color"])
    data = as_dict(result.document(result.ranges(resamples=10)))
    assert data["systems"]["a"]["intervals"]["bleu_1"].keys() == {"low", "high"}
    assert kept(data) == data
    assert data["scores"]["spice_fast_color"] is None
    assert kept(result.to_dict()) == result.to_dict()


@pytest.mark.parametrize("check", ["curves", "distractors", "components", "probe", "attacks"])
def test_nothing_of_a_check_of_robustness_is_lost(check: str) -> None:
    more = {"parser": "fast", "resamples": 10} if check in ("distractors", "components") else {}
    outcome = getattr(robust, check)(REFERENCES, ["bleu_1", "rouge_l"], sample=40, **more)
    data = outcome.with_facts(command="capeval robust ...", arguments={"metrics": ["bleu_1"]}).to_dict()
    assert kept(data) == data
    assert data["schema"] == "capeval.robust/1"


def test_the_schema_is_written_and_not_needed() -> None:
    assert kept(SCORE) == SCORE | {"schema": "capeval.score/1"}
    assert decode(json.dumps(SCORE).encode()) == decode(SCORE | {"schema": "capeval.score/1"})
    assert isinstance(decode(SCORE), ScoreDocument)


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert decode(SCORE | {"new": 1}) == decode(SCORE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "capeval.score/2"}, "made by a newer capeval: the result is capeval.score/2, and this version"),
        ({"schema": "other/1"}, "not a result that a report can show"),
        ({"schema": 3}, "not a result that a report can show"),
        ({"schema": "capeval.bench/1"}, "missing required field `benchmark`"),
        ({"n": "two"}, r"Expected `int`, got `str` - at `\$.n`"),
        ({"n": -1}, r"at `\$.n`"),
        ({"scores": {"bleu_1": "0.5"}}, r"Expected `float \| null`, got `str` - at `\$.scores"),
        ({"systems": {"a": {"n": 1}}}, r"missing required field `scores` - at `\$.systems"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=f"^mine.json: .*{said}"):
        decode(SCORE | change, "mine.json")


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="a BenchDocument is needed, and this is a ScoreDocument"):
        decode_as(BenchDocument, SCORE)


def test_places_in_rows_that_have_a_key_for_each_statistic(rated: dict[str, Any]) -> None:
    odd = copy.deepcopy(rated)
    odd["metrics"][1]["kendall_c"]["low"] = "low"
    with pytest.raises(DataError, match=r"got `str` - at `\$\.metrics\[1\]\[\.\.\.\]\.low`"):
        decode(odd)
    odd = copy.deepcopy(rated)
    odd["comparisons"][0]["p_williams"][1].pop()
    with pytest.raises(DataError, match=r"a matrix needs a row and a column .* at `\$\.comparisons\[0\]`"):
        decode(odd)


def damaged(data: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The document with one thing in it that is another or missing."""
    result = copy.deepcopy(data)
    place: Any = result
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = dice.choice(keys)
        if not (isinstance(place[key], dict | list) and place[key] and dice.random() < 0.8):
            break
        place = place[key]
    if dice.random() < 0.3:
        del place[key]
    else:
        place[key] = dice.choice([None, "", "x", -1, 0, 0.5, 1e300, 10**30, [], {}, [1], {"a": 1}, True, [[None]]])
    return result


def test_a_damaged_result_is_shown_or_refused(everything: list[Any]) -> None:
    """Whatever passes the decoder can be shown: there is no third way."""
    dice = random.Random(0)
    results = [each for each in everything if isinstance(each, dict)]
    refused = 0
    for number in range(600):
        odd = damaged(results[number % len(results)], dice)
        try:
            made = report(odd)
        except DataError:
            refused += 1
        else:
            made.latex()
            made.markdown()
    assert 100 < refused < 500
