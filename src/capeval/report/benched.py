"""Sections of a benchmark: how well metrics agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.report.analysed import analysis_sections
from capeval.report.blocks import (
    Block,
    Cell,
    Figure,
    Section,
    Table,
    Text,
    count,
    estimate,
    name_cell,
    number,
)
from capeval.report.charts import Curves, Forest, Heat, Interval
from capeval.report.plain import matrix_table, origin

WORDS = {
    "kendall_c": "Kendall tau-c",
    "kendall_b": "Kendall tau-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "mean": "mean accuracy (%)",
}
_COMBINATIONS = 12
Row = Mapping[str, Any]


def benchmark_section(data: Row, source: str) -> Section:
    """From the result of `capeval bench run`."""
    name = data["benchmark"]
    told = f"{data['rows']:,} rows{origin(source)}"
    if data.get("pictures") is not None:
        told += f" Pictures of {data['pictures']:,} images were looked at."
    if data.get("citation"):
        told += f" Judgements: {data['citation']}"
    analysis = data.get("analysis") or [{}] * len(data["comparisons"])
    parts = [
        _part(name, [row for row in data["metrics"] if _tag(each).items() <= row.items()], each, more)
        for each, more in zip(data["comparisons"], analysis)
    ]
    if len(parts) == 1:
        return Section(name, [Text(told), *parts[0].blocks], parts[0].sections)
    return Section(name, [Text(told)], parts)


def _tag(comparisons: Row) -> dict[str, str]:
    """The variant that the part was run as."""
    return {key: value for key, value in comparisons.items() if isinstance(value, str) and key != "statistic"}


def _part(benchmark: str, rows: Sequence[Row], comparisons: Row, analysis: Row) -> Section:
    tag = _tag(comparisons)
    title = f"{benchmark}, {', '.join(f'{key}: {value}' for key, value in tag.items())}" if tag else benchmark
    slug = "-".join([benchmark, *tag.values()])
    main = comparisons.get("statistic") or ""
    columns = _estimates(rows)
    blocks: list[Block] = [_agreement_table(rows, columns)]
    for key in [main] if main in columns else [key for key in columns if key.endswith("pearson")]:
        blocks.append(_forest(rows, key, slug))
    if mean := _mean_judgement_table(rows):
        blocks.append(mean)
    order = _by_agreement(rows, main or next(iter(columns), ""))
    names = [name for name in order if name in comparisons["names"]]
    grades, errors, disagreements = analysis_sections(analysis, order, slug)
    below = [
        Section("Significance", _significance(comparisons, names, slug)),
        Section("Correlation between metrics", _between(comparisons, names, slug)),
        grades,
        errors,
        Section("Number of references", _by_references(comparisons, slug)),
        Section("Best combinations", _combinations(comparisons)),
        disagreements,
    ]
    return Section(title, blocks, [each for each in below if each.blocks])


def _word(key: str) -> str:
    if " " in key:
        measure, statistic = key.split(" ", 1)
        return f"{measure.upper()}: {WORDS.get(statistic, statistic)}"
    return WORDS.get(key, key.upper() if len(key) == 2 else key)


def _is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and "value" in value


def _flat(row: Row) -> dict[str, dict[str, Any]]:
    """The estimates of a row; those of M1 and M2 are one level deeper."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in row.items():
        if _is_estimate(value):
            found[key] = value
        elif isinstance(value, dict):
            found |= {f"{key} {inner}": each for inner, each in value.items() if _is_estimate(each)}
    return found


def _estimates(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in _flat(row)))


def _value(row: Row, key: str) -> float | None:
    return _flat(row).get(key, {}).get("value")


def _by_agreement(rows: Sequence[Row], key: str) -> list[str]:
    def less(row: Row) -> float:
        value = _value(row, key)
        return float("inf") if value is None else -value

    return [str(row["metric"]) for row in sorted(rows, key=less)]


def _agreement_table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    best = {
        key: max((value for row in rows if (value := _value(row, key)) is not None), default=None) for key in columns
    }
    extra = [key for key in ("left_out", "ties", "seen") if any(row.get(key) for row in rows)]
    cells = []
    for row in rows:
        found = _flat(row)
        line = [name_cell(str(row["metric"])), count(row["rows"])]
        for key in columns:
            one = found.get(key, {"value": None})
            is_best = len(rows) > 1 and one["value"] is not None and one["value"] == best[key]
            line.append(estimate(one, 2 if "spread" in one else 4, is_best))
        for key in extra:
            value = row.get(key)
            line.append(Cell(", ".join(value or ())) if key == "seen" else count(value or 0))
        cells.append(line)
    words = {"left_out": "left out", "seen": "has seen in training"}
    header = ["metric", "rows", *map(_word, columns), *(words.get(key, key) for key in extra)]
    return Table("Agreement with people, with 95 % intervals (images resampled)", header, cells)


