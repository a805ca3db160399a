"""NNEval as a metric: no torch, the networks that come with capeval, and one made by hand."""

from __future__ import annotations

import itertools
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

from capeval.bench.robust import curves
from capeval.corpus import Corpus
from capeval.errors import CapevalError, CheckpointError, ExpressionError, Unavailable
from capeval.evaluate import evaluate
from capeval.io.cache import sha256_of
from capeval.metrics.nneval import CHECKPOINTS, Nneval
from capeval.metrics.shapley import shares
from capeval.registry import complete, parse
from capeval.run import Run
from capeval.runtime.nneval import NETWORK, Network, open_judge, outputs
from capeval.text.tokenize import tokenize
from capeval.train.data import captions
from capeval.types import Array, Dataset

FEATURES = ("bleu_1", "rouge_l", "cider_d(df=coco-val2014)")


def arrays(features: int, hidden: int = 4, seed: int = 0) -> dict[str, Any]:
    """A network that nobody trained, for features from 0 to 0.5, 1, 1.5 and so on."""
    random = np.random.default_rng(seed)
    high = 0.5 * (1 + np.arange(features))
    found: dict[str, Any] = {"low": np.zeros(features), "high": high, "usual": high / 2}
    for number, (rows, columns) in enumerate(itertools.pairwise((features, hidden, hidden, 2)), 1):
        found[f"weights_{number}"] = random.normal(size=(rows, columns)).astype(np.float32)
        found[f"bias_{number}"] = random.normal(size=columns).astype(np.float32)
    return found


def write_checkpoint(folder: Path, features: Sequence[str] = FEATURES, **changed: Any) -> Path:
    folder.mkdir(exist_ok=True)
    values = arrays(len(features)) | changed
    np.savez(folder / NETWORK, **values)
    inputs = {"features": np.random.default_rng(1).uniform(0, 1, (5, len(features)))}
    np.savez(
        folder / "probe.npz",
        **{"input.features": inputs["features"], "output.score": outputs(Network.of(values), inputs)["score"]},
    )
    files = {name: sha256_of(folder / name) for name in (NETWORK, "probe.npz")}
    facts = {"trained_on": ["images:mine"], "selected_on": ["judgements:mine"]}
    config = {"features": list(features)}
    content = {"format": 1, "model": "nneval", "config": config, "facts": facts, "files": files}
    (folder / "config.json").write_text(json.dumps(content))
    return folder


def scores(dataset: Dataset, metric: str | Nneval, threads: int = 1) -> Array:
    (found,) = evaluate(dataset, [metric], Run(threads=threads)).per_caption.values()
    return found


def test_the_network_is_what_the_formula_says() -> None:
    values = arrays(3)
    features = np.array([[0.1, 0.9, 0.3], [-1.0, 0.5, 99.0]])
    found = Network.of(values).scores(features)
    for row, score in zip(np.clip(features, values["low"], values["high"]), found):
        x = 2 * (row - values["low"]) / (values["high"] - values["low"]) - 1
        for number in (1, 2):
            x = np.maximum(x @ values[f"weights_{number}"].astype(float) + values[f"bias_{number}"], 0)
        z = x @ values["weights_3"].astype(float) + values["bias_3"]
        assert score == pytest.approx(math.exp(z[1]) / (math.exp(z[0]) + math.exp(z[1])), abs=1e-12)


def test_a_feature_that_never_varied_says_nothing() -> None:
    values = arrays(3) | {"low": np.full(3, 0.5), "high": np.full(3, 0.5)}
    found = Network.of(values).scores(np.array([[0.0, 0.5, 1.0], [9.0, 9.0, 9.0]]))
    assert found[0] == found[1]


def test_scores_do_not_depend_on_what_is_scored_with_them() -> None:
    network = Network.of(arrays(3))
    features = np.random.default_rng(0).uniform(0, 1, (1500, 3))
    whole = network.scores(features)
    np.testing.assert_array_equal(network.scores(features[700:701]), whole[700:701])
    np.testing.assert_array_equal(network.scores(features[::-1]), whole[::-1])


@pytest.mark.parametrize(
    "changed",
    [
        {"bias_3": np.zeros(3, np.float32)},
        {"weights_2": np.zeros((5, 4), np.float32)},
        {"low": np.zeros(2)},
        {"bias_1": np.full(4, np.nan, np.float32)},
    ],
    ids=["width", "layers", "ranges", "nan"],
)
def test_a_network_that_does_not_fit_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="do not fit each other"):
        Network.of(arrays(3) | changed)


