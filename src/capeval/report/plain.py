"""Sections of plain scores: of one or several systems, and of each caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from capeval.bench.details import limits, shape
from capeval.documents import ScoreDocument, SystemScores
from capeval.documents.types import Estimate
from capeval.report.blocks import (
    Block,
    Cell,
    Example,
    Examples,
    Figure,
    Folded,
    Section,
    Spoken,
    Table,
    Text,
    count,
    estimate,
    name_cell,
    number,
)
from capeval.report.charts import Forest, Heat, Histograms, Interval, Panel, Shape, Violins, told_of_open_ends
from capeval.report.inputs import CaptionScores
from capeval.text.marking import mark
from capeval.types import Array
from capeval.verdict import is_clear

_EXTREMES = 4
_SIDE_BY_SIDE = 8
_OPEN = 3
_PAIRS = 3
_EACH_WAY = 2
_MOST_SYSTEMS = 8


def scores_section(data: ScoreDocument, source: str) -> Section:
    """From the result of `capeval score`."""
    systems = data.systems or {"": SystemScores(n=data.n, scores=data.scores, intervals=data.intervals)}
    several = len(systems) > 1
    has_intervals = any(each.intervals for each in systems.values())
    beside = 1 < len(systems) <= _MOST_SYSTEMS
    if beside:
        header = ["metric", *systems]
        rows = [
            [name_cell(key), *(_system_cell(each, key, is_clear(data, key, name)) for name, each in systems.items())]
            for key in data.scores
        ]
    else:
        header = ["metric", *(["system"] if several else []), "score", *(["low", "high"] if has_intervals else [])]
        rows = [
            [
                name_cell(key),
                *([Cell(name)] if several else []),
                number(each.scores.get(key), best=several and is_clear(data, key, name)),
                *(map(number, _ends(each, key)) if has_intervals else []),
            ]
            for key in data.scores
            for name, each in systems.items()
        ]
    blocks: list[Block] = [
        Text(f"{data.n:,} captions" + (f" of {len(systems)} systems" if several else "") + origin(source)),
        Table(_scores_title(several, has_intervals), header, rows),
    ]
    if has_intervals:
        blocks += _forests(list(data.scores), systems)
    return Section("Scores", blocks)


def _scores_title(several: bool, has_intervals: bool) -> str:
    if not has_intervals:
        return "Scores"
    return "Scores with 95 % intervals" + (". Bold: its interval lies above those of all others" if several else "")


def _system_cell(scores: SystemScores, key: str, best: bool) -> Cell:
    low, high = _ends(scores, key)
    return estimate(Estimate(value=scores.scores.get(key), low=low, high=high), best=best)


def _ends(scores: SystemScores, key: str) -> tuple[float | None, float | None]:
    limits_ = (scores.intervals or {}).get(key)
    return (limits_.low, limits_.high) if limits_ else (None, None)


def origin(source: str) -> str:
    """The end of the sentence about a result: the file it is from, if it is from one."""
    return f", from {source}." if source else "."


def _forests(keys: Sequence[str], systems: Mapping[str, SystemScores]) -> list[Block]:
    told = "Images were drawn with replacement; the line holds 95 % of the draws."
    if len(systems) == 1:
        (only,) = systems.values()
        points = [Interval(key, only.scores.get(key), *_ends(only, key)) for key in keys]
        return [Figure("scores", "Scores with 95 % intervals", told, Forest(points, "score"))]
    blocks: list[Block] = []
    for key in keys:
        points = [Interval(name, each.scores.get(key), *_ends(each, key)) for name, each in systems.items()]
        blocks.append(Figure(f"scores-{key}", f"{key} of each system", told, Forest(points, key)))
    return [Folded(f"Scores of each system, drawn: {len(blocks)} figures", blocks)] if len(blocks) > 1 else blocks


def captions_section(rows: CaptionScores) -> Section:
    """From the scores of each caption."""
    scores = {name: values for name, values in rows.scores.items() if np.isfinite(values).any()}
    if not scores:
        return Section("Scores of each caption", [Text("No metric has a score for any of these captions.")])
    ranks = {name: percentiles(values) for name, values in scores.items()}
    below = [_side_by_side(rows, scores, ranks), _distributions(rows, scores)]
    if len(scores) > 1 and len(rows) > 2:
        below.append(_correlations(ranks))
    below.append(_extremes(rows, scores, ranks))
    if len(scores) > 1 and len(rows) > 2:
        below.append(_disagreements(rows, scores, ranks))
    summary = Folded("Scores of the captions, taken one by one", [_summary(rows, scores)])
    return Section("Scores of each caption", [summary], [each for each in below if each.blocks])


def _summary(rows: CaptionScores, scores: Mapping[str, Array]) -> Table:
    cells = []
    for name, values in scores.items():
        known = values[np.isfinite(values)]
        low, middle, high = np.quantile(known, [0.05, 0.5, 0.95]).tolist()
        made = [Cell("elsewhere" if name in rows.elsewhere else "here")] if rows.elsewhere else []
        cells.append([name_cell(name), *made, count(len(known)), number(float(known.mean())), number(middle),
                      number(low), number(high)])  # fmt: skip
    header = ["metric", *(["made"] if rows.elsewhere else []), "captions", "mean", "median", "5 %", "95 %"]
    return Table("Scores of the captions, taken one by one", header, cells)


def _distributions(rows: CaptionScores, scores: Mapping[str, Array]) -> Section:
    systems = np.array(rows.systems)
    names = list(dict.fromkeys(rows.systems))
    split = 1 < len(names) <= _MOST_SYSTEMS
    panels = []
    for name, values in scores.items():
        known = np.isfinite(values)
        low, high = limits(values[known])
        bins = min(24, max(6, round(2 * float(known.sum()) ** (1 / 3))))  # Rice's rule
        groups = [(system, values[known & (systems == system)]) for system in names] if split else [("", values[known])]
        shapes = [_shape(system, mine, low, high, bins) for system, mine in groups if len(mine)]
        panels.append(Panel(name, low, high, shapes, bool(values[known].max() > high)))
    more = told_of_open_ends(panels)
    if split:
        told = "The width is the share of captions; the thick line the middle half, the point the median."
        figure = Figure(
            "distributions", "Scores of the captions of each system", told + more, Violins(panels, "score by system")
        )
    else:
        told = "The share of captions with each score. The broken line is the median."
        figure = Figure(
            "distributions", "Scores of the captions", told + more, Histograms(panels, "share of captions by score")
        )
    return Section("Distributions", [figure])


def _shape(label: str, values: Array, low: float, high: float, bins: int) -> Shape:
    found = shape(values, low, high, bins)
    return Shape(label, found["rows"], found["quantiles"], found["shares"])


def percentiles(values: Array) -> Array:
    """The share of captions with a lower score, ties counted half; NaN stays."""
    known = np.isfinite(values)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    ranks = np.full(len(values), np.nan)
    ranks[known] = middle[place] / max(1, known.sum())
    return ranks


def _rank_correlation(a: Array, b: Array) -> float | None:
    both = np.isfinite(a) & np.isfinite(b)
    x, y = a[both], b[both]
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _correlations(ranks: Mapping[str, Array]) -> Section:
    found: dict[tuple[str, str], float | None] = {(name, name): 1.0 for name in ranks}
    for a, b in combinations(ranks, 2):
        found[a, b] = found[b, a] = _rank_correlation(ranks[a], ranks[b])

    names = sorted(ranks, key=lambda name: -sum(found[name, other] or 0.0 for other in ranks))
    values = [[found[a, b] for b in names] for a in names]
    figure = Figure(
        "correlation",
        "Correlation between the metrics",
        "Spearman's correlation over captions. Metrics that agree most with the others come first.",
        Heat(names, names, values, "correlation", "Spearman's correlation"),
        matrix_table("Correlation between the metrics (Spearman)", names, names, values),
    )
    return Section("Correlation between metrics", [figure])


def matrix_table(
    caption: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float | None]], digits: int = 3
) -> Table:
    cells = []
    for name, line in zip(rows, values):
        numbers = [
            Cell("") if rows == columns and name == column else number(value, digits)
            for column, value in zip(columns, line)
        ]
        cells.append([name_cell(name), *numbers])
    return Table(caption, ["", *columns], cells)


def _side_by_side(rows: CaptionScores, scores: Mapping[str, Array], ranks: Mapping[str, Array]) -> Section:
    """Pictures of which several systems speak, those first whose captions the metrics place most differently."""
    members: dict[str, dict[str, int]] = {}
    for row, (image, system) in enumerate(zip(rows.images, rows.systems)):
        members.setdefault(image, {}).setdefault(system, row)
    place = _mean_place(ranks)
    shared = {image: some for image, some in members.items() if len(some) > 1}
    gaps = {
        image: float(np.nanmax(values) - np.nanmin(values))
        for image, some in shared.items()
        if np.isfinite(values := place[list(some.values())]).any()
    }
    chosen = sorted(gaps, key=lambda image: -gaps[image])[:_SIDE_BY_SIDE]
    if not chosen:
        return Section("Systems side by side", [])
    examples = []
    for image in chosen:
        ordered = sorted(shared[image].items(), key=lambda item: -float(np.nan_to_num(place[item[1]])))
        references = rows.references.get(image, ())
        marked = mark([rows.captions[row] for _, row in ordered], [references] * len(ordered))
        spoken = [
            Spoken(system, rows.captions[row], _scores_of(scores, row), words)
            for (system, row), words in zip(ordered, marked)
        ]
        examples.append(Example("", [("image", image)], references, image=image, systems=spoken))
    told = (
        "The pictures whose captions the metrics place most differently among all captions; the system that they place "
        "highest comes first."
    )
    first, more = examples[:_OPEN], examples[_OPEN:]
    blocks: list[Block] = [Text(told), Examples(f"The first {len(first)}", first, folded=False)]
    return Section("Systems side by side", [*blocks, *([Examples(f"{len(more)} more", more)] if more else [])])


def _scores_of(scores: Mapping[str, Array], row: int) -> list[tuple[str, str]]:
    return [(name, number(float(values[row]), 3).text) for name, values in scores.items()]


def _mean_place(ranks: Mapping[str, Array]) -> Array:
    """The mean place that the metrics give each caption among the others."""
    given = np.stack(list(ranks.values()))
    counts = np.isfinite(given).sum(axis=0)
    return np.where(counts > 0, np.nansum(given, axis=0) / np.maximum(counts, 1), np.nan)


def _extremes(rows: CaptionScores, scores: Mapping[str, Array], ranks: Mapping[str, Array]) -> Section:
    """By the mean place that the metrics give a caption among the others."""
    place = _mean_place(ranks)
    order = [row for row in np.argsort(place, kind="stable").tolist() if np.isfinite(place[row])]
    size = min(_EXTREMES, len(order) // 2)

    def examples(chosen: Sequence[int]) -> list[Example]:
        return [_example(rows, row, _scores_of(scores, row)) for row in chosen]

    blocks = [
        Examples("Captions that the metrics rank highest", examples(order[::-1][:size])),
        Examples("Captions that the metrics rank lowest", examples(order[:size])),
    ]
    return Section("Best and worst captions", [block for block in blocks if block.examples])


def _disagreements(rows: CaptionScores, scores: Mapping[str, Array], ranks: Mapping[str, Array]) -> Section:
    pairs = [(a, b, _rank_correlation(ranks[a], ranks[b])) for a, b in combinations(scores, 2)]
    least = sorted((pair for pair in pairs if pair[2] is not None), key=lambda pair: pair[2] or 0.0)[:_PAIRS]
    blocks: list[Block] = []
    for a, b, together in least:
        gap = ranks[a] - ranks[b]
        order = [row for row in np.argsort(-np.abs(gap), kind="stable").tolist() if np.isfinite(gap[row])]
        chosen = [row for row in order if gap[row] > 0][:_EACH_WAY] + [row for row in order if gap[row] < 0][:_EACH_WAY]
        examples = [
            _example(
                rows,
                row,
                [
                    (name, f"{scores[name][row]:.3f}, above {100 * ranks[name][row]:.0f} % of captions")
                    for name in (a, b)
                ],
            )
            for row in chosen
        ]
        if examples:
            blocks.append(Examples(f"{a} and {b} (correlation {together:.2f})", examples))
    if blocks:
        told = "The metrics that correlate least, and the captions that they place most differently among the others."
        blocks.insert(0, Text(told))
    return Section("Where metrics disagree", blocks)


def _example(rows: CaptionScores, row: int, facts: Sequence[tuple[str, str]]) -> Example:
    origin = [("system", rows.systems[row])] if rows.systems[row] else []
    image = [("image", rows.images[row])]
    references = rows.references.get(rows.images[row], ())
    (words,) = mark([rows.captions[row]], [references])
    facts = [*origin, *image, *facts]
    return Example(rows.captions[row], facts, references, image=rows.images[row], words=words)
