"""TIGEr: equations by hand and line by line, what is left out, what is undefined, errors.

The network is a small one with random weights (`scan_maker.py`); tests of the shipped one are at the end.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")

import capeval
from capeval.corpus import Corpus
from capeval.errors import CheckpointError, DataError, ExpressionError, Unavailable, UnknownName, UnsuitableFeatures
from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.io.shipped import shipped
from capeval.metrics import grounding
from capeval.metrics.tiger import Tiger, region_rank_similarity, relevance, weight_distribution_similarity
from capeval.registry import parse
from capeval.run import Run
from capeval.runtime.checkpoint import installed_checkpoints
from capeval.runtime.scan import Scan, open_scan, open_trained_scan
from capeval.types import Array, Dataset, Floats, Sample

WIDTH = 8


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    grounding.memory.cache_clear()


@pytest.fixture
def metric(small_scan: Path) -> Tiger:
    return Tiger(checkpoint=str(small_scan))


def drawn(images: Sequence[str], regions: int = 6, width: int = WIDTH, seed: int = 0) -> ArrayFeatures:
    random = np.random.default_rng(seed).standard_normal((len(images), regions, width)).astype(np.float32)
    return ArrayFeatures(__file__, images, {"regions": random})


@pytest.fixture
def pictured(small: Dataset) -> Dataset:
    small.features = drawn(sorted(set(small.images)))
    return small


def scores(dataset: Dataset, metric: Tiger, threads: int = 1) -> Array:
    """Columns: tiger, tiger_rrs, tiger_wds."""
    (scored,) = evaluate(dataset, [metric], Run(threads=threads)).scored
    return metric.per_sample(scored.stats)


def score(candidate: str, references: Sequence[str], metric: Tiger, pictures: Any = None) -> list[float]:
    dataset = Dataset.from_samples([Sample("1", "x", candidate, tuple(references))])
    dataset.features = pictures or drawn(["x"])
    return [float(each) for each in scores(dataset, metric)[0]]


# --- equations 8 to 14, by hand ---


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        # Of the references' values .2, .6, .4 the gains are 0, 1, .5. The best order has 1 + .5 / log2(3) = 1.315465.
        ([0.5, 0.1, 0.3], 0.619906),  # order 1, 3, 2: 0 + .5 / log2(3) + 1 / 2 = .815465, of 1.315465
        ([0.1, 0.9, 0.3], 1.0),
        ([0.1, 0.3, 0.9], 0.859719),  # order 3, 2, 1: .5 + 1 / log2(3) = 1.130930
        # Equal values in the order of the regions, here 1, 2, 3: 0 + 1 / log2(3) + .5 / 2 = .880930.
        ([0.3, 0.3, 0.3], 0.669671),
        # The highest first, then 1 before 3: 1 + 0 + .5 / 2 = 1.25.
        ([-0.3, 0.3, -0.3], 0.950234),
    ],
)
def test_region_ranks_by_hand(candidate: list[float], expected: float) -> None:
    reference = np.array([[0.2, 0.6, 0.4]])
    assert region_rank_similarity(reference, np.array([candidate])) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("reference", "candidate", "tau", "expected"),
    [
        ([0.3, 0.1], [0.3, 0.1], 1.5, 0.5),
        # Softmax gives .75, .25 and .25, .75: KL = .75 ln 3 - .25 ln 3 = .5 ln 3; equal lengths.
        # exp(1.5 * .5 ln 3) = 3 ** .75 = 2.279507, and 1 / 3.279507 = .304924.
        ([math.log(3), 0], [0, math.log(3)], 1.5, 0.304924),
        # .75, .25 against .5, .5, equal lengths: KL = .75 ln 1.5 + .25 ln .5 = .130812; exp(1.5 * .130812) = 1.216792.
        ([math.log(3), 0], [math.log(3) / math.sqrt(2)] * 2, 1.5, 0.451102),
        # Equal distributions, the candidate is twice as long: exp(1.5 ln .5) = .5 ** 1.5 = .353553; 1 / 1.353553.
        ([1, 1], [2, 2], 1.5, 0.738796),
        ([1, 1], [2, 2], 1.0, 2 / 3),
        ([2, 2], [1, 1], 1.0, 1 / 3),
        # A vector of zeros is infinitely short; two of them do not differ.
        ([1, 1], [0, 0], 1.5, 0.0),
        ([0, 0], [1, 1], 1.5, 1.0),
        ([0, 0], [0, 0], 1.5, 0.5),
    ],
)
def test_weight_distributions_by_hand(
    reference: list[float], candidate: list[float], tau: float, expected: float
) -> None:
    found = weight_distribution_similarity(np.array([reference], float), np.array([candidate], float), tau)
    assert found == pytest.approx(expected, abs=1e-6)


def test_where_the_references_have_all_regions_equal_every_order_is_the_best() -> None:
    flat = np.full((1, 5), 0.3)
    candidate = np.array([[0.1, 0.5, 0.2, 0.9, 0.3]])
    assert relevance(flat).tolist() == [[1] * 5]
    assert region_rank_similarity(flat, candidate).tolist() == [1]
    # What single precision makes of equal regions is no order.
    assert region_rank_similarity(flat + 1e-8 * np.arange(5), candidate).tolist() == [1]
    assert region_rank_similarity(flat + 1e-3 * np.arange(5), candidate)[0] < 0.9


def test_one_region_alone(metric: Tiger) -> None:
    found = score("a dog", ["a man on the beach"], metric, drawn(["x"], regions=1))
    assert found[1] == 1
    assert 0 < found[2] < 1


# --- all equations, line by line ---


def line_by_line(
    scan: Scan, regions: Floats, candidate: list[str], references: list[list[str]], tau: float
) -> tuple[float, ...]:
    """Equations 1 to 14 for one picture, as they stand in the paper: (tiger, rrs, wds)."""
    (v,) = scan.checkpoint.session("regions.onnx").run(None, {"regions": regions[None]})[0].astype(np.float64)
    n = len(v)

    def ground(caption: list[str]) -> Array:
        tokens = np.array([[scan.vocabulary[word] for word in caption[: scan.words]]])
        (w,) = scan.checkpoint.session("words.onnx").run(None, {"tokens": tokens})[0].astype(np.float64)
        m = len(w)
        cosine = np.array(
            [[v[i] @ w[j] / (np.linalg.norm(v[i]) * np.linalg.norm(w[j])) for j in range(m)] for i in range(n)]
        )  # 4
        sim = np.zeros((n, m))
        for j in range(m):
            root = math.sqrt(sum(max(0, cosine[k, j]) ** 2 for k in range(n)))
            for i in range(n):
                sim[i, j] = max(0, cosine[i, j]) / root if root else 0  # 3
        s = []
        for i in range(n):
            powers = [math.exp(scan.temperature * sim[i, j]) for j in range(m)]
            alpha = [power / sum(powers) for power in powers]  # 2
            a = sum(alpha[j] * w[j] for j in range(m))  # 1
            s.append(v[i] @ a / (np.linalg.norm(v[i]) * np.linalg.norm(a)))  # 6
        return np.array(s)  # 5

    c = ground(candidate)
    r = np.mean([ground(reference) for reference in references], axis=0)  # 7
    relevances = (r - r.min()) / (r.max() - r.min())
    order = sorted(range(n), key=lambda i: -c[i])
    dcg = sum(relevances[i] / math.log2(k + 1) for k, i in enumerate(order, 1))  # 8
    idcg = sum(each / math.log2(k + 1) for k, each in enumerate(sorted(relevances, reverse=True), 1))  # 9
    rrs = dcg / idcg  # 10
    p, q = (np.exp(each) / np.exp(each).sum() for each in (r, c))
    kl = sum(p[k] * math.log(p[k] / q[k]) for k in range(n))  # 11
    drel = math.log(np.linalg.norm(r) / np.linalg.norm(c))  # 12
    power = math.exp(tau * (kl + drel))
    wds = 1 - power / (power + 1)  # 13
    # Regions that differ by what single precision does not see may change places.
    assume(min(np.diff(np.sort(c))) > 1e-5)
    assume(r.max() - r.min() > 1e-2)
    return (rrs + wds) / 2, rrs, wds  # 14


words = st.sampled_from(["a", "the", "dog", "man", "runs", "on", "beach", "red", "ball", "zebra"])
captions = st.lists(words, max_size=9).map(lambda found: ["dog", *found])


@settings(max_examples=40)
@given(
    captions, st.lists(captions, min_size=1, max_size=6), st.integers(2, 12), st.integers(0, 9999), st.floats(0.1, 9)
)
def test_the_metric_is_that_of_the_paper(
    small_scan: Path, candidate: list[str], references: list[list[str]], regions: int, seed: int, tau: float
) -> None:
    features = drawn(["x"], regions, seed=seed)
    found = score(" ".join(candidate), [" ".join(each) for each in references], Tiger(str(small_scan), tau), features)
    others = [each for each in references if each != candidate] or references
    expected = line_by_line(open_scan(str(small_scan)), features.regions(["x"])[0], candidate, others, tau)
    assert found == pytest.approx(expected, abs=1e-4)


# --- what counts and what does not ---


def test_a_candidate_that_is_a_reference_is_left_out_of_them(metric: Tiger) -> None:
    others = ["a man runs on the beach", "two kids with a red ball"]
    without = score("a dog on the grass", others, metric)
    assert score("a dog on the grass", [others[0], "a dog on the grass", others[1]], metric) == without
    # The same words, said twice, and written otherwise.
    assert score("a dog on the grass", [*others, "A dog, on the grass!", "a dog on the grass"], metric) == without
    assert score("a dog on the grass", [*others, "a dog in the grass"], metric) != without


def test_it_stays_where_it_is_the_only_one(metric: Tiger) -> None:
    assert score("a dog", ["a dog"], metric) == [0.75, 1.0, 0.5]
    assert score("a dog", ["A dog.", "a dog"], metric) == [0.75, 1.0, 0.5]
    assert score("a dog", ["a dog", "zebra"], metric) == [0.75, 1.0, 0.5]  # the other has no known word


def test_other_rows_of_the_picture_keep_all_references(metric: Tiger) -> None:
    references = ("a dog on the grass", "a man runs on the beach")
    rows = [Sample(str(i), "x", text, references) for i, text in enumerate(("a dog on the grass", "a red ball"))]
    dataset = Dataset.from_samples(rows)
    dataset.features = drawn(["x"])
    found = scores(dataset, metric)
    assert found[0].tolist() == score(rows[0].candidate, references[1:], metric)
    assert found[1].tolist() == score(rows[1].candidate, references, metric)


@pytest.mark.parametrize("candidate", ["", " ", ".", "zebra", "zebra unicorn", "zebra " * 12 + "dog"])
def test_a_caption_without_a_known_word_scores_0(metric: Tiger, candidate: str) -> None:
    """The last one has one, after the twelfth word, where captions are cut."""
    assert score(candidate, ["a dog", "a man on the beach"], metric) == [0, 0, 0]


def test_references_without_a_known_word_do_not_count(metric: Tiger) -> None:
    alone = score("a red ball", ["a dog"], metric)
    assert alone[0] > 0
    assert score("a red ball", ["", "a dog", "zebra", "."], metric) == alone
    assert score("a red ball", ["", "zebra"], metric) == [0, 0, 0]


def test_a_word_that_is_not_known_counts_beside_one_that_is(metric: Tiger) -> None:
    assert score("a zebra", ["a dog"], metric) == score("a unicorn", ["a dog"], metric) != score("a", ["a dog"], metric)


def test_equal_regions_have_a_score(metric: Tiger) -> None:
    same = ArrayFeatures(__file__, ["x"], {"regions": np.ones((1, 7, WIDTH), np.float32)})
    found = score("a red ball", ["a dog", "a man on the beach"], metric, same)
    assert found[1] == 1
    assert 0 < found[2] < 1


def test_the_reference_is_the_mean_not_the_best(metric: Tiger) -> None:
    both = score("a red ball", ["a dog runs", "a man on the beach"], metric)
    assert both not in (score("a red ball", [each], metric) for each in ("a dog runs", "a man on the beach"))
    assert both == score("a red ball", ["a dog runs", "a man on the beach"] * 2, metric)


# --- errors ---


def test_expressions(small_scan: Path) -> None:
    assert parse("tiger").metric == parse("tiger_rrs").metric == Tiger()
    assert parse("tiger").names == ("tiger",)
    assert parse("tiger_wds(tau=2)").names == ("tiger_wds",)
    assert parse("tiger_wds(tau=2)").metric == Tiger(tau=2)
    assert Tiger().needs() == ("references", "pictures")
    for wrong in ("tiger(tau=0)", "tiger(tau=-1)", "tiger(tau=nan)"):
        with pytest.raises(ExpressionError, match="tau"):
            parse(wrong)


def test_the_signature_says_what_decides(pictured: Dataset, metric: Tiger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictured.features, "encoder", "dinov2-s/0123456789ab")
    (signature,) = evaluate(pictured, [metric]).signatures.values()
    assert f"checkpoint:{open_trained_scan(metric.checkpoint).digest}" in signature
    assert "tau=1.5" in signature
    assert "pictures:dinov2-s/0123456789ab" in signature


def test_what_it_was_trained_on_is_told(write_scan: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_scan(tmp_path, facts={"trained_on": ["captions:flickr8k-train"]})
    assert Tiger(checkpoint=str(folder)).trained_on() == ("captions:flickr8k-train",)


def test_without_pictures_or_references(small: Dataset, pictured: Dataset, metric: Tiger) -> None:
    rows = Dataset.from_samples([replace(pictured[0], references=()), *list(pictured)[1:]])
    rows.features = pictured.features
    with pytest.raises(DataError, match="beach-one"):
        scores(rows, metric)
    small.features = None
    for work in (lambda: scores(small, metric), lambda: metric.stats(Corpus(small))):
        with pytest.raises(Unavailable, match="tiger looks at pictures, and there are none"):
            work()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"regions": np.ones((6, 3, 2048), np.float32)}, "regions of 8 numbers, these have 2048"),
        ({"vectors": np.ones((6, WIDTH), np.float32)}, "there are no regions"),
    ],
)
def test_other_features_are_refused_and_leave_other_metrics_alone(
    pictured: Dataset, metric: Tiger, notes: Any, features: dict[str, Floats], message: str
) -> None:
    pictured.features = ArrayFeatures(__file__, sorted(set(pictured.images)), features)
    with pytest.raises(UnsuitableFeatures, match=message):
        scores(pictured, metric)
    result = evaluate(pictured, [metric, "rouge_l"], Run(progress=notes), lenient=True)
    assert list(result.scores) == ["rouge_l"]
    assert message in notes.messages[0]


def test_pictures_of_another_encoder_are_refused_before_they_are_read(
    pictured: Dataset, write_scan: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_scan(tmp_path, facts={"encoder": "dinov2-s/0123456789ab"})
    monkeypatch.setattr(pictured.features, "encoder", "lite0/7878a0d1b80f")
    monkeypatch.setattr(pictured.features, "regions", lambda images: pytest.fail("read"))
    with pytest.raises(UnsuitableFeatures, match="by dinov2-s/0123456789ab, these were encoded by lite0"):
        scores(pictured, Tiger(checkpoint=str(folder)))


def test_a_network_of_the_other_direction_is_refused(
    pictured: Dataset, write_scan: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match="i2t"):
        scores(pictured, Tiger(checkpoint=str(write_scan(tmp_path, direction="t2i"))))


def test_a_network_that_nobody_has(pictured: Dataset) -> None:
    with pytest.raises(UnknownName, match="nowhere"):
        scores(pictured, Tiger(checkpoint="nowhere"))


def test_scoring_loads_no_torch(small_scan: Path) -> None:
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from capeval.evaluate import evaluate\n"
        "from capeval.io.features import ArrayFeatures\n"
        "from capeval.types import Dataset, Sample\n"
        "rows = Dataset.from_samples([Sample('1', '1', 'a dog runs', ('the dog is running',))])\n"
        f"rows.features = ArrayFeatures({__file__!r}, ['1'], {{'regions': np.ones((1, 4, {WIDTH}), np.float32)}})\n"
        f"evaluate(rows, ['tiger(checkpoint={small_scan})'])\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- the network that comes with capeval ---

needs_shipped = pytest.mark.skipif(
    grounding.CHECKPOINT not in installed_checkpoints(), reason="capeval-models has no scan"
)


@needs_shipped
def test_the_shipped_network_is_small_says_what_it_saw_and_looks_from_regions_to_words() -> None:
    checkpoint = open_trained_scan(grounding.CHECKPOINT)
    assert sum(path.stat().st_size for path in checkpoint.folder.iterdir()) < 25e6
    assert checkpoint.config["direction"] == "i2t"
    assert checkpoint.facts["encoder"]
    assert Tiger().trained_on()
    assert not any(word.startswith("judgements:") or word.endswith("-test") for word in Tiger().trained_on())


@needs_shipped
def test_right_captions_score_above_those_of_other_pictures_and_nonsense() -> None:
    known = json.loads(shipped("demo", "pictures_references.json").read_bytes())
    right = [captions[0] for captions in known.values()]
    references = {image: captions[1:] for image, captions in known.items()}

    def tiger(texts: list[str]) -> float:
        candidates = dict(zip(known, texts, strict=True))
        return capeval.score(candidates, references, ["tiger"], images=shipped("demo", "pictures")).scores["tiger"]

    good, other, nonsense = (tiger(each) for each in (right, right[1:] + right[:1], ["purple monkeys never read"] * 4))
    assert good > other + 0.05
    assert good > nonsense + 0.05
