"""SCAN without torch: reading captions, mapping regions, attention. The networks are small ones with random weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")

from capeval.errors import CheckpointError
from capeval.runtime.checkpoint import open_checkpoint
from capeval.runtime.scan import Scan, Words, open_scan, open_trained_scan
from capeval.types import Array, Floats

CAPTIONS = [
    ["a", "dog", "runs", "on", "the", "beach"],
    ["a", "dog"],
    ["zebra", "unicorn"],
    [],
    ["a", "zebra"],
    ["dog"],
    ["two", "kids", "play", "with", "a", "red", "ball", "in", "the", "park", "and", "a", "dog", "is", "running"],
]


@pytest.fixture
def scan(small_scan: Path) -> Scan:
    return open_scan(str(small_scan))


def unit(random: np.random.Generator, *shape: int) -> Floats:
    found = random.standard_normal(shape)
    return (found / np.linalg.norm(found, axis=-1, keepdims=True)).astype(np.float32)


def attended(lookers: Array, seen: Array, temperature: float) -> Array:
    """The paper's equations 1 to 6, one number after the other."""
    found = []
    for v in lookers:
        scores = [[max(0.0, float(u @ w)) for w in seen] for u in lookers]
        norms = [np.sqrt(sum(scores[k][j] ** 2 for k in range(len(lookers)))) for j in range(len(seen))]
        sim = [max(0.0, float(v @ w)) / norm if norm else 0.0 for w, norm in zip(seen, norms)]
        powers = [np.exp(temperature * each) for each in sim]
        a = sum(power / sum(powers) * w for power, w in zip(powers, seen))
        found.append(float(v @ a) / float(np.linalg.norm(v) * np.linalg.norm(a)))
    return np.array(found)


def test_attention_by_hand(scan: Scan) -> None:
    """Regions (1, 0) and (0.6, 0.8), words (1, 0) and (0, 1), temperature 4.

    Cosines: 1, 0 and .6, .8; the words' lengths over the regions: sqrt(1 + .36) = 1.166190 and .8; divided: .857493, 0
    and .514496, 1. Weights of the first region: 1 to exp(-4 * .857493) = .032388, so .968628 and .031372; attended
    (.968628, .031372), of length .969136; cosine .968628 / .969136 = .999476.
    Of the second: exp(4 (.514496 - 1)) = .143414 to 1, so .125426 and .874574, of length .883522; cosine
    (.6 * .125426 + .8 * .874574) / .883522 = .877075.
    """
    found = scan.ground(np.array([[1, 0], [0.6, 0.8]], np.float32), np.eye(2, dtype=np.float32))
    np.testing.assert_allclose(found.attention, [[0.968628, 0.031372], [0.125426, 0.874574]], atol=2e-6)
    np.testing.assert_allclose(found.vector, [0.999476, 0.877075], atol=2e-6)
    np.testing.assert_allclose(found.similarity, [[1, 0], [0.6, 0.8]], atol=1e-7)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 12), st.integers(0, 10_000))