def test_a_checkpoint_of_ones_own_decides_the_features(small: Dataset, tmp_path: Path) -> None:
    metric = Nneval(checkpoint=str(write_checkpoint(tmp_path / "own")))
    parts = evaluate(small, FEATURES).per_caption
    expected = Network.of(arrays(3)).scores(np.column_stack(list(parts.values())))
    np.testing.assert_array_equal(scores(small, metric), expected)
    assert metric.trained_on() == ("images:mine", "judgements:mine")
    (signature,) = evaluate(small, [metric]).signatures.values()
    assert open_judge(str(tmp_path / "own")).checkpoint.digest in signature
    assert all(feature in signature for feature in FEATURES)


def test_values_beyond_the_ranges_are_clipped_and_counted(small: Dataset, tmp_path: Path, notes: Any) -> None:
    folder = write_checkpoint(tmp_path / "own", high=np.array([0.0, 1.0, 10.0]))
    rows = Dataset.from_samples([replace(small[0], candidate=small[0].references[0]), replace(small[1], candidate="")])
    found = evaluate(rows, [f"nneval_clipped(checkpoint={folder})"], Run(progress=notes))
    assert found.per_caption[f"nneval_clipped(checkpoint={folder})"].tolist() == pytest.approx([1 / 3, 0])
    assert any("1 of 3 values lie beyond what training saw" in each and "(bleu_1 1)" in each for each in notes.messages)


def test_shares_are_shapleys_and_sum_up() -> None:
    def score(rows: Array) -> Array:
        return np.asarray(rows[:, 0] * rows[:, 1] + 2 * rows[:, 2])

    given, usual = np.array([1.0, 2.0, 5.0, 7.0]), np.array([0.0, 1.0, 4.0, 7.0])
    found = shares(score, given, usual)
    assert found.sum() == pytest.approx(float(score(given[None])[0] - score(usual[None])[0]))
    # The mean over all orders, one by one.
    slow = np.zeros(4)
    orders = list(itertools.permutations(range(4)))
    for order in orders:
        now = usual.copy()
        for feature in order:
            before = float(score(now[None])[0])
            now[feature] = given[feature]
            slow[feature] += float(score(now[None])[0]) - before
    np.testing.assert_allclose(found, slow / len(orders), atol=1e-12)
    with pytest.raises(ExpressionError, match="16 are the most"):
        shares(score, np.zeros(17), np.zeros(17))


def test_explain(small: Dataset, tmp_path: Path) -> None:
    metric = complete(Nneval(checkpoint=str(write_checkpoint(tmp_path / "own"))))
    run = Run()
    candidate, *references = tokenize([small[0].candidate, *small[0].references], run)
    (found,) = metric.explain(candidate, references, run)
    assert found.facts["nneval"] == scores(small, "nneval(checkpoint={})".format(tmp_path / "own"))[0]
    assert {row[0] for row in found.rows} == set(FEATURES)
    added = sum(float(row[-1]) for row in found.rows)
    assert added == pytest.approx(float(found.facts["nneval"]) - float(found.facts["of usual features"]))
    assert [abs(float(row[-1])) for row in found.rows] == sorted(
        (abs(float(row[-1])) for row in found.rows), reverse=True
    )


def test_expressions(tmp_path: Path) -> None:
    assert parse("nneval").metric == Nneval()
    assert "spice" in parse("nneval(spice=official)").metric.made_of()  # type: ignore[attr-defined]
    assert "spice_fast" in parse("nneval").metric.made_of()  # type: ignore[attr-defined]
    assert parse("nneval").metric.needs() == ("references",)
    own = write_checkpoint(tmp_path / "own")
    for wrong in ("nneval(spice=java)", f"nneval(spice=official, checkpoint={own})"):
        with pytest.raises(ExpressionError):
            parse(wrong)
    with pytest.raises(CapevalError, match="nowhere"):
        parse("nneval(checkpoint=nowhere)")


def test_a_checkpoint_may_not_be_made_of_itself(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "own", ("bleu_1", "nneval"))
    with pytest.raises(ExpressionError, match="cannot be made of itself"):
        parse(f"nneval(checkpoint={folder})")


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "own")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"config": {"features": ["bleu_1"]}}))
    with pytest.raises(CheckpointError, match="does not name the 3 features"):
        open_judge(str(folder))
    other = write_checkpoint(tmp_path / "other")
    (other / NETWORK).write_bytes((other / NETWORK).read_bytes()[:-9])
    with pytest.raises(CheckpointError, match="checksum"):
        open_judge(str(other))


# Those that come with capeval --------------------------------------------------------------------------------------


@pytest.fixture(params=sorted(CHECKPOINTS))
def shipped(request: pytest.FixtureRequest, small: Dataset) -> Nneval:
    metric = complete(Nneval(spice=request.param))
    assert isinstance(metric, Nneval)
    try:
        metric.stats(Corpus(small))
    except Unavailable as problem:
        pytest.skip(str(problem))
    return metric


