"""How tiger grounds the captions of a corpus: bits that nothing decides but the row, work done once, bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from capeval.corpus import Corpus
from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.metrics import grounding
from capeval.metrics.grounding import Memory
from capeval.metrics.tiger import Tiger
from capeval.run import Run
from capeval.runtime.scan import Scan
from capeval.types import Array, Dataset, Floats, Sample

WIDTH = 8


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    grounding.memory.cache_clear()


@pytest.fixture
def metric(small_scan: Path) -> Tiger:
    return Tiger(checkpoint=str(small_scan))


def drawn(images: Sequence[str], regions: int = 6, seed: int = 0) -> ArrayFeatures:
    random = np.random.default_rng(seed).standard_normal((len(images), regions, WIDTH)).astype(np.float32)
    return ArrayFeatures(__file__, images, {"regions": random})


@pytest.fixture
def pictured(small: Dataset) -> Dataset:
    small.features = drawn(sorted(set(small.images)))
    return small


def scores(dataset: Dataset, metric: Tiger, threads: int = 1) -> Array:
    """Columns: tiger, tiger_rrs, tiger_wds."""
    (scored,) = evaluate(dataset, [metric], Run(threads=threads)).scored
    return metric.per_sample(scored.stats)


def test_scores_do_not_depend_on_order_company_threads_repetition_or_memory(pictured: Dataset, metric: Tiger) -> None:
    whole = scores(pictured, metric)
    assert len(np.unique(whole[:, 0])) == len(whole)
    order = np.random.default_rng(0).permutation(len(pictured)).tolist()
    np.testing.assert_array_equal(scores(pictured.rows(order), metric), whole[order])
    for forget in (True, False):
        if forget:
            grounding.memory.cache_clear()
        np.testing.assert_array_equal(scores(pictured[3:4], metric), whole[3:4])
        np.testing.assert_array_equal(scores(pictured, metric, threads=3), whole)
    twice = pictured.rows([*range(len(pictured)), 0, 0])
    np.testing.assert_array_equal(scores(twice, metric), [*whole, whole[0], whole[0]])


@pytest.mark.parametrize(("name", "value"), [("_NUMBERS", 1), ("_PAIRS", 1), ("_ROWS", 1), ("_PICTURES_READ", 1)])
def test_blocks_do_not_decide_scores(
    pictured: Dataset, metric: Tiger, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    whole = scores(pictured, metric)
    grounding.memory.cache_clear()
    monkeypatch.setattr(grounding, name, value)
    np.testing.assert_array_equal(scores(pictured, metric), whole)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The captions that were read by the network."""
    seen: list[str] = []
    real = Scan.read

    def spy(self: Scan, texts: Sequence[Sequence[str]], threads: int = 1) -> Any:
        seen.extend(" ".join(text) for text in texts)
        return real(self, texts, threads)

    monkeypatch.setattr(Scan, "read", spy)
    return seen


def test_each_caption_is_read_once_and_references_never_again(
    pictured: Dataset, metric: Tiger, read: list[str]
) -> None:
    before = scores(pictured, metric)
    assert len(read) == len(set(read)) == len({*pictured.candidates, *sum(pictured.reference_sets, ())})
    read.clear()
    np.testing.assert_array_equal(scores(pictured, metric), before)
    assert not set(read) & set(sum(pictured.reference_sets, ()))


def test_what_is_remembered_is_of_this_picture_and_this_model(
    metric: Tiger, write_scan: Callable[..., Path], tmp_path: Path
) -> None:
    row = Dataset.from_samples([Sample("1", "x", "a red ball", ("a dog", "a man on the beach"))])

    def score(metric: Tiger, pictures: ArrayFeatures) -> list[list[float]]:
        row.features = pictures
        return scores(row, metric).tolist()

    cases = [
        (metric, drawn(["x"])),
        (metric, drawn(["x"], seed=1)),
        (metric, drawn(["x"], regions=5)),
        (Tiger(checkpoint=str(write_scan(tmp_path, seed=1))), drawn(["x"])),
    ]
    expected = []
    for case in cases:
        grounding.memory.cache_clear()
        expected.append(score(*case))
    assert [score(*case) for case in [*cases, *cases]] == [*expected, *expected]
    assert len({str(each) for each in expected}) == len(cases)


def test_the_three_scores_cost_once(pictured: Dataset, metric: Tiger, read: list[str]) -> None:
    names = [f"{name}(checkpoint={metric.checkpoint})" for name in Tiger.info.names]
    result = evaluate(pictured, names, Run(threads=1))
    assert list(result.per_caption) == names
    assert len(read) == len(set(read))
    columns = np.column_stack(list(result.per_caption.values()))
    np.testing.assert_array_equal(columns[:, 0], (columns[:, 1] + columns[:, 2]) / 2)
    assert list(result.scores.values()) == pytest.approx(columns.mean(axis=0), abs=1e-12)


def test_the_memory_has_an_end() -> None:
    memory = Memory(30)
    for number in range(9):
        memory.add(b"x", str(number), np.full(10, number, np.float32))
        memory.add(b"x", str(number), np.full(10, -1, np.float32))  # what is known is not added again
    assert len(memory) == 3
    assert [memory.get(b"x", str(number)) is None for number in range(9)] == [True] * 6 + [False] * 3
    assert memory.get(b"x", "8").tolist() == [8] * 10  # type: ignore[union-attr]
    assert memory.get(b"y", "8") is None


class Many:
    """Features of any number of pictures, which take no room."""

    encoder = digest = ""

    def by(self, encoder: str) -> Many:
        return self

    def __contains__(self, image: object) -> bool:
        return True

    def contents(self, images: Sequence[str]) -> list[str]:
        return list(images)

    def regions(self, images: Sequence[str]) -> Floats:
        return np.stack([np.random.default_rng(int(image)).standard_normal((100, WIDTH)) for image in images]).astype(
            np.float32
        )


def peak(images: int, metric: Tiger) -> int:
    """Bytes at most, of images with 100 references and 100 regions each."""
    known = [f"a {one} on the {two}" for one in ("dog", "man", "cat", "ball", "boy") for two in ("beach", "grass")]
    references = tuple(f"{each} {' '.join('and ' + w for w in ('a', 'red', 'cat')[:n])}" for each in known
                       for n in (0, 1, 2, 3))  # fmt: skip
    references += tuple(f"the {each}" for each in references) + tuple(f"two {each}" for each in references[:20])
    assert len(set(references)) == 100
    rows = [Sample(str(i), str(i // 2), f"a red {('car', 'dog')[i % 2]}", references) for i in range(2 * images)]
    dataset = Dataset.from_samples(rows)
    dataset.features = Many()  # type: ignore[assignment]
    corpus = Corpus(dataset, Run(threads=1))
    assert len(corpus.pieces.tokens)
    tracemalloc.start()
    found = metric.stats(corpus)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found > 0).all()
    return largest


def test_memory_is_bounded_for_100_references_and_100_regions(metric: Tiger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounding, "_PAIRS", 1000)
    monkeypatch.setattr(grounding, "_PICTURES_READ", 4)
    monkeypatch.setattr(grounding, "memory", lambda model: Memory(100_000))
    peak(4, metric)  # opens the networks
    few, many = peak(20, metric), peak(80, metric)
    assert many < 1.2 * few
    assert many < 12e6
