"""WMD: by hand, what it promises whatever the captions, and which word goes where."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capeval
from capeval.errors import DataError, ExpressionError, UnknownName
from capeval.metrics.wmd import Wmd, stopwords
from capeval.registry import label, parse
from capeval.text.vectors import load_vectors

PLACES = {"dog": (0, 0), "cat": (0, 1), "puppy": (0, 0), "car": (3, 4), "tree": (6, 8), "null": (0, 0), "the": (9, 9)}
KNOWN = ["dog", "cat", "puppy", "horse", "beach", "sea", "sand", "man", "woman", "red", "runs", "running"]
words = st.sampled_from([*KNOWN, "the", "on", "a", "qzxqzx"])
captions = st.lists(words, max_size=9)


@pytest.fixture
def plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Vectors of two dimensions, in which distances are easy to see."""
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "plane.txt"
    source.write_text("".join(f"{word} {x} {y}\n" for word, (x, y) in PLACES.items()))
    return str(source)


def wmd(candidate: str, references: list[str], **parameters: Any) -> float:
    (score,) = capeval.score([candidate], [references], [Wmd(**parameters)], tokenizer="none").scores.values()
    return score


@pytest.mark.parametrize(
    ("candidate", "references", "distance"),
    [
        ("dog", ["cat"], 1),
        ("dog", ["car", "cat", "tree"], 1),
        ("dog car", ["car dog"], 0),
        ("dog", ["puppy"], 0),
        # Half of the dog stays, half goes to the car.
        ("dog", ["dog car"], 2.5),
        # Two thirds of "dog dog car" are dogs; one sixth of the whole goes to the car.
        ("dog dog car", ["dog car"], 5 / 6),
        # The cat takes the short way to the dog's place, or the car would have to go farther.
        ("cat car", ["dog tree"], (1 + 5) / 2),
        # Function words and unknown words do not count.
        ("the dog is the qzx", ["a cat with qzx on it"], 1),
        ("the", ["the"], math.inf),
        ("qzx", ["qzx"], math.inf),
        ("", ["dog"], math.inf),
        ("dog", ["", "the"], math.inf),
        ("dog", ["", "cat"], 1),
    ],
)
def test_by_hand(each_engine: str, plane: str, candidate: str, references: list[str], distance: float) -> None:
    assert wmd(candidate, references, vectors=plane) == pytest.approx(math.exp(-distance), abs=1e-15)


def test_mean_over_references(each_engine: str, plane: str) -> None:
    expected = (math.exp(-1) + math.exp(-5) + 1 + 0) / 4
    score = wmd("dog", ["cat", "car", "puppy", "qzx"], vectors=plane, reference="mean")
    assert score == pytest.approx(expected, abs=1e-15)


def test_vectors_of_length_one(each_engine: str, plane: str) -> None:
    # Scaled to length 1, car and tree are at the same place, sqrt(0.36 + 0.04) from the cat; null stays at 0.
    assert wmd("car", ["tree"], vectors=plane, normalize=True) == pytest.approx(1, abs=1e-7)
    assert wmd("car", ["cat"], vectors=plane, normalize=True) == pytest.approx(math.exp(-math.sqrt(0.4)), abs=1e-7)
    assert wmd("car", ["null"], vectors=plane, normalize=True) == pytest.approx(math.exp(-1), abs=1e-7)


def test_function_words_can_be_kept(plane: str) -> None:
    assert wmd("the", ["the"], vectors=plane, stopwords=False) == 1
    kept = parse("wmd(stopwords=false)").metric
    assert kept == Wmd(stopwords=False)
    assert label(kept, "wmd") == "wmd(stopwords=false)"
    assert parse("wmd(stopwords=true)").metric == Wmd()


def test_ordinary_captions(each_engine: str) -> None:
    references = [["A man rides a horse along the beach."]]
    near, far = (
        capeval.score([text], references, ["wmd"]).scores["wmd"]
        for text in ("A person is riding a pony on the sand.", "A bowl of fruit on a kitchen table.")
    )
    assert 0 < far < near < 1


