"""The page of tools/studies/tiger_report.py: each function gives a table or figure of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tiger_paper import FIGURE_5, FIGURE_7, TABLE_1, TABLE_2, paper_name

from capeval.documents import BenchDocument, Document
from capeval.documents.types import ByReferences, ChoicesDocument, Estimate, MetricRow
from capeval.report import report
from capeval.report.plots import draw

FEWEST = 100
"""Fewer rows tell nothing."""
DIRECTIONS = {"above": "human < metric", "equal": "equal", "below": "human > metric"}


def drawing(page: Path, document: Document, name: str, file: str, *, numbers: bool = True) -> str:
    """One figure of a document's report, as a file beside the page, with its numbers below."""
    figure = next(each for each in report(document).figures() if each.name == name)
    path = page.parent / f"{page.stem}-{file}.svg"
    path.write_bytes(draw(figure.chart, title=figure.title))
    shown = f"![{figure.title}]({path.name})"
    if not numbers or figure.table is None:
        return shown
    rows = [[f"`{cell.text}`" if cell.code else cell.text for cell in row] for row in figure.table.rows]
    return f"{shown}\n\n{table(figure.table.header, rows)}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def shown(each: Estimate | None, digits: int) -> str:
    if each is None or each.value is None:
        return "–"
    limits = "" if each.low is None or each.high is None else f" [{each.low:.{digits}f}, {each.high:.{digits}f}]"
    return f"{each.value:.{digits}f}{limits}"


def _by_metric(document: BenchDocument) -> dict[str, MetricRow]:
    return {row.metric: row for row in document.metrics}


def agreement_with_grades(expert: BenchDocument, composite: BenchDocument) -> list[str]:
    rows = []
    for name, row in _by_metric(composite).items():
        paper = TABLE_1.get(paper_name(name), ("",) * 4)
        cells = []
        for each, tau, rho in ((row, *paper[:2]), (_by_metric(expert)[name], *paper[2:])):
            cells += [shown(each.estimates["kendall_c"], 3), tau, shown(each.estimates["spearman"], 3), rho]
        rows.append([f"`{name}`", *cells])
    header = ["metric"]
    for name in ("Composite", "Flickr8k-Expert"):
        header += [f"{name}: tau-c", "paper", "Spearman", "paper"]
    return [
        "## Table 1: agreement with grades",
        "Composite with the row's own caption taken out of its references, as in the paper: of 11,985 rows "
        f"{composite.rows:,} have their picture, and the paper's figures are of all. Flickr8k-Expert: {expert.rows:,} "
        "judgements.",
        table(header, rows),
    ]


def pairs_by_category(votes: BenchDocument, labels: BenchDocument) -> list[str]:
    kinds = ("hc", "hi", "hm", "mm")
    tables = []
    for document, paper in ((votes, TABLE_2), (labels, None)):
        rows = []
        for name, row in _by_metric(document).items():
            cells = [f"{row.estimates[kind].value:.1f}" for kind in kinds] + [shown(row.estimates["mean"], 1)]
            rows.append([f"`{name}`", *cells, *([paper.get(paper_name(name), "")] if paper else [])])
        header = ["metric", *(kind.upper() for kind in kinds), "mean", *(["paper"] if paper else [])]
        tables.append(table(header, rows))
    return [
        "## Table 2: PASCAL-50S by category",
        "Percent of pairs in which the metric prefers the caption that people prefer. The majority of votes, five "
        "references drawn five times; equal scores count as wrong, as in the paper:",
        tables[0],
        "The published labels, which papers from CLIPScore on use, with their draw of references; equal scores count "
        "one half:",
        tables[1],
    ]


def other_benchmarks(found: Mapping[str, BenchDocument]) -> list[str]:
    """The main figure of each benchmark and part of it that has its pictures."""
    header, columns, counts = ["metric"], [], []
    for name, document in found.items():
        for part in document.comparisons:
            of_part = [row for row in document.metrics if part.tags.items() <= row.tags.items()]
            if max(row.rows for row in of_part) < FEWEST:
                continue
            full = " ".join([name, *part.tags.values()])
            header.append(f"{full}: {part.statistic}")
            digits = 1 if part.statistic == "mean" else 3
            columns.append({row.metric: shown(row.estimates.get(part.statistic), digits) for row in of_part})
            counts.append(f"{full} {max(row.rows for row in of_part):,}")
    if not columns:
        return []
    names = dict.fromkeys(name for column in columns for name in column)
    return [
        "## Other benchmarks",
        f"On the rows whose picture is there ({', '.join(counts)}), which are not all: compare the metrics with each "
        "other, not with tables of papers.",
        table(header, [[f"`{name}`", *(column.get(name, "") for column in columns)] for name in names]),
    ]


