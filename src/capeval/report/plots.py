"""Drawing charts with matplotlib: the same drawing for the page, for SVG files and for PNG files."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from capeval.errors import MissingExtra
from capeval.report.charts import Chart, Curves, Forest, Heat, Histograms, Panel, Shape, Violins, open_end
from capeval.report.theme import LIGHT, SERIES, WARM

# Widths and heights are in CSS pixels, the units of the SVG; matplotlib has 72 of them in an inch.
WIDTH = 860
NARROW = 330
"""For phones."""
_UNIT = 72
_DASHES = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"
_FEW = 8
"""So many points of a line are marked on the axis, each."""
_P_LEVELS = ((0.001, 8, "p < 0.001"), (0.01, 6, "p < 0.01"), (0.05, 3, "p < 0.05"), (math.inf, 0, "p ≥ 0.05"))

Theme = Mapping[str, str]


def draw(chart: Chart, theme: Theme = LIGHT, *, form: str = "svg", title: str = "", narrow: bool = False) -> bytes:
    """The chart as the bytes of an SVG or PNG file. The same chart always gives the same bytes."""
    with drawing(theme) as figure_class:
        figure = figure_class(layout="constrained")
        if isinstance(chart, Forest):
            _forest(figure, chart, theme, narrow)
        elif isinstance(chart, Heat):
            _heat(figure, chart, theme, narrow)
        elif isinstance(chart, Curves):
            _curves(figure, chart, theme, narrow)
        elif isinstance(chart, Violins):
            _violins(figure, chart, theme, narrow)
        else:
            _histograms(figure, chart, theme, narrow)
        for axes in figure.axes:
            # What lies inside the axes needs no room of its own, and measuring it would take most of the time.
            for inside in (*axes.lines, *axes.patches, *axes.texts, *axes.collections):
                inside.set_in_layout(False)
        stream = io.BytesIO()
        if form == "svg":
            nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
            named = {"Title": _cut(title, 200)} if title else {}
            figure.savefig(stream, format="svg", metadata=nothing | named)
        else:
            figure.savefig(stream, format="png", dpi=2 * _UNIT, metadata={"Software": None})
        return stream.getvalue()


def require_matplotlib() -> None:
    """To be called before long work whose result is to be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("Drawing figures", "report")


@contextmanager
def drawing(theme: Theme) -> Iterator[Callable[..., Any]]:
    """The class of figures, with settings that are ours alone."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "capeval",
        "text.parse_math": False,  # a dollar in a name is a dollar
        "text.usetex": False,
        "font.family": ["DejaVu Sans"],
        "font.size": 12,
        "axes.titlesize": 12.5,
        "axes.titlelocation": "left",
        "axes.labelsize": 12,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.axisbelow": True,
        "figure.facecolor": theme["paper"],
        "savefig.facecolor": theme["paper"],
        "axes.facecolor": "none",
        "text.color": theme["ink"],
        "axes.labelcolor": theme["muted"],
        "axes.titlecolor": theme["ink"],
        "axes.edgecolor": theme["grid"],
        "xtick.color": theme["muted"],
        "ytick.color": theme["muted"],
        "grid.color": theme["grid"],
        "grid.linewidth": 0.8,
    }
    with warnings.catch_warnings(), matplotlib.rc_context():
        # The browser has more fonts than matplotlib; a name in another script is drawn there.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()  # the user's own settings do not change a report
        matplotlib.rcParams.update(settings)
        yield Figure


def _set_size(figure: Any, width: float, height: float) -> None:
    figure.set_size_inches(width / _UNIT, height / _UNIT)


def _ticks_without_marks(axes: Any) -> None:
    axes.tick_params(length=0)


def _forest(figure: Any, chart: Forest, theme: Theme, narrow: bool = False) -> None:
    _set_size(figure, *((NARROW, 60 + 46 * len(chart.rows)) if narrow else (WIDTH, 70 + 27 * len(chart.rows))))
    axes = figure.subplots()
    places = range(len(chart.rows))
    axes.grid(axis="x")
    if chart.zero:
        axes.axvline(0, color=theme["ink"], linewidth=1)
    texts = []
    for place, row in zip(places, chart.rows):
        if row.value is None:
            texts.append("–")
            continue
        text = f"{row.value:.{chart.digits}f}"
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=theme["accent"], linewidth=2, solid_capstyle="round")
            text += f" [{row.low:.{chart.digits}f}, {row.high:.{chart.digits}f}]"
        face = theme["accent"] if row.strong else theme["paper"]
        axes.plot([row.value], [place], "o", color=theme["accent"], markerfacecolor=face, markersize=7.5)
        texts.append(text)
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.set_xlabel(_cut(chart.axis, 36 if narrow else 60))
    axes.spines["left"].set_visible(False)
    _ticks_without_marks(axes)
    if narrow:  # names and numbers stand above their lines
        axes.set_yticks([])
        axes.xaxis.get_major_locator().set_params(nbins=5)
        for place, row, text in zip(places, chart.rows, texts):
            above = {"transform": axes.get_yaxis_transform(), "va": "bottom", "fontsize": 11}
            axes.text(0, place - 0.2, _cut(row.label, 24), ha="left", color=theme["ink"], **above)
            axes.text(1, place - 0.2, text, ha="right", color=theme["muted"], **above)
        return
    axes.set_yticks(places, [_cut(row.label) for row in chart.rows], color=theme["ink"])
    right = axes.secondary_yaxis("right")
    right.set_yticks(places, texts, color=theme["ink"])
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def _heat_level(value: float, kind: str) -> tuple[str, bool]:
    """The role of the cell's colour, and whether it is a strong one."""
    if kind == "p":
        level = next(level for limit, level, _ in _P_LEVELS if value < limit)
        return f"heat{level}", level > 6
    if kind == "percent":
        level = min(10, max(0, round((value - 50) / 5) if value >= 50 else 0))
        return f"heat{level}", level > 6
    if kind == "share":
        level = min(10, max(0, round(value / 10)))
        return f"heat{level}", level > 6
    if value < 0:
        level = min(WARM - 1, round(-value * (WARM - 1)))
        return f"warm{level}", level > 4
    level = min(10, round(value * 10))
    return f"heat{level}", level > 6