@given(candidate=captions, references=st.lists(captions, min_size=1, max_size=4), best=st.booleans())
@settings(max_examples=60)
def test_bounds_and_order_of_words_and_references(
    candidate: list[str], references: list[list[str]], best: bool
) -> None:
    metric = Wmd(reference="best" if best else "mean")

    def score(words: list[str], others: list[list[str]]) -> float:
        (number,) = capeval.score([" ".join(words)], [[" ".join(each) for each in others]], [metric]).scores.values()
        return number

    number = score(candidate, references)
    assert 0 <= number <= 1
    assert score(candidate[::-1], [each[::-1] for each in references[::-1]]) == pytest.approx(number, rel=1e-12)
    if not set(candidate) & set(KNOWN):
        assert number == 0
    elif candidate in references and best:
        assert number == 1


@given(one=captions, other=captions, third=captions)
@settings(max_examples=60)
def test_it_is_a_distance(one: list[str], other: list[str], third: list[str]) -> None:
    def distance(a: list[str], b: list[str]) -> float:
        return sum(move.amount * move.distance for move in Wmd().flow(a, b))

    assert distance(one, other) == pytest.approx(distance(other, one), abs=1e-12)
    if all(set(words) & set(KNOWN) for words in (one, other, third)):
        assert distance(one, third) <= distance(one, other) + distance(other, third) + 1e-9
    if one and other and set(one) & set(KNOWN) and set(other) & set(KNOWN):
        assert math.exp(-distance(one, other)) == pytest.approx(wmd(" ".join(one), [" ".join(other)]), rel=1e-9)


def test_flow(each_engine: str, plane: str) -> None:
    moves = Wmd(vectors=plane).flow(["the", "dog", "dog", "car", "qzx"], ["dog", "cat", "tree"])
    assert [(move.source, move.target) for move in moves] == [("dog", "dog"), ("dog", "cat"), ("car", "tree")]
    np.testing.assert_allclose([move.amount for move in moves], [1 / 3] * 3)
    np.testing.assert_allclose([move.distance for move in moves], [0, 1, 5])


@pytest.mark.parametrize(("one", "other"), [([], ["dog"]), (["dog"], []), (["the"], ["dog"]), (["qzx"], ["qzx"])])
def test_no_flow_without_known_words(each_engine: str, plane: str, one: list[str], other: list[str]) -> None:
    assert Wmd(vectors=plane).flow(one, other) == []


def test_threads_do_not_matter() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(KNOWN, 6)) for _ in range(300)]
    references = [list(random.choice(texts, 3)) for _ in texts]
    alone, many = (capeval.score(texts, references, ["wmd"], threads=threads).per_caption for threads in (1, 5))
    np.testing.assert_array_equal(alone["wmd"], many["wmd"])


def test_the_signature_names_the_vectors(plane: str) -> None:
    signatures = [capeval.score(["dog"], [["cat"]], [Wmd(vectors=v)]).signatures for v in ("glove-100d", plane)]
    digests = [load_vectors(v).digest[:12] for v in ("glove-100d", plane)]
    for signature, digest in zip(signatures, digests, strict=True):
        assert digest in next(iter(signature.values()))


def test_wrong_parameters(tmp_path: Path) -> None:
    with pytest.raises(ExpressionError, match="best or mean"):
        parse("wmd(reference=worst)")
    with pytest.raises(ExpressionError, match="true or false"):
        parse("wmd(stopwords=english)")
    with pytest.raises(UnknownName, match="glove-100d"):
        capeval.score(["a"], [["b"]], ["wmd(vectors=glove-100)"])
    with pytest.raises(DataError, match="No such file"):
        capeval.score(["a"], [["b"]], [f"wmd(vectors={tmp_path}/none.txt)"])


def test_function_words() -> None:
    assert {"a", "the", "is", "on", "n't", "'s", "they"} <= stopwords()
    assert not {"man", "two", "red", "sitting", "left", "#"} & stopwords()
    assert all(word == word.lower() for word in stopwords())
