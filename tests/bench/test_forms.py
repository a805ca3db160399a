"""What every form of judgements says about itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from capeval.bench import Form, Pairs, Ratings, Settings, Systems
from capeval.bench.scoring import Scorer
from capeval.errors import CapevalError
from capeval.perturb.choices import Choice
from capeval.types import Dataset

ROWS = Dataset(["1", "2", "3"], ["a", "b", "a"], ["x", "y", "z"], [("x",), ("y",), ("z",)], range(3))
RATINGS = Ratings(ROWS, np.array([[1.0, 2.0], [3.0, np.nan], [2.0, 2.0]]))
PAIRS = Pairs.of_choices(
    [Choice("p", "b", "right", "wrong", ("r", "s"), "HC"), Choice("q", "b", "good", "bad", ("t",), "HI")]
)
SYSTEMS = Systems(["one", "two", "three"], {"m1": np.arange(3.0)}, {"cider": np.arange(3.0)})


@pytest.mark.parametrize(
    ("form", "rows", "images", "unused"),
    [
        (RATINGS, 5, ["a", "b"], ["draws", "ties"]),
        (PAIRS, 2, ["b"], ["combine"]),
        (SYSTEMS, 3, [], ["draws", "ties", "combine"]),
    ],
)
def test_what_a_form_holds(form: Form, rows: int, images: list[str], unused: list[str]) -> None:
    assert form.rows == rows
    assert form.distinct_images == images
    assert form.unused_settings(Settings()) == []
    assert form.unused_settings(Settings(draws=9, ties="right", combine=2, resamples=9, seed=9)) == unused


def test_the_captions_of_a_form() -> None:
    assert RATINGS.captions() is ROWS
    captions = PAIRS.captions()
    assert captions.ids == ["p-1", "p-2", "q-1", "q-2"]
    assert captions.candidates == ["right", "wrong", "good", "bad"]
    assert captions[0].references == ("r", "s")
    with pytest.raises(CapevalError, match="only systems: one, two, three"):
        SYSTEMS.captions()


def test_a_form_of_some_images() -> None:
    some = replace(RATINGS, judgements={"other": np.array([[5.0], [6.0], [7.0]])}).of_images({"a"})
    assert some.dataset.ids == ["1", "3"]
    assert some.dataset[1].references == ("z",)
    assert some.human.tolist() == [[1, 2], [2, 2]]
    assert some.judged_by("other").human.tolist() == [[5], [7]]
    pairs = Pairs.of_choices(
        [Choice("p", "b", "right", "wrong", ("r", "s"), "HC"), Choice("q", "c", "good", "bad", ("t",), "HI")]
    )
    one = replace(pairs, first_wins=np.array([True, False]), drawn=3).of_images({"c"})
    assert (one.ids, one.images, one.first, one.second) == (["q"], ["c"], ["good"], ["bad"])
    assert (one.references, one.categories, one.first_wins.tolist(), one.drawn) == ([("t",)], ["HI"], [False], 3)
    with pytest.raises(CapevalError, match="none can be left out"):
        SYSTEMS.of_images({"a"})


def test_the_right_caption_of_a_choice_wins() -> None:
    assert PAIRS.first_wins.all()
    assert PAIRS.categories == ["HC", "HI"]


def test_systems_are_not_scored() -> None:
    def length(dataset: Dataset) -> list[float]:
        return [1.0] * len(dataset)

    for metrics in ("bleu_1", length):
        with pytest.raises(CapevalError, match="not public"):
            SYSTEMS.measure(Scorer.of(metrics), Settings())  # type: ignore[arg-type]
    part = SYSTEMS.measure(Scorer.of(None), Settings(resamples=5))
    assert [row["metric"] for row in part.metrics] == ["cider"]
    assert part.form is SYSTEMS
