"""Sections of robustness: curves, choices between two captions, and what metrics make of changed captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.documents.types import (
    Attack,
    AttacksDocument,
    Change,
    ChoicesDocument,
    CurvesDocument,
    MetricRow,
    ProbeDocument,
    RobustDocument,
)
from capeval.report.blocks import (
    Block,
    Cell,
    Example,
    Examples,
    Figure,
    Section,
    Table,
    Text,
    clear_winner,
    estimate,
    name_cell,
    number,
)
from capeval.report.charts import Curves, Heat
from capeval.report.plain import matrix_table, origin

TITLES = {
    "robust-curves": "Robustness",
    "robust-distractors": "Distractors",
    "robust-components": "Component sensitivity",
    "robust-probe": "Synonyms, redundancy and word order",
    "robust-attacks": "Attacks",
}


def robust_section(data: RobustDocument, source: str) -> Section:
    """From a result of `capeval robust`."""
    about = f"of {data.images:,} images, seed {data.seed}{origin(source)}"
    if isinstance(data, CurvesDocument):
        return Section(TITLES[data.kind], [Text(f"{data.captions:,} captions {about}"), *_curves(data)])
    if isinstance(data, ChoicesDocument):
        return Section(TITLES[data.kind], [Text(f"{data.pairs:,} pairs {about}"), *_choices(data, TITLES[data.kind])])
    if isinstance(data, ProbeDocument):
        return Section(TITLES[data.kind], [Text(f"{data.captions:,} captions {about}"), *_probe(data)])
    if isinstance(data, AttacksDocument):
        return Section(TITLES[data.kind], [Text(f"{data.captions:,} captions {about}"), *_attacks(data)])
    raise TypeError(f"there is no section for {type(data).__name__}")


def _curves(data: CurvesDocument) -> list[Block]:
    rows = [
        [name_cell(row.metric), number(row.untouched), *(number(row.curves[name].R, 3) for name in data.transforms)]
        for row in data.metrics
    ]
    header = ["metric", "untouched score", *(f"R, {name.upper()}" for name in data.transforms)]
    blocks: list[Block] = [
        Text(
            "Captions are made worse step by step (gamma), and their score is divided by that of the untouched ones. "
            "R is the area below the curve: the score of a robust metric falls early, so lower is better."
        ),
        Table("Robustness R of each metric", header, rows),
    ]
    for name, meaning in data.transforms.items():
        found = {row.metric: row.curves[name] for row in data.metrics}
        ordered = sorted(found.items(), key=lambda item: float("inf") if item[1].R is None else item[1].R)
        lines = {
            metric + ("" if each.R is None else f"  R = {each.R:.3f}"): each.normalised for metric, each in ordered
        }
        blocks.append(
            Figure(
                f"robust-{name}",
                f"{name.upper()}: {meaning}",
                "The score as a share of that of the untouched captions; the metric with the lowest R comes first.",
                Curves(data.gammas, lines, "gamma", "normalised score"),
                Table(
                    f"Normalised scores, {name.upper()}",
                    ["metric", *(f"{gamma:g}" for gamma in data.gammas)],
                    [[name_cell(metric), *(number(value, 3) for value in each.normalised)] for metric, each in ordered],
                ),
            )
        )
    return blocks


def _choices(data: ChoicesDocument, title: str) -> list[Block]:
    """The better one of two captions, by category."""
    keys = dict.fromkeys(key for row in data.metrics for key in row.estimates)
    columns = [*(key for key in keys if key != "mean"), *(["mean"] if "mean" in keys else [])]
    ordered = sorted(data.metrics, key=lambda row: -(_value(row, "mean") or 0.0))
    names = [row.metric for row in ordered]
    values = [[_value(row, key) for key in columns] for row in ordered]
    words = [key.replace("_", " ") for key in columns]
    best = [clear_winner([row.estimates.get(key) for row in ordered]) for key in columns]
    cells = [
        [name_cell(row.metric)]
        + [estimate(row.estimates.get(key), 2, place == best[i]) for i, key in enumerate(columns)]
        for place, row in enumerate(ordered)
    ]
    blocks: list[Block] = [
        Figure(
            data.kind,
            f"{title}: how often a metric prefers the right caption",
            "In per cent; 50 is guessing. Metrics are listed by their mean.",
            Heat(names, words, values, "percent", "pairs decided correctly (%)"),
            Table("Pairs decided correctly (%), with 95 % intervals", ["metric", *words], cells),
        )
    ]
    examples = [
        Example(each.right, [("category", each.category.replace("_", " "))], (), each.wrong, ("right", "wrong"))
        for each in data.examples or ()
    ]
    if examples:
        blocks.append(Examples("What the pairs look like", examples, folded=True))
    return blocks


def _value(row: MetricRow, key: str) -> float | None:
    found = row.estimates.get(key)
    return found.value if found else None


def _probe(data: ProbeDocument) -> list[Block]:
    listed = [name for name in data.versions if any(name in row.versions for row in data.metrics)]
    blocks = _changes([(row.metric, row.untouched, row.versions) for row in data.metrics], listed, data.versions)
    shown = [
        Example(
            each.get("untouched") or "", [(name.replace("_", " "), text) for name in listed if (text := each.get(name))]
        )
        for each in data.examples or ()
    ]
    if shown:
        blocks.append(Examples("What the changed captions look like", shown, folded=True))
    return blocks


def _attacks(data: AttacksDocument) -> list[Block]:
    listed = [name for name in data.attacks if any(name in row.attacks for row in data.metrics)]
    blocks = _changes([(row.metric, row.untouched, row.attacks) for row in data.metrics], listed, data.attacks)
    values = [[_not_lower(row.attacks.get(name)) for name in listed] for row in data.metrics]
    if all(value is None for line in values for value in line):
        return blocks
    names, words = [row.metric for row in data.metrics], [name.replace("_", " ") for name in listed]
    figure = Figure(
        "robust-attacks",
        "Captions whose score an attack does not lower",
        "In per cent of the captions; the lower, the more robust the metric.",
        Heat(names, words, values, "share", "captions with a score not lower than before (%)"),
        matrix_table("Captions whose score does not fall (%)", names, words, values, 1),
    )
    return [*blocks, figure]


def _not_lower(found: Attack | None) -> float | None:
    return found.not_lower if found else None


def _changes(
    metrics: Sequence[tuple[str, float | None, Mapping[str, Change | Attack]]],
    listed: Sequence[str],
    meanings: Mapping[str, str],
) -> list[Block]:
    """Scores of changed captions beside those of the same captions untouched."""
    rows = [
        [name_cell(metric), number(untouched), *(_changed_cell(found.get(name)) for name in listed)]
        for metric, untouched, found in metrics
    ]
    words = [name.replace("_", " ") for name in listed]
    blocks: list[Block] = [
        Table(
            "Mean score of the changed captions, and the change in per cent of the untouched ones",
            ["metric", "untouched", *words],
            rows,
        )
    ]
    if listed:
        meant = [[Cell(word), Cell(meanings[name])] for word, name in zip(words, listed)]
        blocks.append(Table("What was done", ["change", "meaning"], meant))
    return blocks


def _changed_cell(each: Change | Attack | None) -> Cell:
    if each is None or each.score is None:
        return Cell("–")
    change = "" if each.relative is None else f" ({round(100 * each.relative - 100):+d} %)"
    return Cell(f"{each.score:.4f}{change}", each.score)
