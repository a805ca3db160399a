"""Behind the numbers of a benchmark: scores in each grade, errors, and captions that a metric and people see apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.documents import types as documents
from capeval.documents.types import Analysis, Distribution, Misjudged
from capeval.report.blocks import Block, Cell, Example, Examples, Figure, Section, Table, Text, name_cell, number
from capeval.report.charts import Curves, Histograms, Panel, Shape, Violins, told_of_open_ends

_VERDICTS = {"above": "too kind", "below": "too stern", "equal": "agrees"}


def analysis_sections(analysis: Analysis, order: Sequence[str], slug: str) -> list[Section]:
    """What is known of one part of a benchmark; metrics in the order given."""
    return [
        Section("Scores in each grade", _distributions(analysis, order, slug)),
        Section("How far metrics err", _errors(analysis, order, slug)),
        Section("Where metrics and people disagree", _examples(analysis, order)),
    ]


def _distributions(analysis: Analysis, order: Sequence[str], slug: str) -> list[Block]:
    known = analysis.distributions or {}
    found = {name: known[name] for name in order if name in known}
    if not found:
        return []
    panels = [
        Panel(name, each.low, each.high, [_shape(str(grade.grade), grade) for grade in each.grades], bool(each.open))
        for name, each in found.items()
    ]
    grades = [str(grade.grade) for grade in next(iter(found.values())).grades]
    rows = [
        [name_cell(name), *(Cell(_middle(grade.quantiles), grade.quantiles[2]) for grade in each.grades)]
        for name, each in found.items()
    ]
    told = (
        "Scores of captions by the grade that people gave (left to right). The width is the share of judgements; the "
        "thick line the middle half, the thin one 90 %, the point the median. The scores of a good metric climb with "
        "the grades and hardly overlap."
    ) + told_of_open_ends(panels)
    table = Table(
        "Median score in each grade, middle half in brackets", ["metric", *(f"grade {g}" for g in grades)], rows
    )
    violins = Figure(f"{slug}-grades", "Scores in each grade", told, Violins(panels, "score by human grade"), table)
    return [violins, *_means(found, grades, slug)]


def _means(found: Mapping[str, Distribution], grades: Sequence[str], slug: str) -> list[Block]:
    """How mean scores climb with the grades; metrics of any scale in one picture."""
    means = {name: [grade.mean for grade in each.grades] for name, each in found.items()}
    climbs = {name: _climb(values) for name, values in means.items() if len(values) == len(grades)}
    if len(grades) < 2:
        return []
    told = (
        "The mean score of captions by the grade that people gave, from 0 in the lowest grade to 1 in the highest. "
        "Where a line is flat, the metric hardly tells neighbouring grades apart."
    )
    rows = [[name_cell(name), *(number(value) for value in values)] for name, values in means.items()]
    chart = Curves(_places(grades), climbs, "human grade", "share of the way up")
    table = Table("Mean score in each grade", ["metric", *(f"grade {grade}" for grade in grades)], rows)
    return [Figure(f"{slug}-means", "Mean scores by human grade", told, chart, table)]


def _climb(means: Sequence[float]) -> list[float | None]:
    rise = means[-1] - means[0]
    return [(value - means[0]) / rise if rise > 0 else None for value in means]


def _places(grades: Sequence[str]) -> list[float]:
    """The grades as numbers; ranges of grades are numbered."""
    try:
        return [float(grade) for grade in grades]
    except ValueError:
        return [float(place) for place in range(1, len(grades) + 1)]


def _shape(label: str, each: documents.Shape) -> Shape:
    return Shape(label, each.rows, each.quantiles, each.shares)


def _middle(quantiles: Sequence[float]) -> str:
    return f"{quantiles[2]:.3f} [{quantiles[1]:.3f}, {quantiles[3]:.3f}]"


def _errors(analysis: Analysis, order: Sequence[str], slug: str) -> list[Block]:
    known = analysis.errors or {}
    found = {name: known[name] for name in order if name in known}
    if not found:
        return []
    panels = [Panel(name, each.low, each.high, [_shape("", each)]) for name, each in found.items()]
    rows = [
        [name_cell(name), number(each.mean_absolute, 3), *(number(q, 3) for q in each.quantiles)]
        for name, each in found.items()
    ]
    told = (
        "Each metric's scores are put on the human scale by rank, as many of each grade as people gave; the error is "
        "that grade less the human one. Right of the line the metric is too kind."
    )
    table = Table("Error in grades", ["metric", "mean absolute", "5 %", "25 %", "median", "75 %", "95 %"], rows)
    chart = Histograms(panels, "share of judgements by error in grades", zero=True)
    blocks: list[Block] = [Figure(f"{slug}-errors", "Errors of the metrics in grades", told, chart, table)]
    if differences := {name: each.differences for name, each in found.items() if each.differences}:
        steps = list(dict.fromkeys(step for each in differences.values() for step in each))
        title = "Judgements (%) by how many grades the metric is above people; 0 is the same grade"
        shares = [
            [name_cell(name), *(number(100 * each[step], 1) if step in each else Cell("–") for step in steps)]
            for name, each in differences.items()
        ]
        blocks.append(Table(title, ["metric", *steps], shares))
    return blocks


def _examples(analysis: Analysis, order: Sequence[str]) -> list[Block]:
    found = analysis.examples or []
    names = list(dict.fromkeys([*(each.metric for each in found if each.metric not in order), *order]))
    blocks: list[Block] = []
    for name in names:
        mine = [_pair(each) or _rated(each) for each in found if each.metric == name]
        if mine:
            blocks.append(Examples(name, mine, folded=bool(blocks)))
    if blocks:
        told = "The captions with the largest errors of each metric, and some on which it agrees with people."
        if any(each.other is not None for each in found):
            told = "Pairs where a metric is surest of the caption that people do not prefer."
        blocks.insert(0, Text(told))
    return blocks


def _rated(each: Misjudged) -> Example:
    facts = [("people", _shown(each.people, 2)), ("metric's grade", _shown(each.grade, 2))]
    if each.direction in _VERDICTS:
        facts.insert(0, ("metric", _VERDICTS[each.direction]))
    if each.score is not None:
        facts.append(("score", _shown(each.score, 4)))
    return Example(each.caption, [*facts, ("image", each.image)], each.references, image=each.image)


def _pair(each: Misjudged) -> Example | None:
    if each.other is None:
        return None
    facts = [
        ("category", each.category or ""),
        ("score of the first", _shown(each.score, 4)),
        ("of the second", _shown(each.other_score, 4)),
        ("image", each.image),
    ]
    return Example(each.caption, facts, each.references, each.other, ("preferred", "other"), each.image)


def _shown(value: float | None, digits: int) -> str:
    return number(value, digits).text