def test_attention_is_that_of_the_paper(scan: Scan, regions: int, words: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    mapped, read = unit(random, regions, width), unit(random, words, width)
    found = scan.ground(mapped, read)
    expected = attended(mapped.astype(np.float64), read.astype(np.float64), scan.temperature)
    np.testing.assert_allclose(found.vector, expected, atol=1e-5)
    np.testing.assert_allclose(found.attention.sum(axis=1), 1)
    np.testing.assert_allclose(found.similarity, mapped @ read.T, atol=1e-6)


def test_words_that_cancel_out_and_words_that_no_region_is_like(scan: Scan) -> None:
    word = np.array([[0, 1], [0, -1]], np.float32)
    assert scan.ground(np.array([[1, 0]], np.float32), word).vector.tolist() == [0]
    lonely = scan.ground(np.array([[-1, 0], [-0.6, -0.8]], np.float32), np.eye(2, dtype=np.float32))
    np.testing.assert_allclose(lonely.attention, 0.5)
    np.testing.assert_allclose(lonely.vector, [-np.sqrt(0.5), -1.4 * np.sqrt(0.5)], atol=1e-6)


def test_words_look_at_regions_in_the_other_direction(write_scan: Callable[..., Path], tmp_path: Path) -> None:
    scan = open_scan(str(write_scan(tmp_path, direction="t2i")))
    random = np.random.default_rng(0)
    mapped, read = unit(random, 5, scan.width), unit(random, 3, scan.width)
    found = scan.ground(mapped, read)
    assert found.attention.shape == found.similarity.shape == (3, 5)
    np.testing.assert_allclose(found.vector, attended(read, mapped, scan.temperature), atol=1e-5)
    with pytest.raises(CheckpointError, match="words look at regions"):
        scan.grounding(mapped[None], np.zeros(1, int), Words(read, np.array([0, 3])), np.zeros(1, int))


def test_captions_are_read_word_by_word(scan: Scan) -> None:
    read = scan.read(CAPTIONS)
    assert np.diff(read.offsets).tolist() == [6, 2, 0, 0, 2, 1, scan.words]
    np.testing.assert_allclose(np.linalg.norm(read.vectors, axis=1), 1, atol=1e-5)
    session = open_checkpoint(scan.checkpoint.folder, "scan").session("words.onnx")
    for number, tokens in enumerate(CAPTIONS):
        if len(read.of(number)):
            ids = np.array([[scan.vocabulary[word] for word in tokens[: scan.words]]])
            np.testing.assert_allclose(read.of(number), session.run(None, {"tokens": ids})[0][0], atol=1e-6)
    assert scan.read([]).vectors.shape == (0, scan.width)


words = st.sampled_from(["a", "the", "dog", "runs", "on", "beach", "zebra"])


@settings(max_examples=25)
@given(st.lists(st.lists(words, max_size=14), min_size=1, max_size=80), st.integers(0, 10_000), st.integers(1, 13))
def test_no_number_depends_on_company_order_or_threads(
    scan: Scan, texts: list[list[str]], seed: int, regions: int
) -> None:
    random = np.random.default_rng(seed)
    pictures = random.standard_normal((10, regions, scan.region_width)).astype(np.float32)
    read, mapped = scan.read(texts), scan.map_regions(pictures)
    count = 3 * len(texts)
    picture, caption = random.integers(0, 10, count), random.integers(0, len(texts), count)
    whole = scan.grounding(mapped, picture, read, caption)
    assert whole.shape == (count, regions)
    one = int(caption[0])
    alone = scan.read([texts[one]])
    np.testing.assert_array_equal(alone.vectors, read.of(one))
    mine = scan.map_regions(pictures[picture[:1]])
    np.testing.assert_array_equal(mine[0], mapped[picture[0]])
    zero = np.zeros(1, int)
    np.testing.assert_array_equal(scan.grounding(mine, zero, alone, zero)[0], whole[0])
    expected = scan.ground(mine[0], alone.vectors).vector if len(alone.vectors) else np.zeros(regions)
    np.testing.assert_array_equal(expected.astype(np.float32), whole[0])
    np.testing.assert_array_equal(scan.read(texts, threads=3).vectors, read.vectors)
    np.testing.assert_array_equal(scan.map_regions(pictures, threads=3), mapped)
    order = random.permutation(count)
    np.testing.assert_array_equal(scan.grounding(mapped, picture[order], read, caption[order], 3), whole[order])


def test_it_is_opened_once(write_scan: Callable[..., Path], tmp_path: Path) -> None:
    """One of its own: a few are kept open, and other tests may have pushed a shared one out."""
    folder = str(write_scan(tmp_path))
    assert open_scan(folder) is open_scan(folder)
    assert open_scan(folder).checkpoint is open_trained_scan(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"direction": "sideways"}, "i2t or t2i"), ({"temperature": 9.0}, "'grounding' differs"), ({}, "does not say")],
)
def test_a_config_that_is_wrong(
    write_scan: Callable[..., Path], tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    content = json.loads((write_scan(tmp_path) / "config.json").read_bytes())
    content["config"] = content["config"] | changes if changes else {}
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=message):
        open_scan(str(tmp_path))
