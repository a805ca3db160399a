"""The published files, run as papers ran them: the figures that papers have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capeval.bench import Pairs, Ratings, Settings, load, run
from capeval.run import Run

QUICK = Settings(resamples=20)


def needs_paraphrases(*metrics: str) -> None:
    """METEOR's table comes with another package."""
    if "meteor" in metrics:
        pytest.importorskip("pycocoevalcap")


# tau-c; to three decimals they are those of the README of PAC-S.
EXPERT = {"bleu_1": 32.324, "bleu_4": 30.776, "rouge_l": 32.314, "cider_d": 43.891}


def test_flickr8k_expert(shared: Path, notes: Any) -> None:
    found = run("flickr8k-expert", list(EXPERT), data=shared, settings=QUICK, run=Run(progress=notes)).to_dict()
    assert not [each for each in notes.messages if "checksum" in each]
    assert found["rows"] == 16_992
    assert all(row["rows"] == 16_992 for row in found["metrics"])
    assert {row["metric"]: round(100 * row["kendall_c"]["value"], 3) for row in found["metrics"]} == EXPERT


def test_meteor_on_flickr8k_expert(shared: Path) -> None:
    needs_paraphrases("meteor")
    (row,) = run("flickr8k-expert", "meteor", data=shared, settings=QUICK).to_dict()["metrics"]
    assert round(100 * row["kendall_b"]["value"], 3) == 41.538
    assert round(100 * row["kendall_c"]["value"], 3) == 41.822


# tau-b and tau-c in the README of PAC-S, whose CIDEr is coco-caption's CIDEr-D.
CROWD = {
    "bleu_1": (17.946, 9.256),
    "bleu_4": (16.863, 8.710),
    "meteor": (22.269, 11.510),
    "rouge_l": (19.903, 10.274),
    "cider_d": (24.619, 12.724),
}


@pytest.mark.parametrize("metric", CROWD)
def test_flickr8k_cf(shared: Path, metric: str) -> None:
    needs_paraphrases(metric)
    (row,) = run("flickr8k-cf", metric, data=shared, settings=QUICK).to_dict()["metrics"]
    assert (row["own_captions"], row["rows"]) == ("published", 47_830)
    assert tuple(round(100 * row[key]["value"], 3) for key in ("kendall_b", "kendall_c")) == CROWD[metric]


def test_spice_on_flickr8k_cf(shared: Path) -> None:
    parses = shared / "golden" / "spice" / "parses_flickr8k.jsonl.gz"
    (row,) = run("flickr8k-cf", f"spice(parses={parses})", data=shared, settings=QUICK).to_dict()["metrics"]
    assert tuple(round(100 * row[key]["value"], 2) for key in ("kendall_b", "kendall_c")) == (24.42, 12.03)


def test_sizes_of_flickr8k_cf(shared: Path) -> None:
    published, strict, kept = (load("flickr8k-cf", shared, variant) for variant in ("published", "strict", "kept"))
    assert (published.rows, strict.rows, kept.rows) == (47_830, 47_109, 47_830)
    assert isinstance(published, Ratings)
    taken = {row.image: 5 - len(row.references) for row in published.dataset}
    assert sum(taken.values()) == 723


# tau-c as measured, and as CLIPScore and later papers have it.
COMPOSITE = {
    "bleu_4": (30.5, 30.6),
    "rouge_l": (32.3, 32.4),
    "meteor": (38.7, 38.9),
    "cider_d": (37.6, 37.7),
}


@pytest.mark.parametrize("metric", COMPOSITE)
def test_composite(shared: Path, metric: str) -> None:
    needs_paraphrases(metric)
    (row,) = run("composite", metric, data=shared, settings=QUICK).to_dict()["metrics"]
    measured, in_papers = COMPOSITE[metric]
    assert (row["references"], row["rows"]) == ("published", 11_985)
    assert round(100 * row["kendall_c"]["value"], 1) == measured
    assert 100 * row["kendall_c"]["value"] == pytest.approx(in_papers, abs=0.25)


def test_strict_composite_is_as_in_tiger(shared: Path) -> None:
    found = run("composite", ["bleu_1", "rouge_l", "cider_d"], data=shared, variants=["strict"], settings=QUICK)
    theirs = {"bleu_1": (0.280, 0.353), "rouge_l": (0.307, 0.383), "cider_d": (0.378, 0.472)}
    for row in found.to_dict()["metrics"]:
        ours = row["kendall_c"]["value"], row["spearman"]["value"]
        assert ours == pytest.approx(theirs[row["metric"]], abs=0.003), row["metric"]


def test_sizes_of_composite(shared: Path) -> None:
    published, strict, kept = (load("composite", shared, variant) for variant in ("published", "strict", "kept"))
    assert isinstance(published, Ratings)
    assert isinstance(strict, Ratings)
    assert isinstance(kept, Ratings)
    shorter = [len(a.references) < len(b.references) for a, b in zip(strict.dataset, kept.dataset)]
    assert (len(shorter), sum(shorter)) == (11_985, 4_007)
    assert all(row.references for row in strict.dataset)
    assert len({row.references for row in published.dataset}) == len({row.image for row in kept.dataset}) == 3_995
    assert min(len(row.references) for row in published.dataset) == 2


def test_two_truths_of_pascal50s(shared: Path) -> None:
    votes, labels = (load("pascal-50s", shared, variant) for variant in ("votes", "labels"))
    assert isinstance(votes, Pairs)
    assert isinstance(labels, Pairs)
    assert len(votes.ids) == len(labels.ids) == 4_000
    winner = dict(zip(labels.ids, labels.first_wins.tolist()))
    captions = {name: (a.strip(), b.strip()) for name, a, b in zip(labels.ids, labels.first, labels.second)}
    assert captions == {name: (a.strip(), b.strip()) for name, a, b in zip(votes.ids, votes.first, votes.second)}
    assert sum(winner[name] != wins for name, wins in zip(votes.ids, votes.first_wins.tolist())) == 561


PASCAL = {
    ("meteor", "votes"): (57.9, 97.6, 94.1, 62.5, 78.0),
    ("meteor", "labels"): (63.7, 97.5, 93.2, 65.6, 80.0),
    # What the official scores of the same captions and references give.
    ("cider_d", "labels"): (65.4, 98.6, 90.1, 65.4, 79.9),
}


@pytest.mark.parametrize("metric", ["meteor", "cider_d"])
def test_pascal50s(shared: Path, metric: str) -> None:
    needs_paraphrases(metric)
    found = run("pascal-50s", metric, data=shared, settings=QUICK).to_dict()
    assert [row["winners"] for row in found["metrics"]] == ["votes", "labels"]
    for row in found["metrics"]:
        if expected := PASCAL.get((metric, row["winners"])):
            measured = [row[key]["value"] for key in ("hc", "hi", "hm", "mm", "mean")]
            assert measured == pytest.approx(expected, abs=0.0501)
