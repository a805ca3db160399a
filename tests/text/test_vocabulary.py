"""Vocabularies: counting, coding, files, and first vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import DataError, UnknownName
from capeval.text.tokenize import tokenize
from capeval.text.vectors import load_vectors
from capeval.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary, initial_vectors

TEXTS = ["A dog runs.", "the dog sleeps", "a dog and a cat", ""]


def test_the_most_frequent_words_come_first_and_ties_go_by_spelling() -> None:
    assert Vocabulary.of(TEXTS).spellings == (*SPECIALS, "a", "dog", "and", "cat", "runs", "sleeps", "the")
    assert Vocabulary.of(TEXTS, limit=1).spellings == (*SPECIALS, "a")
    assert Vocabulary.of(TEXTS, minimum=2).spellings == (*SPECIALS, "a", "dog")
    assert Vocabulary.of(tokenize(TEXTS)).spellings == Vocabulary.of(TEXTS).spellings


def test_specials_in_a_caption_are_no_words() -> None:
    vocabulary = Vocabulary.of([["<eos>", "a", "two words", ""]])
    assert vocabulary.spellings == (*SPECIALS, "a")


def test_coding() -> None:
    vocabulary = Vocabulary(["a", "dog", "runs"])
    ids, lengths = vocabulary.encode_texts(["A dog flies!", "", "a a a a a"], 4)
    assert ids.tolist() == [[4, 5, UNK, EOS, PAD], [EOS, PAD, PAD, PAD, PAD], [4, 4, 4, 4, EOS]]
    assert lengths.tolist() == [4, 1, 5]
    ids, lengths = vocabulary.encode_texts(["a dog"], 3, bos=True, eos=False)
    assert ids.tolist() == [[BOS, 4, 5, PAD]]
    assert lengths.tolist() == [3]
    assert vocabulary.encode_texts([], 3)[0].shape == (0, 4)
    with pytest.raises(ValueError, match="room"):
        vocabulary.encode_texts(["a"], 0)


words = st.sampled_from(["a", "dog", "cat", "runs", "unseen"])


@given(st.lists(st.lists(words, max_size=8)), st.integers(1, 9), st.booleans(), st.booleans())
def test_texts_and_tokens_are_coded_alike_and_back(
    captions: list[list[str]], length: int, bos: bool, eos: bool
) -> None:
    vocabulary = Vocabulary(["a", "dog", "cat", "runs"])
    ids, lengths = vocabulary.encode(captions, length, bos, eos)
    other = vocabulary.encode_texts([" ".join(caption) for caption in captions], length, bos, eos)
    np.testing.assert_array_equal(ids, other[0])
    np.testing.assert_array_equal(lengths, other[1])
    for caption, row, count in zip(captions, ids, lengths, strict=True):
        assert vocabulary.words(row) == [word for word in caption[:length] if word != "unseen"]
        assert count == np.count_nonzero(row) == min(len(caption), length) + bos + eos


def test_a_file(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(["über dogs\u2028café a a"])
    (tmp_path / "v.txt").write_bytes(vocabulary.to_bytes())
    assert Vocabulary.load(tmp_path / "v.txt").spellings == vocabulary.spellings
    assert len(Vocabulary.from_bytes(b"")) == 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\n\nb\n", "line 2"),
        (b"a\nb", "cut"),
        (b"a\nb\na\n", "twice"),
        (b"<pad>\n", "not a word"),
        (b"\xff\n", "UTF-8"),
    ],
)
def test_a_damaged_file(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Vocabulary.from_bytes(data)


def test_first_vectors() -> None:
    vocabulary = Vocabulary(["dog", "qqqqzzzz", "cat"])
    vectors = initial_vectors(vocabulary, seed=1)
    table = load_vectors("glove-100d")
    assert vectors.shape == (7, table.dimensions)
    np.testing.assert_array_equal(vectors[[4, 6]], table.take(table.rows_of(["dog", "cat"])))
    assert not vectors[PAD].any()
    assert 0.5 < vectors[5].std() / vectors[[4, 6]].std() < 2
    np.testing.assert_array_equal(vectors, initial_vectors(vocabulary, seed=1))
    assert not np.array_equal(vectors[5], initial_vectors(vocabulary, seed=2)[5])
    with pytest.raises(UnknownName):
        initial_vectors(vocabulary, "glove-100")
