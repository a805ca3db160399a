"""What lies behind the numbers of a benchmark: scores in each grade, errors, and captions that people see otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.report.blocks import Block, Cell, Example, Examples, Figure, Section, Table, Text, name_cell, number
from capeval.report.charts import Histograms, Panel, Violins, told_of_open_ends
from capeval.report.plain import to_shape

Row = Mapping[str, Any]


def analysis_sections(analysis: Row, order: Sequence[str], slug: str) -> list[Section]:
    """From the `analysis` of a part of a benchmark; metrics in the order given."""
    return [
        Section("Scores in each grade", _distributions(analysis, order, slug)),
        Section("How far metrics err", _errors(analysis, order, slug)),
        Section("Where metrics and people disagree", _examples(analysis, order)),
    ]


def _distributions(analysis: Row, order: Sequence[str], slug: str) -> list[Block]:
    found = analysis.get("distributions") or {}
    names = [name for name in order if name in found]
    if not names:
        return []
    panels = [
        Panel(
            name,
            each["low"],
            each["high"],
            [to_shape(str(grade["grade"]), grade) for grade in each["grades"]],
            each.get("open", False),  # results of older versions do not say
        )
        for name in names
        for each in (found[name],)
    ]
    grades = [str(grade["grade"]) for grade in found[names[0]]["grades"]]
    rows = [
        [
            name_cell(name),
            *(Cell(_middle(grade["quantiles"]), grade["quantiles"][2]) for grade in found[name]["grades"]),
        ]
        for name in names
    ]
    told = (
        "Scores of captions by the grade that people gave (left to right). The width is the share of judgements; the "
        "thick line the middle half, the thin one 90 %, the point the median. A good metric climbs without overlap."
    ) + told_of_open_ends(panels)
    table = Table(
        "Median score in each grade, middle half in brackets", ["metric", *(f"grade {g}" for g in grades)], rows
    )
    return [Figure(f"{slug}-grades", "Scores in each grade", told, Violins(panels, "score by human grade"), table)]


def _middle(quantiles: Sequence[float]) -> str:
    return f"{quantiles[2]:.3f} [{quantiles[1]:.3f}, {quantiles[3]:.3f}]"


def _errors(analysis: Row, order: Sequence[str], slug: str) -> list[Block]:
    found = analysis.get("errors") or {}
    names = [name for name in order if name in found]
    if not names:
        return []
    panels = [Panel(name, found[name]["low"], found[name]["high"], [to_shape("", found[name])]) for name in names]
    rows = [
        [name_cell(name), number(found[name]["mean_absolute"], 3), *(number(q, 3) for q in found[name]["quantiles"])]
        for name in names
    ]
    told = (
        "Each metric's scores are put on the human scale by rank, as many of each grade as people gave; the error is "
        "that grade less the human one. Right of the line the metric is too kind."
    )
    table = Table("Error in grades", ["metric", "mean absolute", "5 %", "25 %", "median", "75 %", "95 %"], rows)
    chart = Histograms(panels, "share of judgements by error in grades", zero=True)
    return [Figure(f"{slug}-errors", "Errors of the metrics in grades", told, chart, table)]


def _examples(analysis: Row, order: Sequence[str]) -> list[Block]:
    found: Sequence[Row] = analysis.get("examples") or ()
    names = list(dict.fromkeys([*(each["metric"] for each in found if each["metric"] not in order), *order]))
    blocks: list[Block] = []
    for name in names:
        mine = [each for each in found if each["metric"] == name]
        if mine:
            examples = [_pair(each) if "other" in each else _rated(each) for each in mine]
            blocks.append(Examples(name, examples, folded=bool(blocks)))
    if blocks:
        told = "The captions with the largest errors of each metric."
        if any("other" in each for each in found):
            told = "Pairs where a metric is surest of the caption that people do not prefer."
        blocks.insert(0, Text(told))
    return blocks


def _rated(each: Row) -> Example:
    facts = [("people", f"{each['people']:.2f}"), ("metric's grade", f"{each['grade']:.2f}")]
    if each.get("score") is not None:
        facts.append(("score", f"{each['score']:.4f}"))
    return Example(each["caption"], [*facts, ("image", str(each["image"]))], each["references"])


def _pair(each: Row) -> Example:
    facts = [
        ("category", str(each["category"])),
        ("score of the first", f"{each['score']:.4f}"),
        ("of the second", f"{each['other_score']:.4f}"),
        ("image", str(each["image"])),
    ]
    return Example(each["caption"], facts, each["references"], each["other"], ("preferred", "other"))
