"""Sections of a benchmark: how well metrics agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capeval.documents.types import Analysis, BenchDocument, ByReferences, Comparisons, Estimate, Matrix, MetricRow
from capeval.report.analysed import analysis_sections
from capeval.report.blocks import (
    Block,
    Cell,
    Figure,
    Section,
    Table,
    Text,
    clear_winner,
    count,
    estimate,
    name_cell,
    number,
    p_value,
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
_NONE = Estimate(value=None, low=None, high=None)


def benchmark_section(data: BenchDocument, source: str) -> Section:
    """From the result of `capeval bench run`."""
    told = f"{data.rows:,} rows{origin(source)}"
    if data.human is not None:
        told += f" People's judgement is `{data.human}`."
    if data.pictures is not None:
        told += f" Pictures of {data.pictures:,} images were looked at."
    if data.pictured:
        told += " Only rows whose picture is there were used, for every metric."
    if data.citation:
        told += f" Judgements: {data.citation}"
    analysis = data.analysis or [Analysis()] * len(data.comparisons)
    parts = [
        _part(data.benchmark, [row for row in data.metrics if each.tags.items() <= row.tags.items()], each, more)
        for each, more in zip(data.comparisons, analysis)
    ]
    if len(parts) == 1:
        return Section(data.benchmark, [Text(told), *parts[0].blocks], parts[0].sections)
    return Section(data.benchmark, [Text(told)], parts)


def _part(benchmark: str, rows: Sequence[MetricRow], comparisons: Comparisons, analysis: Analysis) -> Section:
    tags = comparisons.tags
    title = ", ".join([benchmark, *(f"{key}: {value}" for key, value in tags.items())])
    slug = "-".join([benchmark, *tags.values()])
    main = comparisons.statistic
    columns = list(dict.fromkeys(key for row in rows for key in row.flat()))
    blocks: list[Block] = [_agreement_table(rows, columns)]
    if comparisons.papers:
        blocks.append(Text(f"Made as in the tables of {', '.join(comparisons.papers)}."))
    for key in [main] if main in columns else [key for key in columns if key.endswith("pearson")]:
        blocks.append(_forest(rows, key, slug))
    blocks += [each for each in (_pairs_table(rows), _mean_judgement_table(rows), _system_table(rows)) if each]
    order = _by_agreement(rows, main or next(iter(columns), ""))
    names = [name for name in order if name in comparisons.names]
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


def word_for(key: str) -> str:
    if " " in key:
        measure, statistic = key.split(" ", 1)
        return f"{measure.upper()}: {WORDS.get(statistic, statistic)}"
    return WORDS.get(key, key.upper() if len(key) == 2 else key)


def _value(row: MetricRow, key: str) -> float | None:
    found = row.flat().get(key)
    return found.value if found else None


def _by_agreement(rows: Sequence[MetricRow], key: str) -> list[str]:
    def less(row: MetricRow) -> float:
        value = _value(row, key)
        return float("inf") if value is None else -value

    return [row.metric for row in sorted(rows, key=less)]


def _agreement_table(rows: Sequence[MetricRow], columns: Sequence[str]) -> Table:
    # A metric that has seen the benchmark wins nothing on it.
    best = {key: clear_winner([None if row.seen else row.flat().get(key) for row in rows]) for key in columns}
    has_left_out, has_ties, has_worst, has_seen = (
        any(r.left_out for r in rows),
        any(r.ties for r in rows),
        any(r.worst_kind for r in rows),
        any(r.seen for r in rows),
    )
    has_best = any(row.best is not None for row in rows)
    cells = []
    for place, row in enumerate(rows):
        line = [name_cell(row.metric), *([Cell("yes" if row.best else "")] if has_best else []), count(row.rows)]
        for key in columns:
            one = row.flat().get(key)
            line.append(estimate(one, 2 if one is not None and one.is_percentage else 4, best[key] == place))
        line += [count(row.left_out)] if has_left_out else []
        line += [count(row.ties or 0)] if has_ties else []
        line += [Cell(row.worst_kind or "")] if has_worst else []
        line += [Cell(", ".join(row.seen or ()))] if has_seen else []
        cells.append(line)
    header = [
        "metric",
        *(["may be best"] if has_best else []),
        "rows",
        *map(word_for, columns),
        *(["left out"] if has_left_out else []),
        *(["ties"] if has_ties else []),
        *(["worst kind"] if has_worst else []),
        *(["has seen in training"] if has_seen else []),
    ]
    told = "Agreement with people, with 95 % intervals (images resampled)"
    if has_best:
        told += "; the metrics that may be best cannot be told apart from the first one"
    return Table(told, header, cells)


def _pairs_table(rows: Sequence[MetricRow]) -> Table | None:
    keys = list(dict.fromkeys(key for row in rows for key, each in row.estimates.items() if each.is_percentage))
    keys = [key for key in keys if key != "mean"]
    scored = [[_pairs_scored(row, key) for key in keys] for row in rows]
    if len(keys) < 2 or len({each for line in scored for each in line if each is not None}) < 2:
        return None  # every kind has as many
    cells = [
        [name_cell(row.metric), *(Cell("") if each is None else count(each) for each in line)]
        for row, line in zip(rows, scored)
    ]
    return Table("Pairs of each kind that were scored", ["metric", *map(word_for, keys)], cells)


def _pairs_scored(row: MetricRow, kind: str) -> int | None:
    found = row.estimates.get(kind)
    return found.n if found is not None and isinstance(found.n, int) else None


def _mean_judgement_table(rows: Sequence[MetricRow]) -> Table | None:
    keys = list(dict.fromkeys(key for row in rows for key in row.mean_judgement or ()))
    if not keys:
        return None
    cells = [[name_cell(row.metric), *(number((row.mean_judgement or {}).get(key)) for key in keys)] for row in rows]
    return Table("Agreement with the mean judgement of each caption", ["metric", *map(word_for, keys)], cells)


def _system_table(rows: Sequence[MetricRow]) -> Table | None:
    found = [(row.metric, row.system_level) for row in rows if row.system_level]
    if not found:
        return None
    keys = [key for key in found[0][1] if key != "systems"]
    cells = [
        [name_cell(metric), count(level["systems"] or 0), *(number(level.get(key)) for key in keys)]
        for metric, level in found
    ]
    title = "Agreement over systems: scores of their captions together, and their mean judgement"
    return Table(title, ["metric", "systems", *map(word_for, keys)], cells)


def _forest(rows: Sequence[MetricRow], key: str, slug: str) -> Figure:
    found = [(row.metric, row.flat().get(key) or _NONE) for row in rows]
    points = [
        Interval(metric, each.value, each.low, each.high)
        for metric, each in sorted(found, key=lambda item: -(item[1].value or 0.0))
    ]
    digits = 1 if any(each.is_percentage for _, each in found) else 3
    told = "The line holds 95 % of the resamples. Overlapping lines do not mean equal metrics: see the tests of pairs."
    return Figure(
        f"{slug}-agreement-{key.replace(' ', '-')}", f"Agreement with people, {word_for(key)}", told,
        Forest(points, word_for(key), digits=digits),
    )  # fmt: skip


def _ordered(
    matrix: Sequence[Sequence[float | None]], given: Sequence[str], names: Sequence[str]
) -> list[list[float | None]]:
    places = [given.index(name) for name in names]
    return [[matrix[i][j] for j in places] for i in places]


def _significance(comparisons: Comparisons, names: Sequence[str], slug: str) -> list[Block]:
    blocks: list[Block] = []
    if comparisons.p_bootstrap_holm is not None:
        values = _ordered(comparisons.p_bootstrap_holm, comparisons.names, names)
        told = (
            "p-values of no difference for each pair of metrics: paired bootstrap over images, with Holm's correction."
        )
        if min((p for line in values for p in line if p is not None), default=1) >= 0.05:
            told += " With few resamples corrected p-values cannot be small: more resamples tell more."
        if comparisons.resamples is not None:
            told += f" {comparisons.resamples:,} resamples."
        title = f"Is the difference in {word_for(comparisons.statistic)} more than chance?"
        blocks.append(_p_values("bootstrap", title, told, names, values, slug))
    if comparisons.p_williams is not None:
        values = _ordered(comparisons.p_williams, comparisons.names, names)
        told = (
            "Two-sided p-values of equal Pearson correlations with people. The test treats judgements as "
            "independent, which they are not where an image has several captions: trust the bootstrap more."
        )
        blocks.append(_p_values("williams", "Williams' test of each pair of metrics", told, names, values, slug))
    return blocks


def _p_values(kind: str, title: str, told: str, names: Sequence[str], values: Matrix, slug: str) -> Figure:
    table = matrix_table(f"p-values ({kind})", names, names, values)
    return Figure(f"{slug}-{kind}", title, told, Heat(names, names, values, "p", "p-value"), table)


def _between(comparisons: Comparisons, names: Sequence[str], slug: str) -> list[Block]:
    if comparisons.spearman_between_metrics is None:
        return []
    values = _ordered(comparisons.spearman_between_metrics, comparisons.names, names)
    told = "Spearman's correlation over captions. The metrics that agree best with people come first."
    return [
        Figure(
            f"{slug}-correlation", "Correlation between the metrics", told,
            Heat(names, names, values, "correlation", "Spearman's correlation"),
            matrix_table("Correlation between the metrics (Spearman)", names, names, values),
        )
    ]  # fmt: skip


def _by_references(comparisons: Comparisons, slug: str) -> list[Block]:
    found = comparisons.by_references
    if found is None:
        return []
    told = "Mean over the categories, in per cent. Metrics are listed by their accuracy with the most references."
    blocks: list[Block] = [_accuracy_curves(found, found.mean, "mean accuracy (%)", told, f"{slug}-references")]
    if found.lost:
        blocks.append(_lost_table(found))
    if len(found.categories) > 1:
        blocks += [
            _accuracy_curves(found, curves, f"accuracy (%), {word_for(key)}", "", f"{slug}-references-{key}")
            for key, curves in found.categories.items()
        ]
    return blocks


def _accuracy_curves(
    found: ByReferences, curves: Mapping[str, Sequence[float | None]], what: str, told: str, name: str
) -> Figure:
    lines = dict(sorted(curves.items(), key=lambda item: -(item[1][-1] or 0.0)))
    rows = [[name_cell(metric), *(number(value, 2) for value in values)] for metric, values in lines.items()]
    return Figure(
        name, f"{what[0].upper()}{what[1:]} against the number of references", told,
        Curves(found.counts, lines, "references", what),
        Table(f"{what[0].upper()}{what[1:]} by number of references", ["metric", *map(str, found.counts)], rows),
    )  # fmt: skip


def _lost_table(found: ByReferences) -> Table:
    ordered = sorted(found.lost.items(), key=lambda item: item[1].value or 0.0)
    fewest, most = min(found.counts), max(found.counts)
    title = f"Mean accuracy that is lost from {most} references to {fewest}, in points"
    return Table(title, ["metric", "lost"], [[name_cell(name), estimate(each, 2)] for name, each in ordered])


def _combinations(comparisons: Comparisons) -> list[Block]:
    found = comparisons.combinations
    if not found:
        return []
    first = found[:_COMBINATIONS]
    told = f"Each metric is scaled to [0, 1] and added; the best {len(first)} of {len(found):,} combinations. "
    header = ["metrics", word_for(comparisons.statistic)]
    if comparisons.chosen_on is None:
        told += "They were chosen on these judgements, so expect a little less on others."
    else:
        told += f"They were chosen on {comparisons.chosen_on} and measured here."
        header.append(f"on {comparisons.chosen_on}")
    if has_tests := any(each.p_williams is not None for each in first):
        told += " Williams' test is against the best single metric."
        header.append("p (Williams)")
    rows = [
        [
            Cell(" + ".join(each.metrics), code=True),
            estimate(Estimate(value=each.value, low=each.low, high=each.high)),
            *([number(each.chosen)] if comparisons.chosen_on is not None else []),
            *([p_value(each.p_williams)] if has_tests else []),
        ]
        for each in first
    ]
    return [Text(told), Table("Best combinations of metrics", header, rows)]
