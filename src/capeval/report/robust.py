"""Sections of robustness: curves, choices between two captions, and what metrics make of changed captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.report.blocks import (
    Block,
    Cell,
    Example,
    Examples,
    Figure,
    Section,
    Table,
    Text,
    estimate,
    name_cell,
    number,
)
from capeval.report.charts import Curves, Heat
from capeval.report.plain import matrix_table, origin

Row = Mapping[str, Any]

TITLES = {
    "robust-curves": "Robustness",
    "robust-distractors": "Distractors",
    "robust-components": "Component sensitivity",
    "robust-probe": "Synonyms, redundancy and word order",
    "robust-attacks": "Attacks",
}
_NO_ESTIMATE = ("metric", "signature", "rows", "left_out", "ties", "mean")


def robust_section(data: Row, source: str) -> Section:
    """From a result of `capeval robust`; its `kind` says which."""
    kind = str(data["kind"])
    what = f"{data['captions']:,} captions" if "captions" in data else f"{data['pairs']:,} pairs"
    told = Text(f"{what} of {data['images']:,} images, seed {data['seed']}{origin(source)}")
    title = TITLES.get(kind, kind)
    if kind == "robust-curves":
        blocks = _curves(data)
    elif "categories" in data:
        blocks = _choices(data, kind, title)
    elif "versions" in data or "attacks" in data:
        blocks = _changes(data, "versions" if "versions" in data else "attacks")
    else:
        raise KeyError("categories, versions or attacks")
    return Section(title, [told, *blocks])


def _curves(data: Row) -> list[Block]:
    metrics: Sequence[Row] = data["metrics"]
    rows = [
        [name_cell(str(row["metric"])), number(row["untouched"])]
        + [number(row["curves"][name]["R"], 3) for name in data["transforms"]]
        for row in metrics
    ]
    header = ["metric", "untouched score", *(f"R, {name.upper()}" for name in data["transforms"])]
    blocks: list[Block] = [
        Text(
            "Captions are made worse step by step (gamma), and their score is divided by that of the untouched ones. "
            "R is the area below the curve: a robust metric falls soon, so lower is better."
        ),
        Table("Robustness R of each metric", header, rows),
    ]
    for name, meaning in data["transforms"].items():
        found = {str(row["metric"]): row["curves"][name] for row in metrics}
        ordered = sorted(found.items(), key=lambda item: float("inf") if item[1]["R"] is None else item[1]["R"])
        lines = {
            metric + ("" if each["R"] is None else f"  R = {each['R']:.3f}"): each["normalised"]
            for metric, each in ordered
        }
        blocks.append(
            Figure(
                f"robust-{name}",
                f"{name.upper()}: {meaning}",
                "The score as a share of that of the untouched captions; the metric with the lowest R comes first.",
                Curves(data["gammas"], lines, "gamma", "normalised score"),
                Table(
                    f"Normalised scores, {name.upper()}",
                    ["metric", *(f"{gamma:g}" for gamma in data["gammas"])],
                    [
                        [name_cell(metric), *(number(value, 3) for value in each["normalised"])]
                        for metric, each in ordered
                    ],
                ),
            )
        )
    return blocks


def _choices(data: Row, kind: str, title: str) -> list[Block]:
    """The better one of two captions, by category."""
    metrics: Sequence[Row] = data["metrics"]
    columns = list(dict.fromkeys(key for row in metrics for key in row if _is_estimate(key, row[key])))
    columns = [*columns, *(["mean"] if any("mean" in row for row in metrics) else [])]
    ordered = sorted(metrics, key=lambda row: -((row.get("mean") or {}).get("value") or 0.0))
    names = [str(row["metric"]) for row in ordered]
    nothing: dict[str, float | None] = {"value": None}
    values: list[list[float | None]] = [[(row.get(key) or nothing)["value"] for key in columns] for row in ordered]
    words = [key.replace("_", " ") for key in columns]
    best = [max((value for value in column if value is not None), default=None) for column in zip(*values)]
    cells = [
        [name_cell(name)]
        + [
            estimate(row.get(key) or nothing, 2, len(values) > 1 and line[i] is not None and line[i] == best[i])
            for i, key in enumerate(columns)
        ]
        for name, row, line in zip(names, ordered, values)
    ]
    blocks: list[Block] = [
        Figure(
            kind,
            f"{title}: how often a metric prefers the right caption",
            "In per cent; 50 is guessing. Metrics are listed by their mean.",
            Heat(names, words, values, "percent", "pairs decided rightly (%)"),
            Table("Pairs decided rightly (%), with 95 % intervals", ["metric", *words], cells),
        )
    ]
    examples = []
    for each in data.get("examples") or ():
        category = [("category", str(each["category"]).replace("_", " "))]
        examples.append(Example(str(each["right"]), category, (), str(each["wrong"]), ("right", "wrong")))
    if examples:
        blocks.append(Examples("What the pairs look like", examples, folded=True))
    return blocks


def _is_estimate(key: str, value: Any) -> bool:
    return key not in _NO_ESTIMATE and isinstance(value, Mapping) and "value" in value


def _changes(data: Row, place: str) -> list[Block]:
    """Scores of changed captions beside those of the same captions untouched."""
    kinds: Mapping[str, Any] = data[place]
    listed = [name for name in kinds if any(name in row[place] for row in data["metrics"])]
    rows = []
    for row in data["metrics"]:
        line = [name_cell(str(row["metric"])), number(row["untouched"])]
        for name in listed:
            each = row[place].get(name) or {}
            line.append(_changed_cell(each))
        rows.append(line)
    words = [name.replace("_", " ") for name in listed]
    blocks: list[Block] = [
        Table(
            "Mean score of the changed captions, and the change in per cent of the untouched ones",
            ["metric", "untouched", *words],
            rows,
        )
    ]
    meanings = [[Cell(name.replace("_", " ")), Cell(str(kinds[name]))] for name in listed]
    if any(isinstance(kinds[name], str) for name in listed):
        blocks.append(Table("What was done", ["change", "meaning"], meanings))
    blocks += _not_lower(data, place, listed)
    shown = []
    for each in data.get("examples") or ():
        versions = [(name.replace("_", " "), str(each[name])) for name in listed if each.get(name)]
        shown.append(Example(str(each.get("untouched", "")), versions))
    if shown:
        blocks.append(Examples("What the changed captions look like", shown, folded=True))
    return blocks


def _changed_cell(each: Row) -> Cell:
    value, relative = each.get("score"), each.get("relative")
    if value is None:
        return Cell("–")
    return Cell(f"{value:.4f}" + ("" if relative is None else f" ({round(100 * relative - 100):+d} %)"), value)


def _not_lower(data: Row, place: str, listed: Sequence[str]) -> list[Block]:
    values = [[(row[place].get(name) or {}).get("not_lower") for name in listed] for row in data["metrics"]]
    if all(value is None for line in values for value in line):
        return []
    names, words = [str(row["metric"]) for row in data["metrics"]], [name.replace("_", " ") for name in listed]
    return [
        Figure(
            "robust-attacks",
            "Captions whose score an attack does not lower",
            "In per cent of the captions; the lower, the better the metric withstands.",
            Heat(names, words, values, "share", "captions with a score not lower than before (%)"),
            matrix_table("Captions whose score does not fall (%)", names, words, values, 1),
        )
    ]
