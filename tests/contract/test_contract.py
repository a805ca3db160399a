"""What every metric promises. A metric is found by the registry; few lines here know it by name."""

from __future__ import annotations

import copy
import html
import itertools
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval.corpus import Corpus
from capeval.documents import as_dict
from capeval.errors import CapevalError, Unavailable
from capeval.evaluate import evaluate
from capeval.explained import explain
from capeval.io.dftable import write_table
from capeval.metrics.cider import make_table
from capeval.metrics.tiger import Tiger
from capeval.registry import label, metric_classes, parse
from capeval.results import Result, join, load, save
from capeval.run import Run
from capeval.runtime.encoder import ENCODERS
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Floats, Metric, Picture, Sample

# Metrics that give their upper bound to a caption equal to its only reference, if it is long enough.
MAXIMUM_IS_REACHED = {"bleu", "rouge", "cider", "cider_d"}
# Metrics that may like another caption better than the reference itself: one that fits the picture better, or, by a
# network that is free to weigh features as it learned to, one whose features look more like those of people's captions.
BEYOND_REFERENCES = {"tiger", "nneval", "unified"}
# Of the drawn pictures.
REGIONS, WIDTH = 49, 1280

words = st.sampled_from(["a", "the", "dog", "dogs", "man", "runs", "on", "grass", "beach", "red"])
captions = st.lists(words, min_size=1, max_size=8).map(" ".join)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Two to six images, some with several candidates."""
    images = draw(st.lists(st.lists(captions, min_size=1, max_size=3), min_size=2, max_size=6))
    samples = []
    for image, references in enumerate(images):
        for candidate in draw(st.lists(captions, min_size=1, max_size=2)):
            samples.append(Sample(str(len(samples)), str(image), candidate, tuple(references)))
    return Dataset.from_samples(samples)


class Drawn:
    """Pictures for metrics that look at them: features, of any encoder, that only the image's id decides."""

    digest = "0" * 64

    def __init__(self, encoder: str = f"lite0/{ENCODERS['lite0'].sha256[:12]}") -> None:
        self.encoder, self._sizes = encoder, ENCODERS[encoder.partition("/")[0]]

    def __contains__(self, image: object) -> bool:
        return True

    def by(self, encoder: str) -> Drawn:
        return Drawn(encoder) if encoder else self

    def contents(self, images: Sequence[str]) -> list[str]:
        return list(images)

    def vectors(self, images: Sequence[str]) -> Floats:
        return self._numbers(images, 1, self._sizes.vector)[:, 0]

    def regions(self, images: Sequence[str]) -> Floats:
        return self._numbers(images, self._sizes.grid**2, self._sizes.region)

    def boxes(self, images: Sequence[str]) -> Floats | None:
        return None

    def _numbers(self, images: Sequence[str], *shape: int) -> Floats:
        seeds = [zlib.crc32(image.encode()) for image in images]
        found = np.stack([np.random.default_rng(seed).normal(0, 1, shape) for seed in seeds])
        # lite0's last layer gives mostly zeros, and never more than 6.
        return (found - 1).clip(0, 6).astype(np.float32) if self._sizes.name == "lite0" else found.astype(np.float32)


def with_pictures(dataset: Dataset, metric: Metric) -> Dataset:
    if "pictures" in metric.needs():
        dataset.features = Drawn()
    return dataset


def scored(dataset: Dataset, metric: Metric, threads: int = 1) -> Result:
    return evaluate(with_pictures(dataset, metric), [metric], Run(threads=threads))


def stats_of(dataset: Dataset, metric: Metric) -> Any:
    return scored(dataset, metric).scored[0].stats


def table(result: Result) -> Any:
    """Scores per caption: a row for each caption, a column for each score."""
    return np.column_stack(list(result.per_caption.values()))


def corpus_scores(result: Result) -> list[float]:
    return list(result.scores.values())


