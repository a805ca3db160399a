"""METEOR equals METEOR 1.5: statistic by statistic on hard rows, score by score on the official sets.

`golden/meteor_rows.json.gz` has rows scored by the official tool and those of its paraphrases that the rows need, so
that most tests do without the package the whole table comes with.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import engine, meteor
from capeval.corpus import Corpus
from capeval.errors import MissingExtra
from capeval.evaluate import evaluate
from capeval.metrics import meteor as metric
from capeval.metrics.meteor import PARAMETERS, Meteor, java_hashes
from capeval.run import Run
from capeval.text.paraphrase import Phrases, build_index, find_table, load_phrases
from capeval.types import Dataset, Rows, Sample


def write_table(path: Path, pairs: list[list[str]]) -> Path:
    path.write_bytes(
        gzip.compress("".join(f"0.5\n{phrase}\n{other}\n" for phrase, other in pairs).encode(), 1, mtime=0)
    )
    return path


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    path = Path(__file__).parents[1] / "golden" / "meteor_rows.json.gz"
    return dict(json.loads(gzip.decompress(path.read_bytes())))


@pytest.fixture
def small_table(golden: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Takes the place of the package's table."""
    table = write_table(tmp_path / "table.gz", golden["paraphrases"])
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(metric, "find_table", lambda: table)
    return table


@pytest.fixture
def whole_table() -> Path:
    try:
        return find_table()
    except MissingExtra as problem:
        pytest.skip(str(problem))


def dataset_of(rows: list[dict[str, Any]]) -> Dataset:
    samples = [Sample(str(i), str(i), row["candidate"], tuple(row["references"])) for i, row in enumerate(rows)]
    return Dataset.from_samples(samples)


def test_every_statistic_is_the_official_one(each_engine: str, golden: dict[str, Any], small_table: Path) -> None:
    rows = golden["rows"]
    stats = Meteor().stats(Corpus(dataset_of(rows), Run("none", 2)))
    assert len(rows) == 1200
    assert np.array_equal(stats, [row["stats"] for row in rows])
    assert Meteor().per_sample(stats)[:, 0] == pytest.approx([row["score"] for row in rows], abs=1e-15)
    assert Meteor().corpus_score(stats) == pytest.approx([golden["corpus"]], abs=1e-15)


def test_the_corpus_score_is_not_the_mean(golden: dict[str, Any], small_table: Path) -> None:
    stats = Meteor().stats(Corpus(dataset_of(golden["rows"][:50]), Run("none")))
    assert Meteor().corpus_score(stats) != pytest.approx(Meteor().per_sample(stats).mean(axis=0), abs=1e-3)


def test_a_perfect_caption_adds_no_chunk(small_table: Path) -> None:
    perfect = Sample("0", "0", "a dog runs", ("a dog runs",))
    result = evaluate(Dataset.from_samples([perfect] * 3), ["meteor"])
    assert result.scores["meteor"] == 1.0
    assert list(result.per_caption["meteor"]) == [1.0] * 3


def test_the_first_of_equal_references_counts(each_engine: str, small_table: Path) -> None:
    data = Dataset.from_samples([Sample("0", "0", "x", ("a b c", "d", "e f"))])
    stats = Meteor().stats(Corpus(data))
    assert stats[0, 1] == 3


@pytest.mark.parametrize(
    ("candidate", "references"), [("", ["a dog"]), ("", [""]), ("a dog", [""]), ("...", ["a dog"]), ("x", [])]
)
def test_nothing_to_compare_scores_0(
    each_engine: str, small_table: Path, candidate: str, references: list[str]
) -> None:
    data = Dataset.from_samples([Sample("0", "0", candidate, tuple(references))])
    stats = Meteor().stats(Corpus(data))
    assert Meteor().per_sample(stats).tolist() == [[0.0]]
    assert Meteor().corpus_score(stats).tolist() == [0.0]


def test_words_of_equal_java_hash_are_the_same_word_to_meteor() -> None:
    assert java_hashes(["hello"]).tolist() == [99162322]
    assert metric._numbers(["aw", "c9", "dog"]).tolist() == [0, 0, 1]


def test_threads_do_not_matter(compiled_engine: str, golden: dict[str, Any], small_table: Path) -> None:
    data = dataset_of(golden["rows"] * 2)
    one, three = (Meteor().stats(Corpus(data, Run("none", threads))) for threads in (1, 3))
    assert np.array_equal(one, three)


def test_align_agrees_with_the_statistics(golden: dict[str, Any], small_table: Path) -> None:
    for row in golden["rows"][::10]:
        aligned = [meteor.align(row["candidate"], reference, "none") for reference in row["references"]]
        assert max(each.score for each in aligned) == pytest.approx(row["score"], abs=1e-15)
        for each in aligned:
            assert each.chunks <= len(each.pairs)
            for pair in each.pairs:
                assert each.candidate[pair.candidate_start :][: len(pair.candidate)] == pair.candidate
                assert each.reference[pair.reference_start :][: len(pair.reference)] == pair.reference


