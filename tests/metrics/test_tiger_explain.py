"""What `capeval explain tiger` shows of one caption."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from capeval.api import score
from capeval.errors import DataError, Unavailable
from capeval.metrics.tiger import Tiger
from capeval.metrics.tiger_explain import Side, explanation
from capeval.run import Run
from capeval.runtime.grounding import Grounder
from capeval.runtime.pictures import open_picture
from capeval.types import Explanation, Picture

CANDIDATE = "a dog runs on the beach"
REFERENCES = ["a dog and a ball", "the man is on the beach"]


@pytest.fixture
def picture(beach: Path) -> Picture:
    return open_picture(beach / "beach.png", beach / "regions.npz")


def explained(metric: Tiger, picture: Picture | None, candidate: str, *references: str) -> Explanation:
    (found,) = metric.explain(candidate.split(), [each.split() for each in references], Run(threads=1), picture)
    return found


def test_by_hand() -> None:
    """Three regions. The candidate ranks them 2, 1, 3, the references 2, 3, 1."""
    ours, theirs = np.array([0.2, 0.6, 0.1]), np.array([0.1, 0.5, 0.3])
    logs = [each - math.log(sum(math.exp(value) for value in each)) for each in (ours, theirs)]
    found = explanation(
        "a / b",
        {"tiger": 0.5},
        ["left", "middle", "right"],
        Side(ours, np.array([1, 0, 2]), logs[0]),
        Side(theirs, np.array([1, 2, 0]), logs[1]),
        np.array([0, 1, 0.5]),
    )
    assert found.reference == "a / b"
    assert [row[:3] for row in found.rows] == [(1, "middle", 1), (2, "left", 3), (3, "right", 2)]
    assert found.rows[1][3:6] == (0.2, 0.1, 0.0)
    # Shares: exp(.2), exp(.6), exp(.1) are 1.221403, 1.822119, 1.105171, together 4.148693.
    assert found.rows[1][6] == pytest.approx(0.294407, abs=1e-6)
    # Theirs: 1.105171, 1.648721, 1.349859, together 4.103751: .269308, .401759, .328933. The logarithms of the sums
    # differ by .010892, so that those of theirs / ours are -.1, -.1 and .2, each plus .010892. Divergence:
    # -.089108 * (.269308 + .401759) + .210892 * .328933 = -.059797 + .069369.
    assert found.facts["KL divergence"] == pytest.approx(0.009572, abs=1e-6)
    assert found.facts["length ratio"] == pytest.approx(math.sqrt(0.35 / 0.41))
    assert found.facts["tiger"] == 0.5


def test_a_vector_of_zeros_has_no_length() -> None:
    side = Side(np.zeros(2), np.array([0, 1]), np.log([0.5, 0.5]))
    assert explanation("", {}, ["a", "b"], side, side, np.ones(2)).facts["length ratio"] == "infinite"


def test_the_scores_are_those_of_the_metric_and_of_what_is_shown(
    beach: Path, small_scan: Path, picture: Picture
) -> None:
    metric = Tiger(checkpoint=str(small_scan), tau=2.0)
    found = explained(metric, picture, CANDIDATE, *REFERENCES)
    names = [f"{name}(checkpoint={small_scan}, tau=2)" for name in ("tiger", "tiger_rrs", "tiger_wds")]
    scored = score({"beach": CANDIDATE}, {"beach": REFERENCES}, names, features=beach / "regions.npz").scores
    tiger, rrs, wds = (found.facts[name] for name in ("tiger", "tiger_rrs", "tiger_wds"))
    assert [tiger, rrs, wds] == list(scored.values())
    rank, _, theirs, ours, reference, gain, q, p = (np.array(column) for column in zip(*found.rows))
    assert rank.tolist() == list(range(1, 17))
    assert (np.diff(ours) <= 0).all()
    assert sorted(theirs.tolist()) == rank.tolist()
    discount = 1 / np.log2(rank + 1)
    best = np.sort(gain)[::-1]
    assert rrs == pytest.approx(float((gain * discount).sum() / (best * discount).sum()))
    divergence = float((p * np.log(p / q)).sum())
    ratio = float(np.linalg.norm(reference) / np.linalg.norm(ours))
    assert found.facts["KL divergence"] == pytest.approx(divergence)
    assert found.facts["length ratio"] == pytest.approx(ratio)
    assert wds == pytest.approx(1 / (1 + math.exp(2.0 * (divergence + math.log(ratio)))))


def test_the_numbers_are_those_of_the_heat_maps(beach: Path, small_scan: Path, picture: Picture) -> None:
    found = explained(Tiger(checkpoint=str(small_scan)), picture, CANDIDATE, *REFERENCES, CANDIDATE)
    grounder = Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=beach / "regions.npz")
    drawn = grounder.ground("beach", CANDIDATE, [*REFERENCES, CANDIDATE])
    for row in found.rows:
        place = [int(part) for part in str(row[1]).replace(",", "").split() if part.isdigit()]
        number = 4 * (place[0] - 1) + place[1] - 1
        assert row[3] == pytest.approx(drawn.candidate.vector[number], abs=1e-6)
        assert row[4] == pytest.approx(drawn.reference_mean()[number], abs=1e-6)


def test_regions_with_and_without_boxes(beach: Path, small_scan: Path) -> None:
    metric = Tiger(checkpoint=str(small_scan))
    regions = np.random.default_rng(0).standard_normal((1, 2, 8))
    np.savez(beach / "none.npz", ids=np.array(["beach"]), regions=regions)
    found = explained(metric, open_picture("beach.jpg", beach / "none.npz"), CANDIDATE, *REFERENCES)
    assert {row[1] for row in found.rows} == {"region 1", "region 2"}
    boxes = np.array([[[0.1, 0.2, 0.5, 0.6], [0, 0, 1, 1]]])
    np.savez(beach / "some.npz", ids=np.array(["beach"]), regions=regions, boxes=boxes)
    found = explained(metric, open_picture("beach.jpg", beach / "some.npz"), CANDIDATE, *REFERENCES)
    assert "x 0.10 to 0.50, y 0.20 to 0.60" in {row[1] for row in found.rows}


def test_nothing_to_compare(small_scan: Path, picture: Picture) -> None:
    metric = Tiger(checkpoint=str(small_scan))
    for candidate, reference in (("zebra", "a dog"), ("a dog", "zebra")):
        found = explained(metric, picture, candidate, reference)
        assert found.facts["tiger"] == 0
        assert "nothing" in str(found.facts["compared"])
        assert not found.rows


def test_without_a_picture(small_scan: Path, beach: Path) -> None:
    metric = Tiger(checkpoint=str(small_scan))
    with pytest.raises(Unavailable, match="`picture`"):
        explained(metric, None, CANDIDATE, *REFERENCES)
    with pytest.raises(DataError, match="'elsewhere'"):
        explained(metric, open_picture("elsewhere.jpg", beach / "regions.npz"), CANDIDATE, *REFERENCES)