def score_by_grade(page: Path, expert: BenchDocument, composite: BenchDocument) -> list[str]:
    return [
        "## Figure 4: score by human grade",
        "From 0 for the mean score in the lowest grade to 1 for that in the highest; the means themselves are in the "
        "tables. Flickr8k-Expert, then Composite:",
        drawing(page, expert, "flickr8k-expert-means", "grades-flickr8k"),
        drawing(page, composite, "composite-strict-means", "grades-composite"),
    ]


def lost_compared(found: ByReferences, studied: str) -> str:
    """Whether the studied metric loses less than half of what CIDEr-D and METEOR lose with few references."""
    mine = found.lost[studied]
    told = [f"From {max(found.counts)} references to {min(found.counts)}, `{studied}` loses {shown(mine, 1)} points."]
    for name in ("cider_d", "meteor"):
        other = found.lost.get(name)
        if other is None or other.value is None or mine.value is None:
            continue
        verdict = "less than half" if mine.value < other.value / 2 else "not less than half"
        told.append(f"`{name}` loses {shown(other, 1)}: {verdict}.")
    return " ".join(told)


def number_of_references(page: Path, counted: BenchDocument, found: ByReferences, studied: str) -> list[str]:
    lost = sorted(found.lost.items(), key=lambda item: item[1].value or 0.0)
    return [
        "## Figure 5: number of references",
        "PASCAL-50S, votes, references drawn five times; equal scores count as wrong. "
        f"{lost_compared(found, studied)} {FIGURE_5}",
        "Mean of the four categories:",
        drawing(page, counted, "pascal-50s-votes-references", "references"),
        "Lost from the most references to the fewest, in points:",
        table(["metric", "lost"], [[f"`{name}`", shown(each, 1)] for name, each in lost]),
        "Two captions by machines (MM):",
        drawing(page, counted, "pascal-50s-votes-references-mm", "references-mm"),
    ]


def component_sensitivity(page: Path, changed: Mapping[str, ChoicesDocument]) -> list[str]:
    parts = [
        "## Figure 7: component sensitivity",
        "A word of a person's caption is replaced by a similar one and by a wrong one "
        "([how](../tasks/robustness.md)); percent of pairs in which the similar one scores higher. 50 is guessing. The "
        f"other captions of the image, five at most, are the references. {FIGURE_7}",
    ]
    for name, document in changed.items():
        counts = ", ".join(f"{key} {count:,}" for key, count in document.categories.items())
        parts += [
            f"{name}, {document.pairs:,} pairs of {document.images:,} images ({counts}):",
            drawing(page, document, "robust-components", f"components-{name}"),
        ]
    return parts


def errors_by_rank(page: Path, expert: BenchDocument, composite: BenchDocument) -> list[str]:
    parts = [
        "## Figure 8 (A.1): errors by rank",
        "Scores are put on the human scale by rank, as many of each grade as people gave. Percent of judgements by how "
        "many grades the metric is above people, and the mean size of the error:",
    ]
    for document, figure in ((expert, "flickr8k-expert-errors"), (composite, "composite-strict-errors")):
        errors = document.analysis[0].errors or {}
        rows = [
            [f"`{metric}`", *(f"{100 * share:.1f}" for share in each.differences.values()), f"{each.mean_absolute:.3f}"]
            for metric, each in errors.items()
        ]
        steps = next(iter(errors.values())).differences
        parts += [
            f"{document.benchmark}:",
            table(["metric", *steps, "error"], rows),
            drawing(page, document, figure, f"errors-{document.benchmark}", numbers=False),
        ]
    return parts


def examples(studied: str, *documents: BenchDocument) -> list[str]:
    """Without their captions, which are not ours to publish."""
    rows = [
        [f"{document.benchmark} `{each.id}`", told, f"{each.people:.2f}", f"{each.grade:.2f}", f"{each.score:.4f}"]
        for document in documents
        for direction, told in DIRECTIONS.items()
        for each in document.analysis[0].examples or ()
        if each.metric == studied and each.direction == direction
    ]
    return [
        "## Table 3 (A.2): examples",
        f"Captions with the largest differences between people and `{studied}`, and some on which both agree, by their "
        "ids in `capeval bench rows`. The captions are research data: the command writes them, with their references, "
        "to `examples.html` in its work folder.",
        table(["caption", "", "people", "metric's grade", "score"], rows),
    ]