def test_align_names_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path / "table.gz", [["next to", "beside"]])
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(metric, "find_table", lambda: table)
    found = meteor.align("A dog sits beside the bike.", "a dog sitting next to a bicycle")
    assert [(pair.module, pair.candidate, pair.reference) for pair in found.pairs] == [
        ("exact", ("a",), ("a",)),
        ("exact", ("dog",), ("dog",)),
        ("stem", ("sits",), ("sitting",)),
        ("paraphrase", ("beside",), ("next", "to")),
        ("synonym", ("bike",), ("bicycle",)),
    ]
    assert found.chunks == 2
    # Content words weigh 0.75, function words 0.25 (a, the, to): 6 words and 7 words.
    assert found.precision == pytest.approx((0.25 + 0.75 * (1 + 0.6 + 0.6 + 0.8)) / (2 * 0.25 + 4 * 0.75))
    assert found.recall == pytest.approx((0.25 + 0.25 * 0.6 + 0.75 * (1 + 0.6 + 0.6 + 0.8)) / (3 * 0.25 + 4 * 0.75))
    assert found.fragmentation == pytest.approx(2 / 5.5)
    assert found.fmean == pytest.approx(1 / (0.15 / found.precision + 0.85 / found.recall))
    assert found.score == pytest.approx(found.fmean * (1 - 0.6 * found.fragmentation**0.2))
    (explained,) = Meteor().explain(["a", "dog"], [["the", "dog"]], Run())
    assert explained.rows == [("dog", "dog", "exact")]
    assert explained.facts["chunks"] == 1