def _heat(figure: Any, chart: Heat, theme: Theme, narrow: bool = False) -> None:
    if narrow:
        _narrow_heat(figure, chart, theme)
        return
    longest = max((len(_cut(label)) for label in chart.rows), default=1)
    cell = max(40.0, min(74.0, (WIDTH - 7.5 * longest - 30) / max(1, len(chart.columns))))
    height = 30 if len(chart.rows) > 4 else 34
    slanted = max((len(_cut(label)) for label in chart.columns), default=1) * 7.5 > cell
    head = 8 * max(len(_cut(label)) for label in chart.columns) * 0.72 + 24 if slanted else 34
    # Never narrower than its legend.
    _set_size(figure, max(480, 7.5 * longest + 50 + cell * len(chart.columns)), head + height * len(chart.rows) + 46)
    axes = figure.subplots()
    from matplotlib.patches import Rectangle

    for i, values in enumerate(chart.values):
        for j, value in enumerate(values):
            same = chart.kind in ("p", "correlation") and chart.rows[i] == chart.columns[j]
            if value is None or same:
                axes.add_patch(Rectangle((j, i), 0.96, 0.94, facecolor=theme["grid"], alpha=0.35, linewidth=0))
                continue
            role, strong = _heat_level(value, chart.kind)
            axes.add_patch(Rectangle((j, i), 0.96, 0.94, facecolor=theme[role], linewidth=0))
            color = theme["onhigh" if strong else "onlow"]
            axes.text(j + 0.48, i + 0.5, _cell_text(value, chart.kind), ha="center", va="center", color=color,
                      fontsize=11 if cell >= 48 else 10)  # fmt: skip
    axes.set_xlim(0, len(chart.columns))
    axes.set_ylim(len(chart.rows), 0)
    columns = [_cut(label) for label in chart.columns]
    axes.set_xticks([j + 0.48 for j in range(len(columns))], columns, color=theme["ink"])
    axes.xaxis.tick_top()
    if slanted:
        axes.tick_params(axis="x", labelrotation=38)
        for label in axes.get_xticklabels():
            label.set(ha="left", va="bottom", rotation_mode="anchor")
    axes.set_yticks(
        [i + 0.47 for i in range(len(chart.rows))], [_cut(label) for label in chart.rows], color=theme["ink"]
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    _ticks_without_marks(axes)
    if chart.kind == "p":
        handles = [
            Rectangle((0, 0), 1, 1, facecolor=theme[f"heat{level}"], edgecolor=theme["grid"])
            for _, level, _ in _P_LEVELS
        ]
        figure.legend(handles, [text for *_, text in _P_LEVELS], loc="outside lower left", ncols=4, frameon=False,
                      handlelength=1, handleheight=1, fontsize=11)  # fmt: skip


def _narrow_heat(figure: Any, chart: Heat, theme: Theme) -> None:
    """Columns have numbers, which the rows' names explain: their own names would find no room. What does not fit into a
    cell stands in the table of the figure's numbers.
    """
    from matplotlib.patches import Rectangle

    longest = max((len(_cut(label, 18)) for label in chart.rows), default=1)
    cell = (NARROW - 6.6 * (longest + 3) - 16) / max(1, len(chart.columns))
    same = list(chart.rows) == list(chart.columns)
    head = 26 if same else 14 + 6.6 * max(len(_cut(label, 18)) for label in chart.columns)
    _set_size(figure, NARROW, head + 24 * len(chart.rows) + 10)
    axes = figure.subplots()
    for i, values in enumerate(chart.values):
        for j, value in enumerate(values):
            role, strong = _heat_level(value, chart.kind) if value is not None else ("grid", False)
            if same and i == j:
                role = "grid"
            axes.add_patch(Rectangle((j, i), 0.94, 0.92, facecolor=theme[role], linewidth=0))
            if cell >= 30 and value is not None and not (same and i == j):
                color = theme["onhigh" if strong else "onlow"]
                axes.text(j + 0.47, i + 0.48, _cell_text(value, chart.kind), ha="center", va="center", color=color,
                          fontsize=10)  # fmt: skip
    axes.set_xlim(0, len(chart.columns))
    axes.set_ylim(len(chart.rows), 0)
    columns = [str(j + 1) for j in range(len(chart.columns))] if same else [_cut(each, 18) for each in chart.columns]
    axes.set_xticks([j + 0.47 for j in range(len(columns))], columns, color=theme["ink"], fontsize=10)
    axes.xaxis.tick_top()
    if not same:
        axes.tick_params(axis="x", labelrotation=90)
    names = [f"{i + 1} {_cut(label, 18)}" if same else _cut(label, 18) for i, label in enumerate(chart.rows)]
    axes.set_yticks([i + 0.46 for i in range(len(names))], names, color=theme["ink"], fontsize=10)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _ticks_without_marks(axes)


def _cell_text(value: float, kind: str) -> str:
    if kind == "p":
        return "<.001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1) if value < 1 else "1"
    if kind in ("percent", "share"):
        return f"{value:.1f}"
    return f"{value:.2f}"


def _curves(figure: Any, chart: Curves, theme: Theme, narrow: bool = False) -> None:
    tall = 260 + 23 * len(chart.lines) if narrow else max(340, 60 + 24 * len(chart.lines))
    _set_size(figure, NARROW if narrow else WIDTH, tall)
    axes = figure.subplots()
    axes.grid(axis="y")
    handles, labels = [], []
    for number, (label, values) in enumerate(chart.lines.items()):
        color = theme[f"s{number % SERIES + 1}"]
        ys = [math.nan if value is None else value for value in values]
        (line,) = axes.plot(chart.x, ys, color=color, linewidth=2, markersize=5.5, markeredgewidth=0,
                            linestyle=_DASHES[(number // SERIES + number) % len(_DASHES)],
                            marker=_MARKERS[number % len(_MARKERS)])  # fmt: skip
        handles.append(line)
        labels.append(_cut(label, 40))
    if len(chart.x) <= _FEW:
        axes.set_xticks(chart.x)  # grades have nothing between them
    axes.set_xlabel(chart.x_axis)
    axes.set_ylabel(chart.y_axis)
    _ticks_without_marks(axes)
    place = "outside lower left" if narrow else "outside right upper"
    figure.legend(handles, labels, loc=place, frameon=False, handlelength=3.2, labelspacing=0.6)


def _panels(
    figure: Any, panels: Sequence[Panel], height: float, narrow: bool, columns: int = 3
) -> Iterator[tuple[Any, Panel]]:
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    wide = NARROW if narrow else WIDTH if columns > 1 else WIDTH * 0.6
    _set_size(figure, wide, (height if not narrow else 0.82 * height) * rows + 10)
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.1)
    places = [axes for row in grid for axes in row]
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(places, panels):
        axes.set_title(_cut(panel.title, 18 if narrow and columns > 1 else 32), fontsize=11 if narrow else 12.5)
        if narrow:
            axes.tick_params(labelsize=10)
        _ticks_without_marks(axes)
        yield axes, panel


def _violins(figure: Any, chart: Violins, theme: Theme, narrow: bool = False) -> None:
    for axes, panel in _panels(figure, chart.panels, 205, narrow, 1 if narrow else 3):
        axes.grid(axis="y")
        axes.spines["left"].set_visible(False)
        for place, shape in enumerate(panel.shapes):
            _violin(axes, place, shape, panel, theme)
        labels = [_cut(shape.label, 12 if len(panel.shapes) > 2 else 20) for shape in panel.shapes]
        axes.set_xticks(range(len(labels)), labels)
        if sum(map(len, labels)) > 30:
            axes.tick_params(axis="x", labelrotation=30)
        axes.set_xlim(-0.6, len(labels) - 0.4)
        _mark_open_end(axes.yaxis, panel)


def _violin(axes: Any, place: int, shape: Shape, panel: Panel, theme: Theme) -> None:
    centers = _bin_centers(panel, len(shape.shares))
    widest = max(shape.shares, default=0.0)
    if widest > 0:
        half = [0.42 * share / widest for share in shape.shares]
        ys = [panel.low, *centers, panel.high]
        half = [half[0], *half, half[-1]]
        axes.fill_betweenx(ys, [place - w for w in half], [place + w for w in half],
                           facecolor=theme["accent"], alpha=0.28, linewidth=0)  # fmt: skip
    q05, q25, q50, q75, q95 = shape.quantiles
    axes.plot([place, place], [q05, q95], color=theme["accent"], linewidth=1.2)
    axes.plot([place, place], [q25, q75], color=theme["accent"], linewidth=5, solid_capstyle="butt")
    axes.plot([place], [q50], "o", color=theme["accent"], markerfacecolor=theme["paper"], markersize=6)


def _bin_centers(panel: Panel, bins: int) -> list[float]:
    step = (panel.high - panel.low) / bins
    return [panel.low + (number + 0.5) * step for number in range(bins)]


def _mark_open_end(axis: Any, panel: Panel) -> None:
    """Says at the last bin that it holds all that lies above it too; ticks so near that they would touch it go."""
    if not panel.open:
        return
    place, room = (panel.last + panel.high) / 2, (panel.high - panel.low) / 5
    ends = axis.get_view_interval()
    axis.get_major_locator().set_params(nbins=5)
    ticks = [tick for tick in axis.get_major_locator()() if ends[0] <= tick < place - room]
    axis.set_ticks([*ticks, place], [*axis.get_major_formatter().format_ticks(ticks), open_end(panel)])


def _histograms(figure: Any, chart: Histograms, theme: Theme, narrow: bool = False) -> None:
    for axes, panel in _panels(figure, chart.panels, 175, narrow, 2 if narrow else 3):
        (shape,) = panel.shapes
        axes.grid(axis="y")
        axes.spines["left"].set_visible(False)
        step = (panel.high - panel.low) / len(shape.shares)
        shares = [100 * share for share in shape.shares]
        axes.bar(_bin_centers(panel, len(shares)), shares, width=0.9 * step, color=theme["accent"], alpha=0.75)
        if chart.zero:
            axes.axvline(0, color=theme["ink"], linewidth=1)
        else:
            axes.axvline(shape.quantiles[2], color=theme["s2"], linewidth=1.6, linestyle=(0, (4, 2)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        axes.yaxis.get_major_locator().set_params(nbins=4)
        if narrow:
            axes.xaxis.get_major_locator().set_params(nbins=3)
        _mark_open_end(axes.xaxis, panel)


def _cut(label: str, longest: int = 28) -> str:
    """A label short enough to draw; the numbers beside the figure have it whole."""
    text = "".join(letter for letter in " ".join(label.split()) if letter.isprintable()) or "–"
    return text if len(text) <= longest else text[: longest - 1] + "…"
