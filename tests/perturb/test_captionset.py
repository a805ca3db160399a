"""The captions that are changed."""

from __future__ import annotations

import pytest

from capeval.errors import DataError
from capeval.perturb.captionset import caption_set


def test_held_out_captions_are_not_among_their_references() -> None:
    dataset = caption_set(None, {"1": ["a", "b", "c"], "2": ["d", "e"], "3": ["alone"]}, seed=0)
    assert dataset.images == ["1", "2"]
    for row in dataset:
        assert row.candidate not in row.references
        assert len(row.references) == {"1": 2, "2": 1}[row.image]


def test_one_reference_each_cannot_be_held_out() -> None:
    with pytest.raises(DataError, match="two at least"):
        caption_set(None, {"1": ["a"]})


def test_samples_are_drawn_with_the_seed() -> None:
    references = {str(i): [f"a{i}", f"b{i}"] for i in range(20)}
    first, again, other = (caption_set(None, references, seed=seed, sample=5).images for seed in (0, 0, 1))
    assert len(first) == 5
    assert first == again != other