def test_without_the_package_the_error_says_what_to_install(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    finder, real = "importlib.machinery.PathFinder.find_spec", PathFinder.find_spec
    monkeypatch.setattr(finder, lambda name, *rest: None if name == "pycocoevalcap" else real(name, *rest))
    with pytest.raises(MissingExtra, match=r"\[meteor\]"):
        evaluate(small, ["meteor"])


def test_the_signature_names_the_table(small: Dataset, small_table: Path) -> None:
    signature = evaluate(small, ["meteor"]).signatures["meteor"]
    assert "|paraphrases:" in signature


def test_official_300(each_engine: str, official_300: dict[str, Any], whole_table: Path) -> None:
    check_official(official_300)


@pytest.mark.parametrize("size", ["1k", "5k"])
def test_official_sets(
    compiled_engine: str, official: Callable[[str], dict[str, Any]], size: str, whole_table: Path
) -> None:
    check_official(official(size))


def check_official(data: dict[str, Any]) -> None:
    images = list(data["candidates"])
    rows = [{"candidate": data["candidates"][i], "references": data["references"][i]} for i in images]
    result = evaluate(dataset_of(rows), ["meteor"])
    assert result.per_caption["meteor"] == pytest.approx(data["per_caption"]["meteor"], abs=1e-9)
    assert result.scores["meteor"] == pytest.approx(data["corpus"]["meteor"], abs=1e-9)


# ---- both engines on anything ----

words = st.integers(0, 7)
captions = st.lists(st.lists(words, max_size=9), min_size=1, max_size=5)
phrase = st.lists(st.integers(0, 4), min_size=1, max_size=3)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    texts = draw(captions)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    meanings = [draw(st.sets(st.integers(0, 3), max_size=3)) for _ in range(7)] + [{0, 1, 2, 3}]
    sets = draw(st.lists(st.lists(st.integers(0, len(texts) - 1), max_size=3), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(st.integers(0, len(texts) - 1), st.integers(0, len(sets) - 1)), max_size=4))
    return {
        "tokens": np.array([word for text in texts for word in text], np.int32),
        "offsets": offsets,
        "keys": np.array(draw(st.lists(words, min_size=8, max_size=8)), np.int32),
        "stems": np.array(draw(st.lists(words, min_size=8, max_size=8)), np.int32),
        "is_function": np.array(draw(st.lists(st.integers(0, 1), min_size=8, max_size=8)), np.uint8),
        "synsets": np.array([synset for each in meanings for synset in each], np.int32),
        "synset_offsets": np.cumsum([0, *map(len, meanings)], dtype=np.int64),
        "pairs": draw(st.lists(st.tuples(phrase, phrase), min_size=1, max_size=12)),
        "rows": Rows(
            np.array([row[0] for row in rows], np.int32),
            np.array([row[1] for row in rows], np.int32),
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
            np.array([c for each in sets for c in each], np.int32),
        ),
    }


def both_engines() -> list[Any]:
    compiled = engine._compiled_engine()
    if compiled is None:
        pytest.skip("the compiled engine was not built")
    return [engine.load("python"), compiled]


def tree_of(pairs: list[tuple[list[int], list[int]]], folder: Path) -> Phrases:
    text = [[" ".join(f"w{word}" for word in phrase) for phrase in pair] for pair in pairs]
    return build_index(write_table(folder / "table.gz", text), Run())


@given(problems())
def test_engines_agree(tmp_path_factory: pytest.TempPathFactory, problem: dict[str, Any]) -> None:
    table = tree_of(problem.pop("pairs"), tmp_path_factory.mktemp("table"))
    numbers = table.numbers_of([f"w{word}" for word in range(8)])
    names = ("starts", "lengths", "phrases", "phrase_offsets", "links", "link_offsets")
    results = []
    for each in both_engines():
        found = each.find_phrases(problem["tokens"], problem["offsets"], numbers, *table[1:], threads=2)
        stats = each.meteor_stats(**problem, **dict(zip(names, found)), parameters=PARAMETERS, threads=2)
        results.append([*found, stats])
    for one, other in zip(*results):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


ROW = Rows(np.array([0], np.int32), np.array([0], np.int32), np.array([0, 1], np.int64), np.array([0], np.int32))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tokens", np.array([0, 9], np.int32), "tokens must be below the number of words"),
        ("keys", np.zeros(3, np.int32), "must be of the same words"),
        ("keys", np.zeros(2, np.int64), "keys must be a 1-dimensional contiguous array of int32"),
        ("is_function", np.array([0, 2], np.uint8), "is_function must be 0 or 1"),
        ("synsets", np.array([0, 2], np.int32), "synsets must be numbered from 0"),
        ("synset_offsets", np.array([0, 2, 1], np.int64), "synset_offsets must rise"),
        ("starts", np.array([1], np.int32), "phrases must lie within their captions"),
        ("lengths", np.array([0], np.int32), "phrases must lie within their captions"),
        ("phrases", np.array([1], np.int32), "phrases must be indices"),
        ("links", np.array([-1], np.int32), "links must be indices"),
        ("phrase_offsets", np.array([0, 1, 1], np.int64), "phrase_offsets must have one entry per caption"),
        ("parameters", np.zeros(7), "parameters must be"),
        ("rows", ROW._replace(candidate=np.array([1], np.int32)), "candidate must hold indices"),
        ("threads", 0, "threads must be at least 1"),
    ],
)
def test_both_engines_refuse_wrong_arrays(name: str, value: Any, message: str) -> None:
    arguments: dict[str, Any] = {
        "tokens": np.array([0, 1], np.int32),
        "offsets": np.array([0, 2], np.int64),
        "keys": np.zeros(2, np.int32),
        "stems": np.zeros(2, np.int32),
        "is_function": np.zeros(2, np.uint8),
        "synsets": np.array([0, 1], np.int32),
        "synset_offsets": np.array([0, 2, 2], np.int64),
        "starts": np.array([0], np.int32),
        "lengths": np.array([2], np.int32),
        "phrases": np.array([0], np.int32),
        "phrase_offsets": np.array([0, 1], np.int64),
        "links": np.array([0], np.int32),
        "link_offsets": np.array([0, 1], np.int64),
        "parameters": PARAMETERS,
        "rows": ROW,
        "threads": 1,
    }
    for each in both_engines():
        each.meteor_stats(**arguments)
        with pytest.raises(ValueError, match=message):
            each.meteor_stats(**arguments | {name: value})


@pytest.mark.parametrize("broken", ["pair_start", "child_start"])
def test_a_tree_that_points_outside_does_no_harm(tmp_path: Path, broken: str) -> None:
    table = tree_of([([0, 1], [1]), ([1], [0])], tmp_path)
    tokens, offsets = np.array([0, 1], np.int32), np.array([0, 2], np.int64)
    numbers = np.array([0, 1], np.int32)
    outside = table._replace(**{broken: np.full_like(getattr(table, broken), 2**30)})
    for each in both_engines():
        if broken == "pair_start":
            outside.pair_start[0] = 0
            with pytest.raises(ValueError, match="damaged"):
                each.find_phrases(tokens, offsets, numbers, *outside[1:], threads=1)
        else:
            assert len(each.find_phrases(tokens, offsets, numbers, *outside[1:], threads=1)[0]) <= 2


def test_the_index_of_the_package_is_whole(whole_table: Path) -> None:
    phrases = load_phrases(whole_table)
    assert (len(phrases.words), len(phrases.last_word), len(phrases.paraphrases)) == (43_139, 3_333_237, 5_274_084)


def test_hash_codes_are_javas() -> None:
    # "Aa" and "BB" are the textbook pair of equal hash; the others were worked out by hand from the definition.
    assert java_hashes(["", "a", "Aa", "BB", "hello", "\U0001f600"]).tolist() == [
        0,
        97,
        2112,
        2112,
        99162322,
        31 * 0xD83D + 0xDE00,
    ]
