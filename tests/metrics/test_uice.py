"""UICE: the equations by hand, what is read and what is not, styles, explanations, errors.

The networks are small ones with random weights (`uice_maker.py`); tests of the shipped ones are at the end.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from capeval.corpus import Corpus
from capeval.errors import CheckpointError, Unavailable, UnknownName, UnsuitableFeatures
from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.metrics.uice import Uice
from capeval.metrics.uice_sem import UiceSem
from capeval.metrics.uice_syn import UiceSyn
from capeval.registry import complete, parse
from capeval.run import Progress, Run
from capeval.runtime.arrays import probability
from capeval.runtime.checkpoint import installed_checkpoints
from capeval.runtime.uice import Head, fused, open_semantics, open_syntax
from capeval.types import Array, Dataset, Metric, Picture, Sample

WIDTH = 8
SHIPPED = {"uice", "uice-sem", "uice-syn-photo", "uice-syn-romance"}


def drawn(images: Sequence[str], width: int = WIDTH) -> ArrayFeatures:
    vectors = np.random.default_rng(0).standard_normal((len(images), width)).astype(np.float32)
    return ArrayFeatures(__file__, images, {"vectors": vectors})


@pytest.fixture
def pictured(small: Dataset) -> Dataset:
    small.features = drawn(sorted(set(small.images)))
    return small


@pytest.fixture
def whole(small_uice: Path) -> Metric:
    return complete(
        Uice(
            style=str(small_uice / "syntax"),
            semantics=str(small_uice / "semantics"),
            checkpoint=str(small_uice / "fusion"),
        )
    )


def scores(dataset: Dataset, metric: Metric, threads: int = 1) -> Array:
    (scored,) = evaluate(dataset, [metric], Run(threads=threads)).scored
    return metric.per_sample(scored.stats)[:, 0]


# --- the equations ---


def test_distance_kernels_by_hand(tmp_path: Path) -> None:
    """Two kernels of two numbers: L1 distances 1 and 2, so d is e^-1 and e^-2."""
    np.savez(tmp_path / "m.npz", weight=np.array([3.0, 1.0]), bias=np.array(-1.0), sizes=np.array([2, 2]))
    captions = np.array([[[0.5, 0.0], [1.0, 1.0]]], np.float32)
    pictures = np.array([[[0.0, 0.5], [0.0, 0.0]]], np.float32)
    expected = 1 / (1 + math.exp(-(3 * math.exp(-1) + math.exp(-2) - 1)))
    assert Head(tmp_path / "m.npz").match(captions, pictures) == pytest.approx([expected], abs=1e-9)


def test_fusion_by_hand() -> None:
    """The hidden layer sees the log odds of a match, ln 3 for .75, and the logarithm of the other, -ln 2 for .5."""
    layers = {"hidden": np.array([[1.0, 2.0]]), "hidden_bias": np.array([0.5]), "out": np.array([2.0]),
              "out_bias": np.array(0.25)}  # fmt: skip
    expected = 1 / (1 + math.exp(-(2 * math.tanh(math.log(3) - 2 * math.log(2) + 0.5) + 0.25)))
    assert fused(layers, np.array([[0.75, 0.5]])) == pytest.approx([expected], abs=1e-12)


def test_probabilities_do_not_overflow() -> None:
    assert probability(np.array([-1e5, 0.0, 1e5])).tolist() == [0, 0.5, 1]


def test_the_last_step_is_the_score(small_uice: Path) -> None:
    syntax = open_syntax(str(small_uice / "syntax"))
    texts = [["a", "dog", "runs"], ["the", "man"], ["a", "dog", "runs", "on", "the", "beach"]]
    steps = [syntax.steps(text) for text in texts]
    assert [len(each) for each in steps] == [4, 3, 7]  # a step a word, and the end
    assert syntax.judge(texts) == pytest.approx([each[-1] for each in steps], abs=1e-12)
    assert steps[0][:3] == pytest.approx(steps[2][:3], abs=1e-6)  # what follows does not change what was


def test_each_unknown_word_has_its_price(small_uice: Path, tmp_path: Path) -> None:
    """A style without one is as the network says."""
    shutil.copytree(small_uice / "syntax", tmp_path / "style")
    told = json.loads((tmp_path / "style" / "config.json").read_text())
    told["config"]["price"] = 1.5
    (tmp_path / "style" / "config.json").write_text(json.dumps(told))
    free, syntax = open_syntax(str(small_uice / "syntax")), open_syntax(str(tmp_path / "style"))
    text = ["a", "zebra", "runs", "on", "quicksand"]
    both = [text, ["a", "dog"]]
    assert odds(free.judge(both)) - odds(syntax.judge(both)) == pytest.approx([3, 0], abs=1e-5)
    assert odds(free.steps(text)) - odds(syntax.steps(text)) == pytest.approx([0, 1.5, 1.5, 1.5, 3, 3], abs=1e-5)


def odds(q: Array) -> Array:
    return np.log(q / (1 - q))


def test_a_caption_is_read_once_for_all_its_pictures(small_uice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    semantics = open_semantics(str(small_uice / "semantics"))
    asked: list[int] = []
    read = semantics.read
    monkeypatch.setattr(semantics, "read", lambda texts, threads=1: (asked.append(len(texts)), read(texts))[1])
    rows = [Sample(f"{i}", f"{i}", "a dog runs") for i in range(50)]
    dataset = Dataset.from_samples(rows)
    dataset.features = drawn([row.image for row in rows])
    found = scores(dataset, UiceSem(str(small_uice / "semantics")))
    assert asked == [1]
    assert len(set(found.tolist())) == 50


# --- no reference is read ---


class _Forbidden(tuple[str, ...]):
    """References that nobody may look at; their number may be known."""

    def __iter__(self) -> Any:
        raise AssertionError("a reference was read")

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError("a reference was read")


def test_no_reference_is_read(pictured: Dataset, whole: Metric) -> None:
    """Scores do not change with the references, are there without any, and nothing asks for their words."""
    expected = scores(pictured, whole)
    rows = [Sample(s.id, s.image, s.candidate, ("zebra crossing",) * 3) for s in pictured]
    for given in (rows, [Sample(s.id, s.image, s.candidate) for s in pictured]):
        other = Dataset.from_samples(given)
        other.features = pictured.features
        assert scores(other, whole).tolist() == expected.tolist()
    corpus = Corpus(pictured)
    corpus.dataset.reference_sets = [_Forbidden(each) for each in corpus.dataset.reference_sets]
    # The corpus itself numbers all captions; what is asked of it must be candidates alone.
    candidates = set(corpus.rows.candidate.tolist())
    texts = corpus.texts
    corpus.texts = lambda some: _only(candidates, some) or texts(some)  # type: ignore[method-assign]
    assert whole.per_sample(whole.stats(corpus))[:, 0].tolist() == expected.tolist()
    with pytest.raises(AssertionError, match="a reference was read"):
        list(corpus.dataset.reference_sets[0])


def _only(allowed: set[int], asked: Any) -> None:
    assert set(asked.tolist()) <= allowed, "a reference was read"


def test_needs(whole: Metric) -> None:
    assert whole.needs() == ("pictures",)
    assert UiceSem().needs() == ("pictures",)
    assert UiceSyn().needs() == ()


# --- without pictures, without words ---


class _Notes(Progress):
    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, message: str) -> None:
        self.told.append(message)


def test_without_pictures_the_other_part_is_given(small: Dataset, whole: Metric, small_uice: Path) -> None:
    notes = _Notes()
    result = evaluate(small, [whole], Run(progress=notes))
    name = f"uice_syn(style={small_uice / 'syntax'})"
    assert list(result.scores) == [name]
    assert "uice cannot be computed: uice_sem looks at pictures, and there are none" in notes.told[0]
    assert name in notes.told[0]
    expected = scores(small, UiceSyn(str(small_uice / "syntax")))
    assert result.per_caption[name].tolist() == expected.tolist()
    with pytest.raises(Unavailable, match="uice_syn needs none"):
        evaluate(small, [UiceSem(str(small_uice / "semantics"))])


def test_a_caption_without_words_scores_nothing(pictured: Dataset, whole: Metric) -> None:
    rows = [Sample("1", pictured.images[0], "..."), Sample("2", pictured.images[0], "a dog runs")]
    dataset = Dataset.from_samples(rows)
    dataset.features = pictured.features
    found = scores(dataset, whole)
    assert found[0] == 0
    assert 0 < found[1] < 1


def test_scores_do_not_depend_on_their_company(pictured: Dataset, whole: Metric) -> None:
    expected = scores(pictured, whole)
    assert scores(pictured, whole, threads=2).tolist() == expected.tolist()
    for row in range(0, len(pictured), 7):
        assert scores(pictured[row : row + 1], whole).tolist() == [expected[row]]


# --- styles ---


def test_a_style_is_a_folder_or_a_name(small: Dataset, small_uice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_path = scores(small, UiceSyn(str(small_uice / "syntax")))
    monkeypatch.chdir(small_uice)
    assert scores(small, UiceSyn("syntax")).tolist() == by_path.tolist()
    with pytest.raises(UnknownName, match=r"style .*'romanse'"):
        evaluate(small, [UiceSyn("romanse")])
    with pytest.raises(CheckpointError, match="not of 'uice-syn'"):
        evaluate(small, [UiceSyn(str(small_uice / "fusion"))])


def test_the_style_is_handed_on() -> None:
    metric = parse("uice(style=romance)").metric
    assert isinstance(metric, Uice)
    assert metric.made_of() == ("uice_sem", "uice_syn(style=romance)")


def test_pictures_of_another_width_are_refused(small: Dataset, small_uice: Path) -> None:
    small.features = drawn(sorted(set(small.images)), width=5)
    with pytest.raises(UnsuitableFeatures, match="vectors of 8 numbers, these have 5"):
        evaluate(small, [UiceSem(str(small_uice / "semantics"))])


# --- explanations ---


def test_explanations(whole: Metric) -> None:
    picture = Picture(drawn(["x"]), "x")
    words = ["two", "dogs", "play", "on", "the", "beach"]
    over_all, match, sentence = whole.explain(words, [], Run(), picture)
    assert [row[0] for row in over_all.rows] == ["uice_sem", "uice_syn"]
    assert over_all.facts.keys() == {"uice"}
    assert [row[0] for row in match.rows] == ["two", "dogs", "play", "beach"]
    for _, _, without, adds in match.rows:
        assert match.facts["uice_sem"] == pytest.approx(float(without) + float(adds))
    assert [row[0] for row in sentence.rows] == [*words, "(end)"]
    assert sentence.rows[-1][1] == sentence.facts["uice_syn"]
    assert sum(bool(row[3]) for row in sentence.rows) <= 1
    (alone,) = whole.explain(words, [], Run())
    assert alone.facts["uice_sem"] == "not computed: it looks at the picture, and there is none"
    assert alone.rows == sentence.rows


def test_explain_needs_the_picture(small_uice: Path) -> None:
    with pytest.raises(Unavailable, match="uice_sem looks at the picture"):
        UiceSem(str(small_uice / "semantics")).explain(["a"], [], Run())


# --- the shipped ones ---

shipped = pytest.mark.skipif(
    not installed_checkpoints().keys() >= SHIPPED, reason="capeval-models without UICE's checkpoints is installed"
)


@shipped
def test_styles_differ() -> None:
    rows = [
        Sample("fact", "1", "two dogs are running on the grass"),
        Sample("novel", "2", "she felt her heart beat wildly as he took her hand"),
    ]
    dataset = Dataset.from_samples(rows)
    photo, romance = scores(dataset, UiceSyn("photo")), scores(dataset, UiceSyn("romance"))
    assert photo[0] > photo[1]
    assert romance[1] > romance[0]


@shipped
@pytest.mark.parametrize("style", ["photo", "romance"])
def test_bad_language_scores_less(style: str) -> None:
    good = "a man is sitting on a bench with his dog" if style == "photo" else "she looked at him with a smile"
    words = good.split()
    bad = [" ".join(words[i] for i in np.random.default_rng(seed).permutation(len(words))) for seed in range(10)]
    found = scores(
        Dataset.from_samples([Sample(f"{i}", "x", text) for i, text in enumerate([good, *bad])]), UiceSyn(style)
    )
    assert (found[0] > found[1:]).mean() >= 0.9


def of_style(kind: str) -> list[str]:
    """Captions of 50 scenes, written for choosing a style."""
    path = Path(__file__).parents[2] / "tools" / "studies" / "uice_styles.tsv"
    with path.open(encoding="utf-8") as stream:
        return [row[kind] for row in csv.DictReader(stream, delimiter="\t")]


def judged(texts: Sequence[str], style: str) -> Array:
    return scores(Dataset.from_samples([Sample(f"{i}", "x", text) for i, text in enumerate(texts)]), UiceSyn(style))


@shipped
def test_a_style_prefers_its_own() -> None:
    """On captions of the same scenes."""
    plain, romantic, humorous = (judged(of_style(kind), "photo") for kind in ("factual", "romantic", "humorous"))
    assert (plain > romantic).mean() >= 0.9
    assert (plain > humorous).mean() >= 0.8
    assert (judged(of_style("romantic"), "romance") > judged(of_style("factual"), "romance")).mean() >= 0.75


@shipped
def test_an_unknown_word_is_no_sign_of_a_person() -> None:
    """What systems write has few words, so that a word nobody knows must not pass for a person's."""
    plain = [text.split() for text in of_style("factual")[:25]]
    hidden = [" ".join([*words[:i], "xqzzv", *words[i + 1 :]]) for words in plain for i in range(len(words))]
    before = np.repeat(judged([" ".join(words) for words in plain], "photo"), [len(words) for words in plain])
    assert (judged(hidden, "photo") > before).mean() < 0.01
    # Nor does it make a person's caption of what sounds like a system's.
    machine = ["a", "group", "of", "people", "sitting", "at", "a", "table", "with", "food"]
    assert judged([" ".join([*machine[:i], "xqzzv", *machine[i + 1 :]]) for i in range(10)], "photo").max() < 0.2


@shipped
def test_the_encoder_is_in_the_signature() -> None:
    extras = UiceSem().signature_extras(Run())
    assert extras["encoder"].startswith("dinov2-s/")
    told = str(parse("uice").metric.signature_extras(Run()))
    assert extras["encoder"] in told
    assert "fusion" in told
