"""Sections of a leaderboard: metrics by benchmarks, and each benchmark with measured and quoted figures."""

from __future__ import annotations

from collections.abc import Sequence

from capeval.documents.types import BoardCell, BoardColumn, Estimate, LeaderboardDocument
from capeval.report.benched import word_for
from capeval.report.blocks import Block, Cell, Figure, Section, Table, Text, count, estimate, name_cell, number
from capeval.report.charts import Forest, Interval
from capeval.report.plain import origin

_ABOUT = (
    "Measured here, with 95 % intervals from resamples of images. Bold: the best metric of a benchmark and those that "
    "cannot be told apart from it (paired bootstrap over images, Holm's correction over all pairs, p ≥ 0.05). "
    "Metrics are in the order of their mean rank. A dash: the metric cannot be used there. Seen: it was trained on the "
    "benchmark or its pictures, so no figure of it is a test."
)
_QUOTED = (
    "Quoted from papers, not measured here: they are given only where the protocol is the one of the column, or a note "
    "says what differs."
)


def leaderboard_section(data: LeaderboardDocument, source: str) -> Section:
    """From the result of `capeval bench all`."""
    benchmarks = {column.benchmark for column in data.columns}
    told = f"{len(data.metrics)} metrics on {len(benchmarks)} benchmarks{origin(source)} {_ABOUT}"
    blocks: list[Block] = [Text(told), _measured(data)]
    if data.quoted:
        blocks += [Text(_QUOTED), _quoted(data)]
    if data.left_out:
        rows = [[name_cell(name), Cell(why)] for name, why in data.left_out.items()]
        blocks.append(Table("Benchmarks that are not in it", ["benchmark", "why"], rows))
    return Section("Metrics and benchmarks", blocks, [_benchmark(data, column) for column in data.columns])


def _header(columns: Sequence[BoardColumn]) -> list[str]:
    return ["metric", *(f"{column.name}, {word_for(column.statistic)}" for column in columns)]


def _cell(cell: BoardCell | None, column: BoardColumn) -> Cell:
    if cell is None or cell.value is None:
        return Cell("seen" if cell is not None and cell.seen else "–")
    shown = estimate(Estimate(value=cell.value, low=cell.low, high=cell.high), column.digits, cell.best)
    return Cell(f"{shown.text} (seen)", shown.value) if cell.seen else shown


def _measured(data: LeaderboardDocument) -> Table:
    rows = [
        [name_cell(row.metric), *(_cell(row.cells.get(column.name), column) for column in data.columns)]
        for row in data.metrics
    ]
    return Table("Measured", _header(data.columns), rows)


def _quoted(data: LeaderboardDocument) -> Table:
    """Columns that papers have figures for."""
    columns = [column for column in data.columns if any(each.column == column.name for each in data.quoted)]
    names = dict.fromkeys(each.metric for each in data.quoted)
    values = {(each.metric, each.column): each.value for each in data.quoted}
    rows = [
        [Cell(name), *(number(values.get((name, column.name)), column.digits) for column in columns)] for name in names
    ]
    return Table("Quoted from papers", _header(columns), rows)


def _benchmark(data: LeaderboardDocument, column: BoardColumn) -> Section:
    """Measured and quoted figures of one benchmark in one order."""
    lines: list[tuple[float, list[Cell]]] = []
    points: list[Interval] = []
    for row in data.metrics:
        cell = row.cells.get(column.name)
        if cell is None or cell.value is None:
            continue
        points.append(Interval(row.metric, cell.value, cell.low, cell.high, strong=cell.best))
        told = "measured" + (f"; has seen {', '.join(cell.seen)}" if cell.seen else "")
        lines.append((cell.value, [name_cell(row.metric), _cell(cell, column), count(cell.rows or 0), Cell(told)]))
    for each in data.quoted:
        if each.column == column.name:
            told = f"quoted: {each.source}" + (f" ({each.note})" if each.note else "")
            lines.append((each.value, [Cell(each.metric), number(each.value, column.digits), Cell(""), Cell(told)]))
    lines.sort(key=lambda line: -line[0])
    header = ["metric", word_for(column.statistic), "rows", "figure"]
    told = f"{column.summary}. {column.rows:,} rows, {column.resamples:,} resamples of images. {column.citation}"
    slug = column.name.replace("/", "-").replace(" ", "-")
    return Section(
        column.name,
        [
            Text(told),
            Table(f"{column.name}: measured and quoted", header, [cells for _, cells in lines]),
            Figure(
                f"board-{slug}",
                f"{column.name}: {word_for(column.statistic)}",
                "With 95 % intervals. Hollow points are metrics that are worse than the best by more than chance.",
                Forest(
                    sorted(points, key=lambda each: -(each.value or 0.0)),
                    word_for(column.statistic),
                    digits=column.digits,
                ),
            ),
        ],
    )
