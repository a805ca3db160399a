"""Captions of pictures as padded numbers, and the batches that they come in. Needs no torch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capeval.text.vocabulary import BOS, EOS, UNK, Vocabulary
from capeval.train.batching import by_group, by_length, count_of, parts_of
from capeval.train.captions import CaptionTable

TEXTS = {"p": ("one two three", "one"), "none": (), "q": ("two two", "three", "one two")}
VOCABULARY = Vocabulary.of(text for texts in TEXTS.values() for text in texts)
TABLE = CaptionTable.of(VOCABULARY, TEXTS, ["p", "none", "q", "unheard of"], 3)


def spelled(row: int) -> str:
    return " ".join(VOCABULARY.words(TABLE.tokens[row]))


def test_long_captions_are_cut_after_15_words_and_still_end() -> None:
    vocabulary = Vocabulary.of(["word"])
    table = CaptionTable.of(vocabulary, {"p": ("word " * 40, "other words")}, ["p"], 15)
    assert table.tokens.shape == (2, 16)
    assert table.lengths.tolist() == [16, 3]
    assert table.tokens[0, -1] == EOS
    assert table.tokens[1, :3].tolist() == [UNK, UNK, EOS]


def test_captions_belong_to_their_pictures() -> None:
    assert TABLE.counts().tolist() == [2, 0, 3, 0]
    assert TABLE.owners().tolist() == [0, 0, 2, 2, 2]
    assert [spelled(row) for row in range(5)] == [text for texts in TEXTS.values() for text in texts]
    begun = CaptionTable.of(VOCABULARY, TEXTS, ["q"], 3, bos=True)
    assert begun.tokens[:, 0].tolist() == [BOS] * 3
    assert begun.lengths.tolist() == [4, 3, 4]


def test_rows_are_padded_to_the_table_or_to_the_longest_of_them() -> None:
    rows = np.array([1, 3])
    tokens, lengths = TABLE.take(rows)
    assert tokens.shape == (2, 4)
    assert lengths.tolist() == [2, 2]
    assert TABLE.padded(rows).tolist() == tokens[:, :2].tolist()


@given(st.integers(0, 2**32))
def test_draws(seed: int) -> None:
    random = np.random.default_rng(seed)
    images = np.array([0, 2, 2, 0])
    rows = TABLE.draw(images, random)
    assert TABLE.owners()[rows].tolist() == images.tolist()
    others = TABLE.draw_other(images, rows, random)
    assert TABLE.owners()[others].tolist() == images.tolist()
    assert (others != rows).all()
    two = TABLE.draw_some(2, random)
    assert TABLE.owners()[two].tolist() == [0, 0, 2, 2]
    assert len({*two.tolist()}) == 4
    assert sorted(TABLE.draw_some(0, random).tolist()) == [0, 1, 2, 3, 4]


@given(st.lists(st.integers(0, 30), max_size=5), st.integers(1, 9), st.integers(0, 2**32))
def test_each_row_comes_once_in_batches_of_one_group(sizes: list[int], size: int, seed: int) -> None:
    group = np.repeat(np.arange(len(sizes)), sizes)
    groups = [np.flatnonzero(group == number) for number in range(len(sizes))]
    batches = list(by_group(groups, size, np.random.default_rng(seed)))
    assert sorted(np.concatenate([np.empty(0, int), *batches]).tolist()) == list(range(len(group)))
    assert len(batches) == sum(count_of(each, size) for each in sizes)
    assert all(len({*group[batch].tolist()}) == 1 and len(batch) <= size for batch in batches)


@given(st.lists(st.integers(1, 20), max_size=200), st.integers(1, 9), st.integers(0, 2**32))
def test_batches_of_like_lengths(lengths: list[int], size: int, seed: int) -> None:
    given = np.array(lengths, np.int64)
    batches = list(by_length(given, size, np.random.default_rng(seed)))
    assert sorted(np.concatenate([np.empty(0, int), *batches]).tolist()) == list(range(len(lengths)))
    assert len(batches) == count_of(len(lengths), size) == len(parts_of(given, size))
    if len(lengths) <= 50 * size:  # one pool: batches do not overlap but at their ends
        spans = sorted((given[batch].min(), given[batch].max()) for batch in batches)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
