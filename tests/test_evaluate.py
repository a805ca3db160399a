"""Scoring from Python, and what a result can be turned into."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.errors import CapevalError, DataError, UnknownName
from capeval.evaluate import evaluate
from capeval.metrics.rouge import Rouge
from capeval.results import Result
from capeval.run import Run
from capeval.types import Dataset

METRICS = ["bleu_4", "bleu_1", "rouge_l", "cider_d(n=2)"]


@pytest.fixture
def result(small: Dataset) -> Result:
    return evaluate(small, METRICS, Run(threads=1))


@pytest.mark.parametrize(
    ("candidates", "references"),
    [
        (["a dog", "a cat sits"], [["the dog"], ["a cat"]]),
        ({"1": "a dog", 2: "a cat sits"}, {1: ["the dog"], "2": ("a cat",)}),
        (
            [{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat sits"}],
            {"annotations": [{"image_id": 2, "caption": "a cat"}, {"image_id": 1, "caption": "the dog"}]},
        ),
    ],
)
def test_lists_dicts_and_coco_objects(candidates: object, references: object) -> None:
    result = capeval.score(candidates, references, ["rouge_l"])  # type: ignore[arg-type]
    # "dog" of "a dog" and "the dog"; "a cat" of "a cat sits": precision 2/3, recall 1.
    assert result.per_caption["rouge_l"] == pytest.approx([1 / 2, 2.44 * 2 / 3 / (1 + 1.44 * 2 / 3)])


def test_files(tmp_path: Path) -> None:
    (tmp_path / "captions.json").write_text('[{"image_id": 7, "caption": "a dog"}]')
    (tmp_path / "references.json").write_text('{"7": ["a dog"], "8": ["a cat"]}')
    result = capeval.score(tmp_path / "captions.json", str(tmp_path / "references.json"), ["rouge_l"])
    assert (result.ids, result.scores) == (["7"], {"rouge_l": 1.0})
    with pytest.raises(DataError, match="1 image with references but without a candidate"):
        capeval.score(tmp_path / "captions.json", tmp_path / "references.json", ["rouge_l"], strict=True)


def test_labels_are_expressions_in_the_order_asked_for(result: Result) -> None:
    assert list(result.scores) == list(result.per_caption) == list(result.signatures) == METRICS


def test_a_metric_object_is_as_good_as_an_expression(small: Dataset) -> None:
    assert evaluate(small, [Rouge(beta=2.0)]).scores == evaluate(small, "rouge(beta=2)").scores  # type: ignore[arg-type]


def test_scores_do_not_depend_on_what_else_is_asked_for(small: Dataset, result: Result) -> None:
    for expression in METRICS:
        assert evaluate(small, [expression]).scores[expression] == result.scores[expression]


def test_to_dict_is_plain_json(result: Result) -> None:
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(data) == ["schema", "n", "scores", "signatures", "systems"]
    assert data["n"] == 12
    assert data["scores"] == result.scores
    assert data["systems"]["two"] == {"n": 6, "scores": result.by_system()["two"].scores}


def test_to_dict_of_one_system(result: Result) -> None:
    assert list(result.by_system()["one"].to_dict()) == ["schema", "n", "scores", "signatures"]


def test_records(result: Result) -> None:
    records = list(result.records())
    assert len(records) == 12
    first = {"id": "beach-one", "image": "beach", "candidate": "a dog running on the beach", "system": "one"}
    assert {key: records[0][key] for key in first} == first
    assert records[0]["scores"] == {name: float(values[0]) for name, values in result.per_caption.items()}
    assert all(type(value) is float for record in records for value in record["scores"].values())
    without_system = next(capeval.score(["a dog"], [["a dog"]], ["bleu"]).records())
    assert list(without_system) == ["id", "image", "candidate", "scores"]


def test_to_dataframe(result: Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_dataframe()
    assert list(frame.columns) == ["id", "image", "candidate", "system", *METRICS]
    assert frame["rouge_l"].tolist() == result.per_caption["rouge_l"].tolist()
    assert frame["rouge_l"].mean() == pytest.approx(result.scores["rouge_l"])
    assert "system" not in capeval.score(["a"], [["a"]], ["rouge"]).to_dataframe().columns


def test_rows_pick_without_scoring_again(result: Result) -> None:
    picked = result.rows([3, 0, 3])
    assert picked.ids == ["park-one", "beach-one", "park-one"]
    for name in METRICS:
        np.testing.assert_array_equal(picked.per_caption[name], result.per_caption[name][[3, 0, 3]])
    # Corpus BLEU from the picked statistics is not the mean of the picked scores.
    assert picked.scores["bleu_1"] == evaluate_again(result, [3, 0, 3])


def evaluate_again(result: Result, rows: list[int]) -> float:
    bleu = next(each for each in result.scored if each.metric.info.name == "bleu")
    return float(bleu.metric.corpus_score(bleu.stats[rows])[0])


def test_by_system(result: Result) -> None:
    systems = result.by_system()
    assert list(systems) == ["one", "two"]
    assert systems["two"].ids == [i for i in result.ids if i.endswith("two")]
    assert systems["one"].scores["rouge_l"] > systems["two"].scores["rouge_l"]
    mean = (systems["one"].scores["rouge_l"] + systems["two"].scores["rouge_l"]) / 2
    assert mean == pytest.approx(result.scores["rouge_l"], abs=1e-15)


def test_intervals_hold_the_score_and_shrink_with_the_level(result: Result) -> None:
    wide, narrow = result.intervals(resamples=200), result.intervals(resamples=200, level=0.5)
    assert list(wide) == METRICS
    for name, score in result.scores.items():
        low, high = wide[name]
        assert low < score < high
        assert low < narrow[name][0] < narrow[name][1] < high


def test_signatures_name_all_that_decides_a_score(result: Result) -> None:
    assert re.fullmatch(
        r"cider_d\(n=2, df=corpus, stem=false, sigma=6\)\|tok:ptb\|refs:3\|data:[0-9a-f]{8}\|rev:2\|capeval:.+",
        result.signatures["cider_d(n=2)"],
    )


def test_signatures_do_not_depend_on_order_or_candidates(small: Dataset, result: Result) -> None:
    assert evaluate(small.rows(range(11, -1, -1)), METRICS).signatures == result.signatures
    assert result.by_system()["two"].signatures == result.signatures
    assert evaluate(small, METRICS, Run("none")).signatures != result.signatures


def test_reference_counts_in_the_signature() -> None:
    result = capeval.score(["a", "b"], [["a"], ["b", "c"]], ["rouge"])
    assert "|refs:1-2|" in result.signatures["rouge_l"]


@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        ([], [["a"]], "no rows"),
        (["a", "b"], [["a"]], "2 candidates but 1 list"),
        (["a"], [["a"], ["b"]], "1 candidate but 2 lists"),
        ({"1": "a", "2": "b"}, {"1": ["a"]}, "without references"),
        (["a"], [[]], "no references"),
        ([1], [["a"]], "number"),
        (["a"], [[None]], "null"),
        (["\ud800"], [["a"]], "surrogate"),
    ],
)
def test_bad_input(candidates: Any, references: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        capeval.score(candidates, references, ["bleu"])


def test_bad_requests(small: Dataset) -> None:
    with pytest.raises(CapevalError, match="no metric"):
        evaluate(small, [])
    with pytest.raises(UnknownName, match="tokenizer"):
        evaluate(small, ["bleu"], Run("bert"))
    with pytest.raises(DataError, match="no captions"):
        evaluate(small[:0], ["bleu"])


def test_dataset_is_a_sequence(small: Dataset) -> None:
    assert small[0].candidate == "a dog running on the beach"
    assert list(small[2:4]) == [small[2], small[3]]
    assert Dataset.from_samples(list(small))[-1] == small[-1]
    assert len(small.reference_sets) == 6
    assert len(small[:1].reference_sets) == 1
    with pytest.raises(ValueError, match="differ in length"):
        Dataset(["1"], ["1"], [], [], [0])


def test_of_one_image_all_but_cider_is_scored(notes: Any) -> None:
    dataset = Dataset(["1"], ["1"], ["a dog"], [("a dog runs",)], [0])
    result = evaluate(dataset, ["cider_d", "rouge_l"], Run(progress=notes), lenient=True)
    assert set(result.scores) == {"rouge_l"}
    assert any("cider_d is left out: cider_d over one image" in each for each in notes.messages)
    with pytest.raises(DataError, match="over one image"):
        evaluate(dataset, ["cider_d"])