@pytest.mark.parametrize("spice", CHECKPOINTS)
def test_the_shipped_ones_are_small_and_say_what_they_saw(spice: str) -> None:
    judge = open_judge(CHECKPOINTS[spice])
    assert judge.features == Nneval(spice=spice).made_of()
    assert [layer.weights.shape for layer in judge.network.layers] == [(8, 72), (72, 72), (72, 2)]
    assert sum(path.stat().st_size for path in judge.checkpoint.folder.iterdir()) < 200_000
    seen = complete(Nneval(spice=spice)).trained_on()
    assert {"images:flickr8k-train", "judgements:flickr8k-expert", "images:flickr8k-test"} <= set(seen)


def test_nothing_depends_on_order_company_or_threads(shipped: Nneval, small: Dataset) -> None:
    whole = scores(small, shipped)
    assert ((whole > 0) & (whole < 1)).all()
    order = np.random.default_rng(0).permutation(len(small)).tolist()
    np.testing.assert_array_equal(scores(small.rows(order), shipped), whole[order])
    np.testing.assert_array_equal(scores(small[3:4], shipped), whole[3:4])
    np.testing.assert_array_equal(scores(small, shipped, threads=3), whole)


def test_captions_of_other_pictures_score_lower(shipped: Nneval, small: Dataset) -> None:
    images = list(dict.fromkeys(small.images))
    reference = dict(zip(small.images, (row.references for row in small)))
    own = [replace(row, candidate=row.references[0], references=row.references[1:]) for row in small]
    other = [replace(row, candidate=reference[images[(images.index(row.image) + 1) % len(images)]][0]) for row in small]
    assert scores(Dataset.from_samples(own), shipped).mean() > scores(Dataset.from_samples(other), shipped).mean() + 0.2


def test_word_order_counts(shared: Path) -> None:
    """WMD and BLEU-1 do not see it. The network over the official parses was trained before, and is not meant here."""
    references = captions("flickr8k", "val", shared)
    (row,) = curves(references, ["nneval"], transforms=["wp"], gammas=[0, 0.5, 1], sample=60).data["metrics"]
    assert row["curves"]["wp"]["R"] < 0.9


def test_more_of_a_feature_hardly_ever_lowers_the_score() -> None:
    network = open_judge(CHECKPOINTS["fast"]).network
    values = network.usual + np.random.default_rng(0).uniform(-0.3, 0.3, (500, 8)) * (network.high - network.low)
    values = np.clip(values, network.low, network.high)
    steps = [
        network.scores(values + 0.01 * row) - network.scores(values) for row in np.diag(network.high - network.low)
    ]
    falls = np.minimum(steps, 0).sum() / np.abs(steps).sum()
    assert falls > -0.05


def test_parts_are_computed_once(shipped: Nneval, small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for metric, _ in shipped.parts:
        kind = type(metric)
        if "_counted" not in vars(kind):
            counted(monkeypatch, kind, calls)
    evaluate(small, [shipped, "bleu", "meteor"])
    assert sorted(calls) == sorted(set(calls))


def counted(monkeypatch: pytest.MonkeyPatch, kind: type, calls: list[str]) -> None:
    original: Callable[..., Array] = kind.stats  # type: ignore[attr-defined]

    def stats(self: Any, corpus: Corpus) -> Array:
        calls.append(f"{type(self).__name__} {self}")
        return original(self, corpus)

    monkeypatch.setattr(kind, "stats", stats)
    monkeypatch.setattr(kind, "_counted", True, raising=False)


def test_the_validation_set_is_no_test(small: Dataset) -> None:
    from capeval.bench.registry import benchmarks
    from capeval.bench.scoring import Scorer
    from capeval.bench.seen import seen_by

    scorer = Scorer.of(["nneval"])
    seen = {name: seen_by(each, scorer).get("nneval") for name, each in benchmarks().items()}
    for name in ("flickr8k-expert", "flickr8k-cf", "composite", "distractors"):
        assert seen[name], name
    for name in ("composite-no-8k", "pascal-50s", "thumb", "capeval1k", "sugarcrepe"):
        assert not seen[name], name


def test_scoring_loads_neither_torch_nor_onnxruntime() -> None:
    program = (
        "import sys\n"
        "from capeval.evaluate import evaluate\n"
        "from capeval.types import Dataset, Sample\n"
        "rows = Dataset.from_samples([Sample('1', '1', 'a dog runs', ('the dog is running',))])\n"
        "evaluate(rows, ['nneval'], lenient=True)\n"
        "assert not {'torch', 'onnxruntime'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
