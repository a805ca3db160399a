"""Tables for people: no wider than the screen, and nothing cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from capeval.showing import number, short_signature, signatures, table, wrapped

NAMES = ["bleu_4", "cider_d(df=coco-val2014)", "lece(context=reference)", "spider_fast(df=corpus.df)"]
HEADER = ["metric", "A", "B", "A - B", "low", "high", "p\nboot", "p\nperm"]


def rows(names: list[str]) -> list[list[str]]:
    return [[name, *(f"{place}.{place}12{line}" for place in range(1, 8))] for line, name in enumerate(names)]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_digit_and_no_name_is_cut(width: int) -> None:
    made = rows(NAMES)
    shown = table(HEADER, made, numbers=range(1, 8), width=width)
    assert max(map(cell_len, shown.split("\n"))) <= width
    assert "…" not in shown
    found = shown.split()
    for row in made:
        for cell in row:
            assert cell in found


def test_what_fits_is_one_table() -> None:
    assert "\n\n" not in table(HEADER, rows(["bleu_4", "cider_d"]), numbers=range(1, 8), width=80)
    assert "\n\n" in table(HEADER, rows(NAMES), numbers=range(1, 8), width=60)


def test_texts_are_broken_at_spaces_and_names_are_repeated() -> None:
    shown = table(["system", "metric", "score", "told"], [["ours", "bleu", "0.1", "some words " * 9]], numbers=[2],
                  names=[0, 1], width=40)  # fmt: skip
    assert max(map(len, shown.split("\n"))) <= 40
    assert shown.replace("\n", " ").split().count("words") == 9


letters = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=28)


@given(st.lists(st.lists(letters, min_size=4, max_size=4), min_size=1, max_size=4), st.integers(30, 90))
def test_any_table(cells: list[list[str]], width: int) -> None:
    shown = table(["a", "b", "c", "d"], cells, numbers=[1, 2], width=width)
    assert max(map(len, shown.split("\n"))) <= max(width, 58)  # a name and a number, both as long as can be
    if width > 58:
        assert all(cell in shown for row in cells for cell in row)


def test_numbers() -> None:
    assert [number(each) for each in (0.5, -0.00001, float("nan"), None, -1.0)] == [
        "0.5000",
        "0.0000",
        "-",
        "-",
        "-1.0000",
    ]


FULL = (
    "cider_d(n=4, df=coco-val2014, stem=false, sigma=6)|tok:ptb|refs:5|data:40afc2e3|table:0e062e8cb2f0|rev:2"
    "|capeval:0.1.0"
)


def test_short_signatures() -> None:
    assert short_signature(FULL) == "tok:ptb|#:5|d:40afc2e3|t:0e062e8cb2f0|r:2|v:0.1.0"
    long = f"nneval|tok:ptb|refs:5|data:1|parts:[{'meteor rev: 1; ' * 20}]|rev:1|capeval:0.1.0"
    assert len(short_signature(long)) < 60
    assert short_signature(long) != short_signature(long.replace("meteor rev: 1", "meteor rev: 2"))


@pytest.mark.parametrize("width", [60, 80])
def test_signatures_fit(width: int) -> None:
    both = {
        "bleu_1": "bleu_1(sentence=false)|tok:ptb|refs:5",
        "bleu_2": "bleu_2(sentence=false)|tok:ptb|refs:5",
        "c": FULL,
    }
    shown = signatures(both, width=width)
    assert shown.split("\n")[:2] == ["tok:ptb|#:5", "  bleu_1, bleu_2"]
    whole = signatures(both, whole=True, width=width)
    assert FULL in whole.replace("\n  ", "")
    assert max(map(len, (shown + "\n" + whole).split("\n"))) <= width


def test_a_number_stays_with_its_name() -> None:
    assert wrapped("alpha\u00a01.5 beta\u00a02.5", 12) == ["alpha 1.5", "  beta 2.5"]
