"""What a score comes from: numbers that add up to it, worked out by hand where that is short."""

from __future__ import annotations

import math

import pytest

import capeval
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.metrics.explaining import leave_one_out
from capeval.metrics.rouge import Rouge, common_subsequence
from capeval.metrics.wmd import Wmd
from capeval.registry import parse
from capeval.run import Run
from capeval.types import Metric

CANDIDATE = ["a", "man", "rides", "a", "bike", "on", "the", "street"]
REFERENCES = [
    ["a", "person", "is", "riding", "a", "bicycle"],
    ["a", "man", "on", "the", "street", "rides", "his", "bike"],
]


def test_bleu_names_the_n_grams_matched_and_missed() -> None:
    (found,) = Bleu().explain(["the", "the", "cat", "sat"], [["the", "cat", "slept", "here"], ["the", "dog"]], Run())
    by_order = {row[0]: row for row in found.rows}
    # "the" is twice in the candidate and once in a reference.
    assert by_order[1] == (1, 2, 4, 0.5, ("the", "cat"), ("the", "sat"))
    assert by_order[2] == (2, 1, 3, 1 / 3, ("the cat",), ("the the", "cat sat"))
    assert by_order[4][1:4] == (0, 1, 0.0)
    assert found.facts["brevity penalty"] == 1.0
    assert [word.fate for word in found.candidate_words] == ["match", "match", "match", "miss"]


def test_bleu_tells_what_brevity_costs() -> None:
    (found,) = Bleu().explain(["a", "dog"], [["a", "dog", "runs", "fast"]], Run())
    assert found.facts["brevity penalty"] == pytest.approx(math.exp(1 - 4 / 2))
    assert (found.facts["words"], found.facts["words of the closest reference"]) == (2, 4)


def test_the_common_subsequence() -> None:
    assert common_subsequence(["a", "b", "c", "d"], ["b", "x", "d"]) == [(1, 0), (3, 2)]
    assert common_subsequence([], ["a"]) == []
    first, second = Rouge().explain(CANDIDATE, REFERENCES, Run())
    assert [row[0] for row in second.rows] == ["a", "man", "on", "the", "street"]
    assert (second.facts["precision"], second.facts["recall"]) == (5 / 8, 5 / 8)
    assert second.facts["best of all references in"] == "precision, recall"
    assert first.facts["best of all references in"] == "nothing"
    assert [word.text for word in second.reference_words if word.fate == "match"] == [row[0] for row in second.rows]


@pytest.mark.parametrize("metric", [CiderD(), Cider(), CiderD(stem=True, df="{stems}"), CiderD(n=2)])
def test_what_n_grams_add_is_the_score(metric: CiderD, tmp_path: object) -> None:
    from dataclasses import replace

    from capeval.io.dftable import write_table
    from capeval.metrics.cider import make_table

    if metric.stem:
        path = f"{tmp_path}/stems.df"
        write_table(path, make_table([("a man rides",), ("the street",), ("a bike",)], stem=True))
        metric = replace(metric, df=path)
    (found,) = metric.explain(CANDIDATE, REFERENCES, Run())
    score = found.facts[metric.info.name]
    assert isinstance(score, float)
    assert score > 0
    assert sum(float(str(row[4])) for row in found.rows) == pytest.approx(score)
    assert sum(word.weight or 0.0 for word in found.candidate_words) == pytest.approx(score)
    alone = metric.for_one_image()
    expected = capeval.score([" ".join(CANDIDATE)], [[" ".join(each) for each in REFERENCES]], [alone])
    assert list(expected.scores.values()) == pytest.approx([score])


def test_cider_weighs_by_rarity() -> None:
    (found,) = CiderD().explain(CANDIDATE, REFERENCES, Run())
    idf = {row[0]: row[3] for row in found.rows}
    assert idf["rides"] > idf["man"] > idf["a"]  # type: ignore[operator]
    assert "coco-val2014, 40,504 images" in str(found.facts["document frequencies"])
    missing = [row for row in found.rows if row[1] == 0]
    assert missing
    assert all(row[4] == 0.0 for row in missing)


def test_spider_shows_its_two_sides() -> None:
    found = capeval.explain("spider_fast", " ".join(CANDIDATE), [" ".join(each) for each in REFERENCES])
    whole, spice, cider = found.documents
    sides = {row["part"]: row["score"] for row in whole.rows}
    assert set(sides) == {"spice_fast", "cider_d"}
    assert whole.scores["spider_fast(df=coco-val2014)"] == pytest.approx(sum(sides.values()) / 2)  # type: ignore[arg-type]
    assert spice.facts["spice_fast"] == pytest.approx(sides["spice_fast"])
    assert (spice.metric, cider.metric) == ("spice_fast", "cider_d(df=coco-val2014)")
    assert cider.facts["cider_d"] == pytest.approx(sides["cider_d"])


def test_words_left_out_one_by_one() -> None:
    metric = parse("rouge_l").metric
    found = leave_one_out(metric, ["a", "red", "dog"], [["a", "dog"]], Run())
    # Of 3 words 2 are common: precision 2/3, recall 1. Without "red" the captions are equal.
    score = float(found.facts["rouge_l"])
    assert [row[1] for row in found.rows][1] == 1.0
    assert found.rows[1][2] == pytest.approx(score - 1.0)
    assert [word.fate for word in found.candidate_words] == ["match", "miss", "match"]


def test_a_metric_that_tells_nothing_is_explained_all_the_same() -> None:
    class Silent(Rouge):
        explain = Metric.explain

    (found,) = capeval.explain(Silent(), "a red dog", ["a dog"]).documents
    assert [row["word"] for row in found.rows] == ["a", "red", "dog"]


def test_lece_tells_what_each_word_does() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("capeval_models")
    found = capeval.explain("lece(context=reference)", "a dog zorgles on grass", ["a dog runs on the grass"])
    (only,) = found.documents
    assert [row["word"] for row in only.rows] == ["a", "dog", "zorgles", "on", "grass"]
    score = found.scores["lece(context=reference)"]
    for row in only.rows:
        assert float(str(row["lece without it"])) + float(str(row["what it adds"])) == pytest.approx(score)
    assert only.facts["words it does not know"] == "zorgles"


def test_wmd_marks_what_stays_and_what_goes() -> None:
    (found,) = Wmd().explain(["dog", "on", "grass"], [["dog", "on", "lawn"]], Run())
    assert [(word.text, word.fate) for word in found.candidate_words] == [
        ("dog", "match"),
        ("on", ""),
        ("grass", "near"),
    ]
    assert "lawn" in found.candidate_words[2].note