def _mean_judgement_table(rows: Sequence[Row]) -> Table | None:
    keys = list(dict.fromkeys(key for row in rows for key in row.get("mean_judgement") or ()))
    if not keys:
        return None
    cells = [
        [name_cell(str(row["metric"])), *(number((row.get("mean_judgement") or {}).get(key)) for key in keys)]
        for row in rows
    ]
    return Table("Agreement with the mean judgement of each caption", ["metric", *map(_word, keys)], cells)


def _forest(rows: Sequence[Row], key: str, slug: str) -> Figure:
    points = []
    for row in sorted(rows, key=lambda row: -(_value(row, key) or 0.0)):
        found = _flat(row).get(key, {})
        points.append(Interval(str(row["metric"]), found.get("value"), found.get("low"), found.get("high")))
    digits = 1 if any("spread" in _flat(row).get(key, {}) for row in rows) else 3
    told = "The line holds 95 % of the resamples. Overlapping lines do not mean equal metrics: see the tests of pairs."
    return Figure(
        f"{slug}-agreement-{key.replace(' ', '-')}", f"Agreement with people, {_word(key)}", told,
        Forest(points, _word(key), digits=digits),
    )  # fmt: skip


def _ordered(
    matrix: Sequence[Sequence[float | None]], given: Sequence[str], names: Sequence[str]
) -> list[list[float | None]]:
    places = [given.index(name) for name in names]
    return [[matrix[i][j] for j in places] for i in places]


def _significance(comparisons: Row, names: Sequence[str], slug: str) -> list[Block]:
    kinds = {
        "p_bootstrap_holm": (
            f"Is the difference in {_word(comparisons.get('statistic', ''))} more than chance?",
            "p-values of no difference for each two metrics: paired bootstrap over images, corrected by Holm's method.",
        ),
        "p_williams": (
            "Williams' test of each two metrics",
            "Two-sided p-values of equal Pearson correlations with people. The test takes the judgements for "
            "independent, and they are not where an image has several captions: trust the bootstrap more.",
        ),
    }
    blocks: list[Block] = []
    for key, (title, told) in kinds.items():
        if key in comparisons:
            values = _ordered(comparisons[key], comparisons["names"], names)
            short = "bootstrap" if "bootstrap" in key else "williams"
            if short == "bootstrap" and min((p for line in values for p in line if p is not None), default=1) >= 0.05:
                told += " Few resamples keep corrected p-values above a limit; more of them (--resamples) tell more."
            table = matrix_table(f"p-values ({short})", names, names, values)
            blocks.append(Figure(f"{slug}-{short}", title, told, Heat(names, names, values, "p", "p-value"), table))
    return blocks


def _between(comparisons: Row, names: Sequence[str], slug: str) -> list[Block]:
    if "spearman_between_metrics" not in comparisons:
        return []
    values = _ordered(comparisons["spearman_between_metrics"], comparisons["names"], names)
    told = "Spearman's correlation over captions. The metrics that agree best with people come first."
    return [
        Figure(
            f"{slug}-correlation", "Correlation between the metrics", told,
            Heat(names, names, values, "correlation", "Spearman's correlation"),
            matrix_table("Correlation between the metrics (Spearman)", names, names, values),
        )
    ]  # fmt: skip


def _by_references(comparisons: Row, slug: str) -> list[Block]:
    found = comparisons.get("by_references")
    if not found:
        return []
    counts, curves = found["counts"], found["mean"]
    lines = dict(sorted(curves.items(), key=lambda item: -(item[1][-1] or 0.0)))
    rows = [[name_cell(name), *(number(value, 2) for value in values)] for name, values in lines.items()]
    return [
        Figure(
            f"{slug}-references", "Accuracy against the number of references",
            "Mean over the categories, in per cent. Metrics are listed by their accuracy with most references.",
            Curves(counts, lines, "references", "mean accuracy (%)"),
            Table("Mean accuracy (%) by number of references", ["metric", *map(str, counts)], rows),
        )
    ]  # fmt: skip


def _combinations(comparisons: Row) -> list[Block]:
    found = comparisons.get("combinations")
    if not found:
        return []
    rows = [[Cell(" + ".join(each["metrics"]), code=True), number(each["value"])] for each in found[:_COMBINATIONS]]
    word = _word(comparisons.get("statistic", ""))
    return [
        Text(
            f"Each metric is scaled to [0, 1] and added; the best {len(rows)} of {len(found):,} combinations. They "
            "were chosen on these judgements, so expect a little less on others."
        ),
        Table("Best combinations of metrics", ["metrics", word], rows),
    ]
