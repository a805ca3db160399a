"""Reports from results: what is read, what is refused, and the other forms: LaTeX, Markdown and figure files."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.errors import CapevalError, DataError, MissingExtra
from capeval.report import CaptionScores, report
from capeval.report.blocks import Cell, Figure, Section, Table
from capeval.report.charts import Curves, Forest, Heat, Histograms, Interval, describe
from capeval.report.inputs import read_caption_scores
from capeval.report.tables import escape_latex, latex, markdown

ROW = {"id": "1", "image": "1", "candidate": "a dog", "scores": {"bleu_1": 0.5}}


def captions(**more: Any) -> CaptionScores:
    fields: dict[str, Any] = {
        "name": "each",
        "ids": ["1", "2", "3"],
        "images": ["1", "2", "3"],
        "systems": ["", "", ""],
        "captions": ["a dog", "a cat", "a cow"],
        "scores": {"bleu_1": np.array([0.1, 0.2, 0.3])},
    }
    return CaptionScores(**fields | more)


def test_files_are_known_by_their_content(tmp_path: Path, rated: dict[str, Any], compared: dict[str, Any]) -> None:
    for name, data in (("bench.json", rated), ("compare.json", compared)):
        (tmp_path / name).write_text(json.dumps(data))
    (tmp_path / "each.jsonl").write_text(json.dumps(ROW) + "\n")
    made = report([tmp_path / "bench.json", tmp_path / "compare.json", tmp_path / "each.jsonl"])
    assert [section.title for section in made.sections] == [
        "flickr8k-expert", "Comparison", "Scores of each caption", "How it was made",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "broken JSON"),
        ("a.json", "[1]", "not the result of a command"),
        ("a.json", '{"x": 1}', "not a result that a report can show"),
        ("a.json", '{"scores": {"x": NaN}}', "NaN is not a JSON number"),
        ("a.json", '{"n": 1, "scores": {"x": 1e999}}', "1e999 is too large"),
        ("a.json", '{"benchmark": "x", "rows": 3}', "not as capeval wrote it: Object missing required field `metrics`"),
        ("a.json", '{"scores": {"x": 1}}', "not as capeval wrote it: Object missing required field `n`"),
        ("a.json", '{"kind": "robust-new", "captions": 1, "images": 1, "seed": 0}', "does not know: robust-new"),
        ("a.json", '{"schema": "capeval.score/2", "n": 1}', "made by a newer capeval"),
        ("a.jsonl", "", "no rows"),
        ("a.jsonl", '{"id": "1", "clip": 0.3}', "no `candidate`"),
        ("a.jsonl", json.dumps(ROW) + "\n" + json.dumps(ROW), "line 2: the same id twice"),
        (
            "a.jsonl",
            json.dumps(ROW) + "\n" + json.dumps(ROW | {"id": "2", "scores": {"x": 1}}),
            "line 2: the row has other scores",
        ),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=re.escape(said)) as problem:
        report(tmp_path / name)
    assert name in str(problem.value)


def test_a_missing_file_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        report(tmp_path / "none.json")
    with pytest.raises(CapevalError, match="no result"):
        report([])


def test_scores_of_each_caption_from_csv(tmp_path: Path) -> None:
    (tmp_path / "each.csv").write_text("id,image,system,candidate,bleu_1\n1,i,x,a dog,0.5\n1,i,y,a cat,\n")
    (tmp_path / "zero.jsonl").write_text('{"id": 0, "image": 0, "candidate": "a dog", "scores": {"bleu_1": 0.5}}\n')
    zero = read_caption_scores(tmp_path / "zero.jsonl")
    assert (zero.ids, zero.images) == (["0"], ["0"])
    rows = read_caption_scores(tmp_path / "each.csv")
    assert rows.systems == ["x", "y"]
    np.testing.assert_array_equal(rows.scores["bleu_1"], [0.5, np.nan])
    assert report(rows).sections[0].title == "Scores of each caption"


# Scores made elsewhere ----------------------------------------------------------------------------------------------


def test_scores_made_elsewhere_stand_beside_ours(tmp_path: Path) -> None:
    (tmp_path / "clip.csv").write_text("id,clip\n3,0.9\n1,0.7\n2,\n9,1\n")
    rows = captions().with_scores([tmp_path / "clip.csv"])
    np.testing.assert_array_equal(rows.scores["clip"], [0.7, np.nan, 0.9])
    text = report(captions(), scores=[tmp_path / "clip.csv"]).markdown()
    assert "| `clip` | elsewhere | 2 | 0.8000" in text
    assert "| `bleu_1` | here | 3 | 0.2000" in text


def test_scores_of_several_systems_are_joined_by_system(tmp_path: Path) -> None:
    ours = captions(ids=["1", "1", "2"], systems=["x", "y", "x"])
    (tmp_path / "clip.jsonl").write_text(
        "\n".join(
            json.dumps({"id": i, "system": s, "clip": v}) for i, s, v in (("1", "y", 2), ("1", "x", 1), ("2", "x", 3))
        )
    )
    np.testing.assert_array_equal(ours.with_scores([tmp_path / "clip.jsonl"]).scores["clip"], [1, 2, 3])
    (tmp_path / "plain.csv").write_text("id,clip\n1,0.7\n2,0.5\n")
    with pytest.raises(DataError, match="a field `system` is needed"):
        ours.with_scores([tmp_path / "plain.csv"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,clip\n1,0.7\n", "2 of 3 captions without a score"),
        ("id,clip\n1,1\n1,2\n", "line 3: the same id twice"),
        ("id,bleu_1\n1,1\n2,2\n3,3\n", "the same names as others: bleu_1"),
        ("id\n1\n2\n3\n", "no column of scores"),
        ("id,clip\n1,\n2,\n3,nan\n", "no caption has a number for clip"),
    ],
)
def test_bad_scores_made_elsewhere(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "clip.csv").write_text(content)
    with pytest.raises(DataError, match=said):
        captions().with_scores([tmp_path / "clip.csv"])


def test_two_files_cannot_have_the_same_scores(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,clip\n1,1\n2,2\n3,3\n")
    with pytest.raises(DataError, match="the same names as others: clip"):
        captions().with_scores([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_captions_without_any_score_are_told() -> None:
    (section,) = report(captions(scores={"x": np.full(3, np.nan)})).sections
    assert "No metric has a score" in str(section.blocks)


def test_scores_that_are_not_defined_are_no_difference() -> None:
    number = dict.fromkeys(("a", "b", "difference", "low", "high", "p_bootstrap", "p_permutation"))
    made = report({"n": 2, "comparisons": {"spice_color": number}, "signatures": {}})
    assert "| `spice_color` | – | – | – |" in made.markdown()
    assert "spice_color: none" in describe(made.figures()[0].chart)


def test_scores_made_elsewhere_need_captions_to_stand_beside(tmp_path: Path, compared: dict[str, Any]) -> None:
    with pytest.raises(CapevalError, match="and 0 are given"):
        report(compared, scores=[tmp_path / "clip.csv"])


# What is in the sections --------------------------------------------------------------------------------------------


def tables_of(made: Any) -> dict[str, Table]:
    found = {}
    for top in made.sections:
        for section in top.walk():
            for block in section.blocks:
                table = block if isinstance(block, Table) else getattr(block, "table", None)
                if table:
                    found[table.caption] = table
    return found


def test_kinds_of_pairs_and_systems_have_their_tables(rated: dict[str, Any], paired: dict[str, Any]) -> None:
    """Neither is shown where it tells nothing: PASCAL-50S has as many pairs of each kind."""
    kinds, systems = "Pairs of each kind that were scored", "Agreement over systems"
    assert not any(title.startswith((kinds, systems)) for each in (rated, paired) for title in tables_of(report(each)))
    rated, paired = copy.deepcopy((rated, paired))  # other tests use them too
    for row in paired["metrics"]:
        row["hc"]["n"] = 7
    table = tables_of(report(paired))[kinds]
    assert [cell.value for cell in table.rows[0][1:]] == [7, 30]
    for row in rated["metrics"]:
        row["system_level"] = {"systems": 4, "pearson": 0.25}
    (found,) = [table for title, table in tables_of(report(rated)).items() if title.startswith(systems)]
    assert [cell.value for cell in found.rows[0][1:]] == [4, 0.25]


def test_numbers_are_those_of_the_result(rated: dict[str, Any], paired: dict[str, Any]) -> None:
    table = tables_of(report(rated))["Agreement with people, with 95 % intervals (images resampled)"]
    column = list(table.header).index("Kendall tau-c")
    values = {row[0].text: row[column].value for row in table.rows}
    assert values == {row["metric"]: row["kendall_c"]["value"] for row in rated["metrics"]}
    ends = {row["metric"]: (row["kendall_c"]["low"], row["kendall_c"]["high"]) for row in rated["metrics"]}
    for row in table.rows:
        others = [high for name, (_, high) in ends.items() if name != row[0].text]
        assert row[column].best == (ends[row[0].text][0] > max(others)), "bold is what lies above all others"
    accuracy = tables_of(report(paired))["Agreement with people, with 95 % intervals (images resampled)"]
    assert list(accuracy.header)[2:5] == ["HC", "MM", "mean accuracy (%)"]


def test_matrices_are_ordered_by_agreement(rated: dict[str, Any]) -> None:
    ranked = sorted(rated["metrics"], key=lambda row: -row["kendall_c"]["value"])
    heats = [figure.chart for figure in report(rated).figures() if isinstance(figure.chart, Heat)]
    assert [heat.kind for heat in heats] == ["p", "p", "correlation"]
    names = [row["metric"] for row in ranked]
    given = rated["comparisons"][0]["names"]
    for heat, key in zip(heats, ("p_bootstrap_holm", "p_williams", "spearman_between_metrics")):
        assert list(heat.rows) == list(heat.columns) == names
        matrix = rated["comparisons"][0][key]
        assert heat.values[0][1] == matrix[given.index(names[0])][given.index(names[1])]


def test_variants_are_sections_of_their_own(rated: dict[str, Any]) -> None:
    two = dict(rated)
    two["metrics"] = [{"references": tag} | row for tag in ("strict", "kept") for row in rated["metrics"]]
    for key in ("comparisons", "analysis"):
        two[key] = [{"references": tag} | rated[key][0] for tag in ("strict", "kept")]
    (section, _) = report(two).sections
    assert [each.title for each in section.sections] == [
        "flickr8k-expert, references: strict", "flickr8k-expert, references: kept",
    ]  # fmt: skip
    assert all(len(each.blocks[0].rows) == 3 for each in section.sections)  # type: ignore[union-attr]
    # Whose tables the numbers can stand beside.
    assert all("PAC-S" in each.blocks[1].text for each in section.sections)  # type: ignore[union-attr]


def test_mean_scores_climb_from_0_to_1(rated: dict[str, Any]) -> None:
    made = report(rated)
    figure = next(each for each in made.figures() if each.name == "flickr8k-expert-means")
    assert isinstance(figure.chart, Curves)
    assert list(figure.chart.x) == [1, 2, 3, 4]
    known = rated["analysis"][0]["distributions"]["rouge_l"]["grades"]
    means = [each["mean"] for each in known]
    assert means[-1] > means[0]
    line = figure.chart.lines["rouge_l"]
    assert (line[0], line[-1]) == (0, 1)
    assert line[1] == pytest.approx((means[1] - means[0]) / (means[-1] - means[0]))
    assert tables_of(made)["Mean score in each grade"].header == ["metric", "grade 1", "grade 2", "grade 3", "grade 4"]
    falling = copy.deepcopy(rated)  # a metric that likes bad captions better has no way up
    for grade in falling["analysis"][0]["distributions"]["rouge_l"]["grades"]:
        grade["mean"] *= -1
        grade["grade"] = f"{grade['grade']} or so"
    figure = next(each for each in report(falling).figures() if each.name == "flickr8k-expert-means")
    assert isinstance(figure.chart, Curves)
    assert figure.chart.lines["rouge_l"] == [None] * 4


def test_shares_of_errors_and_what_examples_show(rated: dict[str, Any]) -> None:
    shares = tables_of(report(rated))[
        "Judgements (%) by how many grades the metric is above people; 0 is the same grade"
    ]
    assert shares.header == ["metric", "-3", "-2", "-1", "0", "+1", "+2", "+3"]
    assert sum(cell.value or 0 for cell in shares.rows[0][1:]) == pytest.approx(100)
    text = str(report(rated).sections[0])
    assert all(f"('metric', '{verdict}')" in text for verdict in ("too kind", "too stern", "agrees"))


def test_accuracy_by_the_number_of_references(paired: dict[str, Any]) -> None:
    made = report(paired)
    names = [each.name for each in made.figures() if "references" in each.name]
    assert names == [f"pascal-50s-references{category}" for category in ("", "-hc", "-mm")]
    lost = tables_of(made)["Mean accuracy that is lost from 2 references to 1, in points"]
    values = [row[1].value for row in lost.rows]
    assert values == sorted(each["value"] for each in paired["comparisons"][0]["by_references"]["lost"].values())
    old = copy.deepcopy(paired)  # a result from before categories were told
    found = old["comparisons"][0]["by_references"]
    del found["categories"], found["lost"]
    assert [each.name for each in report(old).figures() if "references" in each.name] == ["pascal-50s-references"]


def test_a_benchmark_from_before_there_was_an_analysis(rated: dict[str, Any]) -> None:
    old = {key: value for key, value in rated.items() if key != "analysis"}
    titles = [each.title for each in report(old).sections[0].sections]
    assert "Significance" in titles
    assert "Scores in each grade" not in titles


def test_several_systems(scored: tuple[dict[str, Any], CaptionScores]) -> None:
    data, _ = scored
    part = {"n": 30, "scores": data["scores"], "intervals": data["intervals"]}
    made = report({**data, "systems": {"ours": part, "theirs": part}})
    assert len(made.figures()) == 3
    (table,) = (each for name, each in tables_of(made).items() if name.startswith("Scores with 95 % intervals. Bold"))
    assert table.header == ["metric", "ours", "theirs"]
    assert not any(cell.best for row in table.rows for cell in row), "equal systems have no winner"
    assert made.verdicts == ["No system leads: all scores are equal."]


def test_sections_of_the_same_kind_are_named_by_their_files(
    scored: tuple[dict[str, Any], CaptionScores], tmp_path: Path
) -> None:
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_text(json.dumps(scored[0]))
    made = report([tmp_path / "one.json", tmp_path / "two.json", scored[0]])
    assert [each.title for each in made.sections[:3]] == ["Scores", "Scores: two.json", "Scores (2)"]


def test_a_system_wins_where_its_interval_lies_above_all_others(scored: tuple[dict[str, Any], CaptionScores]) -> None:
    data, _ = scored
    key = next(iter(data["scores"]))
    parts = {
        name: {"n": 30, "scores": {key: value}, "intervals": {key: {"low": value - 0.05, "high": value + 0.05}}}
        for name, value in (("low", 0.2), ("high", 0.9), ("near", 0.82))
    }
    for names, winner in ((("low", "high"), "high"), (("low", "high", "near"), None)):
        made = report({**data, "scores": {key: 0.5}, "systems": {name: parts[name] for name in names}})
        (table,) = (each for name, each in tables_of(made).items() if name.startswith("Scores with"))
        assert [name for name, cell in zip(names, table.rows[0][1:]) if cell.best] == ([winner] if winner else [])


def test_captions_that_a_metric_has_not_scored_are_shown_by_the_others() -> None:
    some = captions(scores={"x": np.array([0.1, np.nan, 0.3]), "y": np.array([np.nan, 0.9, np.nan])})
    text = str(report(some).sections[0])
    assert "a dog" in text
    assert "–" in text
    assert "nan" not in text


def test_one_caption_is_enough() -> None:
    one = captions(
        ids=["1"], images=["1"], systems=[""], captions=["a"], scores={"x": np.array([0.5]), "y": np.array([0.5])}
    )
    assert len(report(one).figures()) == 1


# Tables for papers --------------------------------------------------------------------------------------------------


def small(text: str) -> list[Section]:
    return [
        Section(text, [Table(text, [text, "n"], [[Cell(text, code=True), Cell("0.5 [0.4, 0.6]", 0.5, best=True)]])])
    ]


def test_latex_table() -> None:
    lines = latex("a title", small("x_1")).splitlines()
    assert lines[4:9] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{x\_1}",
        r"\label{tab:capeval-1}",
        r"\begin{tabular}{lr}",
    ]
    assert lines[10] == r"{}x\_1 & n \\"
    assert lines[12] == r"{}\texttt{x\_1} & \textbf{0.5 [0.4, 0.6]} \\"
    assert lines[-1] == r"\end{table}"


@given(st.text())
def test_latex_escapes_whatever_comes(text: str) -> None:
    plain = re.sub(r"\\[a-z]+\{\}|\\[{}$&#%_]|\$\\(?:geq|tau)\$", "", escape_latex(text))
    assert not set(plain) & set("\\{}$&#%_^~\n")


def test_markdown_table() -> None:
    assert markdown("a_title", small("x|1")).splitlines() == [
        r"# a\_title", "", r"## x\|1", "", r"**x\|1**", "", r"| x\|1 | n |", "| --- | ---: |",
        r"| `x\|1` | **0.5 [0.4, 0.6]** |",
    ]  # fmt: skip


@given(st.text())
def test_markdown_cells_stay_in_their_row(text: str) -> None:
    line = markdown("t", small(text)).split("\n")[-2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3 or "\\|" in line
    assert "<" not in re.sub(r"\\<|`[^`]*`", "", line)


def test_all_tables_are_in_both_forms(everything: list[Any]) -> None:
    made = report(everything)
    known = tables_of(made)
    assert made.latex().count(r"\begin{tabular}") >= len(known)
    for caption in known:
        assert escape_latex(caption) in made.latex()
    assert "capeval robust ... -r 'my refs.json'" in made.markdown()


# Figures ------------------------------------------------------------------------------------------------------------


def test_words_for_charts() -> None:
    forest = Forest([Interval("x", 0.5, 0.4, 0.6), Interval("y", 0.1, strong=False), Interval("z", None)], "tau")
    assert describe(forest) == (
        "Points with intervals; tau. x: 0.500 (0.400 to 0.600); y: 0.100, may be chance; z: none."
    )
    heat = Heat(["x", "y", "z"], ["x", "y", "z"], [[1, 0.01, 0.2], [0.01, 1, 0.03], [0.2, 0.03, 1]], "p", "p-value")
    assert "2 of 3 pairs differ at p < 0.05. Not told apart: x and z." in describe(heat)
    curves = Curves([0, 1], {"x": [1.0, 0.25], "y": [None, 2.0]}, "gamma", "score")
    assert describe(curves) == "Lines; score against gamma. x: from 1 at 0 to 0.25 at 1; y: from 2 at 1 to 2 at 1."


def test_figure_files(tmp_path: Path, paired: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    from capeval.report.plots import draw

    made = report(paired)
    written = made.write_figures(tmp_path / "new" / "figures")
    assert len(written) == 2 * len(made.figures()) == 12
    for path in written:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        assert b"#01" + b"00" not in data  # no made-up colour
    one_of_each = {type(figure.chart): (figure, path) for figure, path in zip(made.figures(), written[::2])}
    for figure, path in one_of_each.values():
        assert draw(figure.chart, title=figure.title) == path.read_bytes()  # the same again


def drawn_distributions(scores: list[float], systems: list[str] | None = None) -> tuple[Figure, list[Any]]:
    """The figure of a report about captions with these scores, and the axes that matplotlib has drawn."""
    from matplotlib import figure as library

    from capeval.report import plots
    from capeval.report.theme import LIGHT

    ids = [str(i) for i in range(len(scores))]
    rows = CaptionScores("each", ids, ids, systems or [""] * len(ids), ids, {"x": np.array(scores)})
    (shown,) = [figure for figure in report(rows).figures() if figure.name == "distributions"]
    drawing = library.Figure(layout="constrained")
    draw = plots._histograms if isinstance(shown.chart, Histograms) else plots._violins
    draw(drawing, shown.chart, LIGHT)  # type: ignore[arg-type]
    return shown, drawing.axes


@pytest.mark.parametrize("most", [0.9, 1.0, 30.0])
@pytest.mark.parametrize("count", [1, 2, 4, 30, 150, 1000])
def test_every_caption_is_in_a_bar(count: int, most: float) -> None:
    pytest.importorskip("matplotlib")
    scores = [*(i / count for i in range(1, count)), most]
    _, (axes,) = drawn_distributions(scores)
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(100, abs=0.02)
    assert count == 1 or axes.patches[-1].get_height() >= 99 / count  # the highest score is in the last


def test_an_axis_that_ends_below_the_highest_score_says_so() -> None:
    pytest.importorskip("matplotlib")
    far = [*(i / 1000 for i in range(1000)), 20.0, 30.0]
    shown, (axes,) = drawn_distributions(far)
    *ticks, last = axes.get_xticklabels()
    begin = axes.patches[-1].get_x()
    assert last.get_text().startswith("≥ 0.9")
    assert float(last.get_text().removeprefix("≥ ")) == pytest.approx(begin, abs=0.01)
    assert ticks
    assert all(float(tick.get_text().replace("−", "-")) < begin for tick in ticks)
    assert "marked ≥" in shown.caption
    assert f"(the last bin: {last.get_text()})" in describe(shown.chart)
    _, (axes,) = drawn_distributions(far, ["a", "b"] * 501)
    assert axes.get_yticklabels()[-1].get_text() == last.get_text()
    shown, (axes,) = drawn_distributions(far[:-2])
    assert not any("≥" in tick.get_text() for tick in axes.get_xticklabels())
    assert "≥" not in shown.caption + describe(shown.chart)


def test_names_that_are_hard_to_draw(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ["_hidden", "$x^2$", "中文", "a" * 200, "", "<b>&", "x\ny", "\x00bell\x07\ud800"]
    lines = {name: [0.1 * i, 0.2 * i] for i, name in enumerate(names)}
    from capeval.report.plots import draw
    from capeval.report.svg import inline_svg

    drawn = inline_svg(Curves([0, 1], lines, "x", "y"), "figure-1", "<title>")
    assert all(text in drawn for text in ("_hidden", "$x^2$", "中文", "&lt;b&gt;&amp;"))
    assert '<title id="figure-1-title">&lt;title&gt;</title>' in drawn
    inline_svg(Heat(names, names, [[0.5] * len(names)] * len(names), "p", "p"), "figure-2", "t")
    forest = Forest([Interval(name, 1.0) for name in names], names[-1])
    drawn_file = draw(forest, title=names[-1])
    assert b"bell" in drawn_file
    assert not re.search(rb"[\x00-\x08]", drawn_file)
    inline_svg(forest, "figure-3", "t")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, compared: dict[str, Any]) -> None:
    monkeypatch.setattr("capeval.report.plots.find_spec", lambda name: None)
    made = report(compared)
    assert "\\begin{table}" in made.latex()
    with pytest.raises(MissingExtra, match=r"pip install .*\[report\]"):
        made.html()


def test_the_package_can_be_found() -> None:
    assert importlib.util.find_spec("capeval.report.plots") is not None
