"""The page of the TIGEr studies, which `tools/studies/tiger_report.py` writes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from capeval.documents import BenchDocument, decode_as
from capeval.documents.types import ByReferences, Estimate


@pytest.fixture
def page_of(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The studies import each other from their own folder."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools" / "studies")
    import tiger_page  # type: ignore[import-not-found]

    return tiger_page  # type: ignore[no-any-return]


def test_examples_have_ids_and_no_captions(page_of: ModuleType, rated: dict[str, Any]) -> None:
    document = decode_as(BenchDocument, rated)
    text = "\n".join(page_of.examples("rouge_l", document))
    mine = [each for each in document.analysis[0].examples or () if each.metric == "rouge_l"]
    assert {each.direction for each in mine} == {"above", "below", "equal"}
    assert all(f"flickr8k-expert `{each.id}`" in text for each in mine)
    assert not any(caption in text for each in mine for caption in (each.caption, *each.references))
    told = {"above": "human < metric", "below": "human > metric", "equal": "equal"}
    for direction, words in told.items():
        assert text.count(f"| {words} |") == sum(each.direction == direction for each in mine)


def test_what_few_references_cost_beside_others(page_of: ModuleType) -> None:
    lost = {name: Estimate(value=value, low=value - 1, high=value + 1) for name, value in
            (("tiger", 2.0), ("cider_d", 4.1), ("meteor", 4.0))}  # fmt: skip
    found = ByReferences(counts=[48, 1], mean={name: [80.0, 78.0] for name in lost}, lost=lost)
    assert page_of.lost_compared(found, "tiger") == (
        "From 48 references to 1, `tiger` loses 2.0 [1.0, 3.0] points. `cider_d` loses 4.1 [3.1, 5.1]: less than half. "
        "`meteor` loses 4.0 [3.0, 5.0]: not less than half."
    )


def test_tables_and_drawings(
    page_of: ModuleType,
    rated: dict[str, Any],
    paired: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "tiger.md"
    grades, pairs = decode_as(BenchDocument, rated), decode_as(BenchDocument, paired)
    agreement = page_of.agreement_with_grades(grades, grades)[-1].splitlines()
    row = next(each for each in grades.metrics if each.metric == "rouge_l")
    (line,) = (each for each in agreement if each.startswith("| `rouge_l` |"))
    assert [cell.strip().split(" ")[0] for cell in line.split("|")[2:6]] == [
        f"{row.estimates['kendall_c'].value:.3f}", ".307", f"{row.estimates['spearman'].value:.3f}", ".383",
    ]  # fmt: skip
    shown = page_of.drawing(page, grades, "flickr8k-expert-means", "grades")
    assert shown.startswith("![Mean scores by human grade](tiger-grades.svg)\n\n| metric | grade 1 |")
    assert (tmp_path / "tiger-grades.svg").read_bytes().startswith(b"<?xml")
    assert page_of.other_benchmarks({"pascal-50s": pairs}) == []  # too few
    monkeypatch.setattr(page_of, "FEWEST", 60)
    more = page_of.other_benchmarks({"pascal-50s": pairs})
    assert "pascal-50s 60" in more[1]
    assert more[-1].startswith("| metric | pascal-50s: mean |")
