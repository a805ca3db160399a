"""CIDEr and CIDEr-D by hand, with tables, and equal to the official numbers."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval.errors import DataError, ExpressionError, UnknownName
from capeval.io.dftable import write_table
from capeval.metrics.cider import make_table
from capeval.run import Run


def per_caption(candidates: list[str], references: list[list[str]], expression: str, **options: Any) -> list[float]:
    (scores,) = capeval.score(candidates, references, [expression], **options).per_caption.values()
    return list(scores)


# Two images with nothing in common: every n-gram that occurs weighs log 2, so weights are counts.
@pytest.mark.parametrize(
    ("candidate", "references", "expression", "number"),
    [
        # Cosine 1 for both orders there are; a caption of two words has no triples, which counts as 0.
        ("a b", ["a b"], "cider(n=2)", 10),
        ("a b", ["a b"], "cider", 5),
        ("a b", ["a b"], "cider_d", 5),
        # Words: 1 common of 2 each, cosine 1/2; pairs: none.
        ("a x", ["a b"], "cider(n=2)", 10 * (1 / 2 + 0) / 2),
        # The mean over references, not the best.
        ("a b", ["a b", "c d"], "cider(n=2)", 5),
        # Counts (2) and (1) point the same way; clipped to (1), the product is halved.
        ("a a", ["a"], "cider(n=1)", 10),
        ("a a", ["a"], "cider_d(n=1)", 5),
        # Counts (1, 1) and (2, 1): (2 + 1) / sqrt(2 * 5).
        ("a b", ["a a b"], "cider_d(n=1)", 10 * 3 / math.sqrt(10)),
        # The length penalty compares numbers of bigrams, and there are none where only words are counted.
        ("a a a", ["a"], "cider_d(n=1)", 10 / 3),
        # 2 bigrams (the same twice) against 0: exp(-2^2 / (2 * 6^2)).
        ("a a a", ["a"], "cider_d(n=2)", 10 * (1 / 3 * math.exp(-4 / 72)) / 2),
        ("a a a", ["a"], "cider_d(n=2, sigma=1)", 10 * (1 / 3 * math.exp(-4 / 2)) / 2),
        ("", ["a"], "cider", 0),
        ("a", [""], "cider_d", 0),
    ],
)
def test_by_hand(each_engine: str, candidate: str, references: list[str], expression: str, number: float) -> None:
    scores = per_caption([candidate, "z"], [references, ["y"]], expression, tokenizer="none")
    assert scores[0] == pytest.approx(number, abs=1e-12)


def test_a_word_that_all_images_have_weighs_nothing(each_engine: str) -> None:
    assert per_caption(["a", "a c"], [["a b"], ["a c"]], "cider(n=1)") == [0, pytest.approx(10)]


def test_an_image_counts_once_in_the_document_frequency(each_engine: str) -> None:
    # "a" is in all three references of one image of two: it weighs log 2 - log 1 like "b".
    assert per_caption(["a b", "z"], [["a b", "a", "a"], ["c"]], "cider(n=1)")[0] == pytest.approx(
        10 * (1 + 2 / math.sqrt(2)) / 3
    )


def test_several_candidates_of_an_image_do_not_change_the_document_frequency() -> None:
    rows = [{"image_id": image, "id": i, "caption": "a b"} for i, image in enumerate(["x", "x", "x", "y"])]
    references = {"x": ["a b"], "y": ["a c"]}
    (scores,) = capeval.score(rows, references, ["cider(n=1)"]).per_caption.values()
    assert list(scores) == pytest.approx([10, 10, 10, 0])


@pytest.mark.parametrize("name", ["cider", "cider_d"])
def test_one_image_without_a_table_is_an_error_that_names_the_remedy(name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}\(df=coco-val2014\).*capeval df"):
        capeval.score(["a dog"], [["a dog"]], [name])


def test_one_image_with_the_builtin_table(each_engine: str) -> None:
    identical, other, common = per_caption(
        ["a zebra on the grass", "a giraffe on the grass", "a man on the sofa"], [["a zebra on the grass"]] * 3,
        "cider(df=coco-val2014)",
    )  # fmt: skip
    assert identical == pytest.approx(10)
    assert 10 > other > common > 0


CAPTIONS = ["a dog runs on the beach", "a cat sleeps", "two dogs run", "the man is running with dogs"]
REFERENCES = [
    ["a dog is running on a beach", "the dog runs"],
    ["a cat is asleep", "a sleeping cat"],
    ["two dogs are running", "some dogs run on the grass"],
    ["a man runs with his dogs", "the man is running"],
]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str = "own.df", **options: Any) -> Path:
        write_table(tmp_path / name, make_table([tuple(each) for each in REFERENCES], **options))
        return tmp_path / name

    return make


@pytest.mark.parametrize("parameters", ["", "n=2", "stem=true", "n=1, stem=true"])
@pytest.mark.parametrize("name", ["cider", "cider_d"])
def test_a_table_of_the_same_references_gives_the_same_scores(
    each_engine: str, table: Callable[..., Path], name: str, parameters: str
) -> None:
    path = table(stem="stem" in parameters)
    with_table = per_caption(CAPTIONS, REFERENCES, f'{name}({parameters}{", " * bool(parameters)}df="{path}")')
    assert with_table == pytest.approx(per_caption(CAPTIONS, REFERENCES, f"{name}({parameters})"), abs=1e-12)
    assert len(set(with_table)) > 2


def test_with_a_table_a_caption_does_not_depend_on_the_others(table: Callable[..., Path]) -> None:
    expression = f"cider_d(df={table()})"
    together = per_caption(CAPTIONS, REFERENCES, expression)
    alone = [per_caption([c], [r], expression)[0] for c, r in zip(CAPTIONS, REFERENCES, strict=True)]
    assert together == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize(
    ("made_with", "expression", "tokenizer"),
    [
        ({"run": Run("none")}, "cider(df={})", "ptb"),
        ({}, "cider(df={})", "none"),
        ({"stem": True}, "cider(df={})", "ptb"),
        ({}, "cider_d(df={}, stem=true)", "ptb"),
        ({"n": 3}, "cider(df={})", "ptb"),
    ],
)
def test_a_table_that_does_not_fit(
    table: Callable[..., Path], made_with: dict[str, Any], expression: str, tokenizer: str
) -> None:
    path = table(**made_with)
    with pytest.raises(DataError, match=r"own\.df does not fit cider.*capeval df"):
        capeval.score(CAPTIONS, REFERENCES, [expression.format(path)], tokenizer=tokenizer)


def test_a_table_of_one_image_is_refused(tmp_path: Path) -> None:
    for images in (0, 1):
        write_table(tmp_path / "one.df", make_table([("a dog",)] * images))
        with pytest.raises(DataError, match="two images or more"):
            capeval.score(["a dog"], [["a dog"]], [f"cider(df={tmp_path}/one.df)"])


def test_a_table_without_ngrams_weighs_all_alike(each_engine: str, tmp_path: Path) -> None:
    write_table(tmp_path / "none.df", make_table([("a",), ("b",)]))  # nothing occurs with both
    assert per_caption(["a x"], [["a b"]], f"cider(n=1, df={tmp_path}/none.df)") == pytest.approx([5])


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no-such\.df: cannot be read"):
        capeval.score(["a"], [["a"]], [f"cider(df={tmp_path}/no-such.df)"])
    with pytest.raises(UnknownName, match="Did you mean coco-val2014"):
        capeval.score(["a"], [["a"]], ["cider(df=coco-val2015)"])


def test_a_table_that_was_made_again_is_read_again(table: Callable[..., Path], tmp_path: Path) -> None:
    path = table()
    before = per_caption(CAPTIONS, REFERENCES, f"cider(df={path})")
    write_table(path, make_table([("a dog runs",), ("a dog runs",), ("some cat",)]))
    os.utime(path, ns=(0, 1))
    assert per_caption(CAPTIONS, REFERENCES, f"cider(df={path})") != pytest.approx(before)


def test_the_signature_names_the_contents_of_the_table(table: Callable[..., Path]) -> None:
    def signature(path: Path) -> str:
        (text,) = capeval.score(CAPTIONS, REFERENCES, [f"cider(df={path}, n=3)"]).signatures.values()
        return str(text).replace(path.name, "")

    assert signature(table("a.df")) == signature(table("b.df"))
    assert signature(table("a.df")) != signature(table("c.df", n=3))


def test_stems() -> None:
    candidates, references = ["dogs running", "x"], [["dog runs"], ["y"]]
    assert per_caption(candidates, references, "cider(n=2)")[0] == 0
    assert per_caption(candidates, references, "cider(n=2, stem=true)")[0] == pytest.approx(10)


def test_stems_do_not_depend_on_an_installed_stemmer() -> None:
    """Releases of Snowball differ in "evening": some say `even`, some `evening`."""
    result = capeval.score(["evening", "x"], [["even"], ["y"]], ["cider(n=1, stem=true)", "cider(n=1)"])
    assert result.per_caption["cider(n=1, stem=true)"][0] == pytest.approx(10)
    assert "|stemmer:porter2|" in result.signatures["cider(n=1, stem=true)"]
    assert "stemmer" not in result.signatures["cider(n=1)"]
    assert "snowballstemmer" not in sys.modules


@pytest.mark.parametrize("expression", ["cider(n=0)", "cider(n=9)", "cider_d(sigma=0)", "cider_d(sigma=-1)"])
def test_parameters_out_of_range(expression: str) -> None:
    with pytest.raises(ExpressionError, match="must be"):
        capeval.score(CAPTIONS, REFERENCES, [expression])


def assert_official(golden: dict[str, Any]) -> None:
    result = capeval.score(golden["candidates"], golden["references"], ["cider_d"])
    assert result.scores["cider_d"] == pytest.approx(golden["corpus"]["cider_d"], abs=1e-9)
    np.testing.assert_allclose(result.per_caption["cider_d"], golden["per_caption"]["cider_d"], rtol=0, atol=1e-9)


def test_official_numbers(each_engine: str, official_300: dict[str, Any]) -> None:
    assert_official(official_300)


def test_official_numbers_of_1k(each_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("1k"))


def test_official_numbers_of_5k(compiled_engine: str, official: Callable[[str], dict[str, Any]]) -> None:
    assert_official(official("5k"))