@pytest.fixture(scope="module")
def scan(write_scan: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grounding network that knows regions as they are drawn here."""
    return write_scan(tmp_path_factory.mktemp("scan"), region_width=WIDTH)


@pytest.fixture(params=sorted(metric_classes()))
def metric(request: pytest.FixtureRequest, small: Dataset) -> Metric:
    try:
        found = parse(request.param).metric
        if isinstance(found, Tiger):
            found = Tiger(checkpoint=str(request.getfixturevalue("scan")))
        found.stats(Corpus(with_pictures(small, found)))
    except Unavailable as problem:
        pytest.skip(str(problem))
    return found


@pytest.fixture
def independent(metric: Metric, small: Dataset, tmp_path: Path) -> Metric:
    """The metric with parameters that make a caption's score independent of the other captions."""
    if metric.joinable():
        return metric
    write_table(tmp_path / "shared.df", make_table(small.reference_sets))
    return replace(metric, df=str(tmp_path / "shared.df"))  # type: ignore[type-var,call-arg]


def variants(metric: Metric) -> list[Metric]:
    """The metric with one parameter changed, for each parameter where another value is legal."""
    found = []
    for field in fields(metric):  # type: ignore[arg-type]
        value = getattr(metric, field.name)
        others: dict[type, list[Any]] = {
            bool: [not value],
            int: [value - 1, value + 1] if isinstance(value, int) else [],
            float: [value / 2, value + 0.1234567890123] if isinstance(value, float) else [],
            str: ["some/other.df", 'a, "quoted" (one)', " "],
        }
        for other in others.get(type(value), []):
            try:
                found.append(replace(metric, **{field.name: other}))  # type: ignore[type-var]
            except CapevalError:
                continue
    return found


def test_info_is_complete(metric: Metric) -> None:
    info = metric.info
    assert info.name.isidentifier()
    assert info.names
    assert all(name.isidentifier() for name in info.names)
    assert len(info.summary) > 20
    assert "\n" not in info.summary
    assert any(character.isdigit() for character in info.citation), "a citation has a year"
    assert info.bounds[0] < info.bounds[1]
    assert info.revision >= 1
    assert set(info.needs) <= {"references", "pictures"}
    assert set(metric.needs()) <= {"references", "pictures"}
    assert all(field.default is not None for field in fields(metric))  # type: ignore[arg-type]


def test_expressions_round_trip(metric: Metric) -> None:
    for each in [metric, *variants(metric)]:
        for full in (False, True):
            assert parse(label(each, each.info.name, full=full)).metric == each
        for name in each.info.names:
            selection = parse(label(each, name))
            assert (selection.metric, selection.names) == (each, (name,))


def test_each_parameter_is_in_the_label(metric: Metric) -> None:
    several = [metric, *variants(metric)]
    assert len({label(each, each.info.name) for each in several}) == len(several)


def test_a_changed_parameter_changes_the_signature(metric: Metric, small: Dataset) -> None:
    several = [metric] + [v for v in variants(metric) if not any(isinstance(x, str) and x for x in changed(metric, v))]
    signatures = [tuple(scored(small, each).signatures.values()) for each in several]
    assert len(set(signatures)) == len(several)


def changed(metric: Metric, other: Metric) -> list[Any]:
    names = [field.name for field in fields(metric)]  # type: ignore[arg-type]
    return [getattr(other, name) for name in names if getattr(other, name) != getattr(metric, name)]


def test_other_references_change_the_signature(metric: Metric, small: Dataset) -> None:
    other = Dataset.from_samples([*list(small)[:-1], replace(small[-1], references=("something else",))])
    assert scored(small, metric).signatures != scored(other, metric).signatures


def test_shapes(metric: Metric, small: Dataset) -> None:
    stats = stats_of(small, metric)
    assert stats.dtype == np.float64
    assert stats.shape[0] == len(small)
    assert metric.per_sample(stats).shape == (len(small), len(metric.info.names))
    assert metric.corpus_score(stats).shape == (len(metric.info.names),)
    totals = np.stack([metric.summands(stats).sum(axis=0)] * 3)
    assert metric.from_totals(totals, np.full((3, 1), len(small))).shape == (3, len(metric.info.names))


def test_totals_give_the_corpus_score(metric: Metric, small: Dataset) -> None:
    stats = stats_of(small, metric)
    from_totals = metric.from_totals(metric.summands(stats).sum(axis=0), len(stats))
    np.testing.assert_allclose(from_totals, metric.corpus_score(stats), rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(datasets(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(metric: Metric, dataset: Dataset, random: Any) -> None:
    order = list(range(len(dataset)))
    random.shuffle(order)
    one, other = scored(dataset, metric), scored(dataset.rows(order), metric)
    np.testing.assert_allclose(table(other), table(one)[order], rtol=0, atol=1e-12)
    np.testing.assert_allclose(corpus_scores(other), corpus_scores(one), rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(datasets())
def test_scores_are_finite_and_within_bounds(metric: Metric, dataset: Dataset) -> None:
    result = scored(dataset, metric)
    low, high = metric.info.bounds
    for scores in (table(result), np.array(corpus_scores(result))):
        assert np.isfinite(scores).all()
        assert scores.min() >= low - 1e-9
        assert scores.max() <= high + 1e-9


@pytest.mark.parametrize("caption", [" ", "!!!", "😀", "zxqv", "\u200b", "犬", "a " * 300, "(" * 50, "x" * 5000])
def test_odd_captions_score_within_bounds(metric: Metric, small: Dataset, caption: str) -> None:
    samples = [replace(sample, candidate=caption) for sample in small]
    odd_reference = replace(samples[0], id="odd", image="odd", references=(caption, ""))
    scores = table(scored(Dataset.from_samples([*samples, odd_reference]), metric))
    assert np.isfinite(scores).all()
    assert metric.info.bounds[0] - 1e-9 <= scores.min() <= scores.max() <= metric.info.bounds[1] + 1e-9


def test_an_empty_caption_scores_0(metric: Metric, small: Dataset) -> None:
    samples = [replace(small[0], candidate=""), replace(small[1], candidate="", references=("",)), *list(small)[2:]]
    assert table(scored(Dataset.from_samples(samples), metric))[:2].tolist() == [[0.0] * len(metric.info.usual)] * 2
    every = Dataset.from_samples([replace(sample, candidate="") for sample in small])
    assert corpus_scores(scored(every, metric)) == [0.0] * len(metric.info.usual)


@settings(max_examples=25)
@given(st.lists(captions, min_size=2, max_size=5), st.lists(captions, min_size=1, max_size=4))
def test_a_candidate_equal_to_its_reference_gets_the_maximum(
    metric: Metric, references: list[str], others: list[str]
) -> None:
    if "references" not in metric.needs() or metric.info.name in BEYOND_REFERENCES:
        return  # what it makes of a caption does not depend on references, or not alone
    samples = [
        Sample(f"{image}-{i}", str(image), candidate, (reference,))
        for image, reference in enumerate(references)
        for i, candidate in enumerate([reference, *others])
    ]
    scores = table(scored(Dataset.from_samples(samples), metric)).reshape(len(references), len(others) + 1, -1)
    assert (scores[:, :1] >= scores - 1e-8).all()


def test_a_long_caption_equal_to_its_reference_reaches_the_upper_bound(metric: Metric) -> None:
    if metric.info.name not in MAXIMUM_IS_REACHED:
        pytest.skip(f"{metric.info.name} does not promise its upper bound")
    texts = ["a brown dog runs on the beach", "two women cook dinner together"]
    samples = [Sample(str(i), str(i), text, (text,)) for i, text in enumerate(texts)]
    result = scored(Dataset.from_samples(samples), metric)
    assert table(result) == pytest.approx(np.full((2, len(metric.info.usual)), metric.info.bounds[1]), rel=1e-8)
    assert corpus_scores(result) == pytest.approx([metric.info.bounds[1]] * len(metric.info.usual), rel=1e-8)


def test_a_better_system_scores_higher(metric: Metric, small: Dataset) -> None:
    if "pictures" in metric.needs():
        pytest.skip(f"{metric.info.name} looks at pictures, and these are drawn at random")
    if not metric.needs():
        pytest.skip(f"{metric.info.name} does not know what the caption should say")
    better = Dataset.from_samples([replace(s, candidate=s.references[0]) for s in small])
    worse = Dataset.from_samples([replace(s, candidate="purple monkeys never read") for s in small])
    assert (
        np.array(corpus_scores(scored(better, metric))) > np.array(corpus_scores(scored(worse, metric))) + 0.1
    ).all()


def test_scoring_twice_gives_the_same_bits(metric: Metric, small: Dataset) -> None:
    np.testing.assert_array_equal(stats_of(small, metric), stats_of(small, metric))


def test_threads_do_not_matter(metric: Metric, small: Dataset) -> None:
    alone = scored(small, metric, threads=1)
    for threads in (2, 5):
        np.testing.assert_array_equal(scored(small, metric, threads).scored[0].stats, alone.scored[0].stats)


def test_engines_agree(metric: Metric, small: Dataset, compiled_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = stats_of(small, metric)
    monkeypatch.setenv("CAPEVAL_ENGINE", "python")
    np.testing.assert_allclose(stats_of(small, metric), compiled, rtol=0, atol=1e-12)


def test_inputs_stay_untouched(metric: Metric, small: Dataset) -> None:
    before = copy.deepcopy(list(small))
    result = scored(small, metric)
    stats = result.scored[0].stats
    kept = stats.copy()
    stats.flags.writeable = False
    metric.per_sample(stats)
    metric.corpus_score(stats)
    assert list(small) == before
    np.testing.assert_array_equal(stats, kept)


@settings(max_examples=20)
@given(datasets(), st.data())
def test_a_subset_scores_as_the_subset_of_the_whole(independent: Metric, dataset: Dataset, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(dataset) - 1), min_size=1, max_size=6, unique=True))
    whole, part = scored(dataset, independent), scored(dataset.rows(rows), independent)
    np.testing.assert_allclose(table(part), table(whole)[rows], rtol=0, atol=1e-12)


@settings(max_examples=20)
@given(datasets(), st.data())
def test_the_score_of_a_resample_is_that_of_the_resampled_captions(
    independent: Metric, dataset: Dataset, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(dataset) - 1), min_size=1, max_size=8))
    every = independent.corpus_score(stats_of(dataset, independent)[rows])
    resampled = [every[independent.info.names.index(name)] for name in independent.info.usual]
    np.testing.assert_allclose(resampled, corpus_scores(scored(dataset.rows(rows), independent)), rtol=0, atol=1e-12)


def test_joining_two_halves_equals_scoring_the_whole(independent: Metric, small: Dataset, tmp_path: Path) -> None:
    whole = scored(small, independent)
    parts = []
    for i, half in enumerate((small[:5], small[5:])):
        save(scored(half, independent), tmp_path / f"{i}.npz")
        parts.append(load(tmp_path / f"{i}.npz"))
    joined = join(parts)
    np.testing.assert_allclose(table(joined), table(whole), rtol=0, atol=1e-12)
    np.testing.assert_allclose(corpus_scores(joined), corpus_scores(whole), rtol=0, atol=1e-12)
    assert joined.signatures == whole.signatures
    assert joined.ids == whole.ids


def test_a_metric_that_depends_on_all_captions_refuses_to_be_joined(metric: Metric, small: Dataset) -> None:
    halves = [scored(half, metric) for half in (small[:6], small[6:])]
    if metric.joinable():
        assert len(join(halves)) == len(small)
    else:
        with pytest.raises(CapevalError, match="cannot be joined"):
            join(halves)


def test_metrics_do_not_share_score_names() -> None:
    names = list(itertools.chain.from_iterable(metric.info.names for metric in metric_classes().values()))
    assert len(set(names)) == len(names)


def test_what_a_metric_needs_is_asked_for(metric: Metric, small: Dataset) -> None:
    bare = Dataset.from_samples([replace(row, references=()) for row in small])
    if part := metric.for_inputs(references=True, pictures=False):
        given = list(evaluate(Dataset.from_samples(list(small)), [metric]).scores)
        assert given == [label(part, name) for name in part.info.usual]
    elif "pictures" in metric.needs():
        with pytest.raises(Unavailable, match="`images`, or their `features`"):
            evaluate(Dataset.from_samples(list(small)), [metric])
    if part := metric.for_inputs(references=False, pictures=True):
        assert list(scored(bare, metric).scores) == [label(part, name) for name in part.info.usual]
    elif "references" in metric.needs():
        with pytest.raises(Unavailable, match="references"):
            scored(bare, metric)
    elif metric.needs():
        assert len(scored(bare, metric)) == len(bare)


def test_every_metric_explains_itself(metric: Metric, small: Dataset) -> None:
    """With the score that it gives, and words, facts or rows that say where it comes from."""
    row = small[1]
    pictures = Drawn() if "pictures" in metric.needs() else None
    picture = None if pictures is None else Picture(pictures, row.image)
    found = explain(metric, row.candidate, row.references, Run(threads=1), picture)
    alone = Dataset.from_samples([row])
    alone.features = pictures
    assert found.scores == evaluate(alone, [metric.for_one_image()], Run(threads=1)).scores
    assert all(math.isfinite(score) for score in found.scores.values())
    first = found.documents[0]
    assert first.scores == found.scores
    assert first.facts
    assert any(each.rows for each in found.documents)
    assert any(each.candidate_words for each in found.documents) or metric.info.name == "tiger"
    texts = {" ".join(word.text for word in each.candidate_words) for each in found.documents} - {""}
    assert texts <= {" ".join(words) for words in tokenize([row.candidate])}
    assert as_dict(first)["schema"] == "capeval.explain/1"
    for shown in (repr(found), found._repr_html_()):
        assert first.metric in html.unescape(shown)


def test_an_empty_caption_is_explained(metric: Metric, small: Dataset) -> None:
    pictures = Drawn() if "pictures" in metric.needs() else None
    picture = None if pictures is None else Picture(pictures, small[0].image)
    found = explain(metric, "", small[0].references, Run(threads=1), picture)
    assert set(found.scores.values()) == {0.0}
    assert repr(found)
