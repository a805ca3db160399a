"""Decoding, on networks small enough to try every caption; and the captioner of the package."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import CapevalError
from capeval.runtime.captioner import Floats, Ids, State, beam_search, draw, open_captioner
from capeval.runtime.checkpoint import installed_checkpoints
from capeval.text.vocabulary import BOS, EOS, PAD, UNK

LENGTH = 4
WORDS = 6  # the four specials and two words
POSSIBLE = (EOS, 4, 5)


class Chain:
    """A network whose next word depends on the picture, the word before and the number of words so far."""

    def __init__(self, seed: int) -> None:
        scores = np.random.default_rng(seed).standard_normal((8, LENGTH + 1, WORDS, WORDS)) * 2
        scores[..., [PAD, BOS, UNK]] = -1e4
        self.table = scores - np.log(np.exp(scores).sum(-1, keepdims=True))

    def start(self, pictures: Floats) -> State:
        return State(pictures[:, :1], np.zeros((len(pictures), 1), np.float32))

    def step(self, words: Ids, state: State) -> tuple[Floats, State]:
        which, place = state.hidden[:, 0].astype(int), state.cell[:, 0].astype(int)
        return self.table[which, place, words].astype(np.float32), State(state.hidden, state.cell + 1)

    def score(self, picture: int, ids: tuple[int, ...]) -> float:
        return float(sum(self.table[picture, i, a, b] for i, (a, b) in enumerate(itertools.pairwise((BOS, *ids)))))


def pictures(count: int) -> Floats:
    return np.arange(count, dtype=np.float32)[:, None]


def trimmed(row: Ids) -> tuple[int, ...]:
    return tuple(int(number) for number in row if number != PAD)


def every_caption() -> list[tuple[int, ...]]:
    """All captions: those that end, and those that are cut at the greatest length."""
    found = []
    for size in range(LENGTH):
        found += [(*words, EOS) for words in itertools.product((4, 5), repeat=size)]
    return found + [tuple(words) for words in itertools.product((4, 5), repeat=LENGTH)]


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.7, 1.0]))
def test_a_wide_beam_finds_the_best_caption(seed: int, penalty: float) -> None:
    network = Chain(seed)
    found = beam_search(network, pictures(4), len(every_caption()), LENGTH, penalty)
    for picture, row in enumerate(found):
        assert trimmed(row) == max(every_caption(), key=lambda ids: network.score(picture, ids) / len(ids) ** penalty)


@given(st.integers(0, 10_000))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    network = Chain(seed)
    for picture, row in enumerate(beam_search(network, pictures(5), 1, LENGTH)):
        expected, word = [], BOS
        for place in range(LENGTH):
            word = int(network.table[picture, place, word].argmax())
            expected.append(word)
            if word == EOS:
                break
        assert trimmed(row) == tuple(expected)


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.0, 1.0]))
def test_pictures_do_not_depend_on_each_other(seed: int, beam: int, penalty: float) -> None:
    network = Chain(seed)
    together = beam_search(network, pictures(6), beam, LENGTH, penalty)
    alone = [beam_search(network, pictures(6)[i : i + 1], beam, LENGTH, penalty)[0] for i in range(6)]
    np.testing.assert_array_equal(together, np.stack(alone))


def test_no_pictures() -> None:
    assert beam_search(Chain(0), pictures(0), 3, LENGTH).shape == (0, LENGTH)
    assert draw(Chain(0), pictures(0), 1.0, LENGTH, [0]).shape == (0, LENGTH)


def test_draws_follow_the_probabilities() -> None:
    network, count = Chain(3), 20_000
    rows = draw(network, np.zeros((count, 1), np.float32), 1.0, LENGTH, [1])
    for ids in every_caption():
        padded = np.array([*ids, *[PAD] * (LENGTH - len(ids))])
        share = (rows == padded).all(1).mean()
        expected = np.exp(network.score(0, ids))
        assert share == pytest.approx(expected, abs=4 * np.sqrt(expected / count) + 1e-4)


def test_temperature() -> None:
    network = Chain(5)
    cold = draw(network, pictures(6), 1e-3, LENGTH, [0])
    np.testing.assert_array_equal(cold, beam_search(network, pictures(6), 1, LENGTH))
    hot = draw(network, np.zeros((3000, 1), np.float32), 1e3, LENGTH, [0])[:, 0]
    assert {int(word) for word in hot} == set(POSSIBLE)
    assert np.bincount(hot, minlength=WORDS)[list(POSSIBLE)] == pytest.approx(1000, abs=150)


def test_the_seed_decides_draws() -> None:
    network = Chain(5)
    first, again, other = (draw(network, pictures(8), 1.0, LENGTH, [seed]) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


needs_captioner = pytest.mark.skipif("captioner" not in installed_checkpoints(), reason="no captioner in this copy")


@needs_captioner
def test_the_captioner_of_the_package() -> None:
    pytest.importorskip("onnxruntime")
    writer = open_captioner()
    vectors = np.random.default_rng(0).exponential(0.3, (7, writer.dim)).astype(np.float32)
    texts = writer.captions(vectors)
    assert all(3 <= len(text.split()) <= 20 for text in texts)
    assert texts == writer.captions(vectors)
    samples = writer.samples(vectors, 3)
    assert [len(several) for several in samples] == [3] * 7
    with pytest.raises(CapevalError, match=r"width 1280.*width 2048"):
        writer.check(2048, "")
    with pytest.raises(CapevalError, match="lite9"):
        writer.check(writer.dim, "lite9/0123")


@needs_captioner
def test_captioning_imports_no_torch(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    vectors = np.random.default_rng(0).exponential(0.3, (3, 1280)).astype(np.float32)
    np.savez(tmp_path / "f.npz", ids=np.array(["a", "000000000042", "c"]), vectors=vectors)
    code = (
        "import sys; from capeval.cli import cli;"
        "cli.main(sys.argv[1:], standalone_mode=False); assert 'torch' not in sys.modules"
    )
    for more in (["--beam", "2"], ["--temperature", "1", "--samples", "2"]):
        arguments = ["caption", "--features", str(tmp_path / "f.npz"), "-o", str(tmp_path / "out.json"), *more]
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
        rows = json.loads((tmp_path / "out.json").read_text("utf-8"))
        assert {row["image_id"] for row in rows} == {"a", 42, "c"}
        assert all(row["caption"] for row in rows)
    assert [row["id"] for row in rows] == ["a#1", "a#2", "42#1", "42#2", "c#1", "c#2"]
