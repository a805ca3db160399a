"""HTML of what is small: words with marks, scores, explanations. Notebooks show it, and reports and pages use it too.

Every text is escaped: captions and names are anybody's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from capeval.documents.types import ExplanationDocument
from capeval.showing import number
from capeval.types import Word

STYLE = """
.marked mark { background: none; color: inherit; border-radius: .25em; padding: 0 .15em; }
.marked mark.match { background: color-mix(in srgb, var(--match) calc(18% + 50% * var(--strength, .5)), transparent); }
.marked mark.near { background: color-mix(in srgb, var(--near) 30%, transparent);
  border-bottom: 2px dotted var(--near); }
.marked mark.miss { text-decoration: underline wavy var(--miss) from-font; text-underline-offset: .2em;
  background: color-mix(in srgb, var(--miss) calc(50% * var(--strength, 0)), transparent); }
"""
"""Of marked words; the page gives the colours --match, --near and --miss."""
COLORS = ("--match: #0b7d5c; --near: #8a6500; --miss: #c2500b;", "--match: #35c295; --near: #d9aa2b; --miss: #f08a4b;")
"""On light and on dark pages."""
_NOTEBOOK = """
.capeval { %s --line: #8886; font-size: 14px; line-height: 1.45; }
@media (prefers-color-scheme: dark) { .capeval { %s } }
.capeval table { border-collapse: collapse; margin: .4em 0; }
.capeval th, .capeval td { padding: .15em .7em; text-align: left !important; border-bottom: 1px solid var(--line); }
.capeval table .number { text-align: right !important; font-variant-numeric: tabular-nums; white-space: nowrap; }
.capeval p { margin: .3em 0; }
.capeval .quiet { opacity: .7; }
.capeval .tables { overflow-x: auto; }
.capeval details { margin: .3em 0; }
"""
LEGEND = (
    '<p class="quiet marked"><mark class="match">in a reference</mark> <mark class="near">another form, or a synonym'
    '</mark> <mark class="miss">in no reference</mark></p>'
)


def notebook(inside: str) -> str:
    """A piece of a page that brings its own style."""
    light, dark = COLORS
    return f'<div class="capeval"><style>{_NOTEBOOK % (light, dark)}{STYLE}</style>{inside}</div>'


def words(marked: Sequence[Word]) -> str:
    """A caption, word by word; what is known of a word shows where the pointer rests on it."""
    largest = max((abs(each.weight) for each in marked if each.weight is not None), default=0.0)
    return f'<span class="marked">{" ".join(_word(each, largest) for each in marked)}</span>'


def _word(each: Word, largest: float) -> str:
    text = escape(each.text)
    if not each.fate:
        return text
    note = f' title="{escape(each.note)}"' if each.note else ""
    strength = ""
    if each.weight is not None and largest:
        strength = f' style="--strength: {abs(each.weight) / largest:.2f}"'
    return f'<mark class="{escape(each.fate)}"{note}{strength}>{text}</mark>'


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Numbers stand to the right; a list is shown with its parts apart; markup comes as `Html`."""
    shown = [[_cell(cell) for cell in row] for row in rows]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in shown)
    is_number = [bool(shown) and all("number" in row[place][:20] for row in shown) for place in range(len(header))]
    head = "".join(
        f"<th{' class=number' if right else ''}>{escape(name)}</th>" for name, right in zip(header, is_number)
    )
    return f'<div class="tables"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


class Html(str):
    """Markup that is not to be escaped."""


def _cell(cell: object) -> str:
    if isinstance(cell, Html):
        return f"<td>{cell}</td>"
    if isinstance(cell, int | float):
        return f'<td class="number">{number(cell) if isinstance(cell, float) else cell}</td>'
    if isinstance(cell, list | tuple):
        return f"<td>{' · '.join(escape(str(each)) for each in cell)}</td>"
    return f"<td>{escape(str(cell))}</td>"


def scores(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Metrics by systems; one system has no name."""
    labels = list(dict.fromkeys(label for column in columns.values() for label in column))
    rows = [[label, *(column.get(label, float("nan")) for column in columns.values())] for label in labels]
    return table(["metric", *(name or "score" for name in columns)], rows)


def explanations(documents: Sequence[ExplanationDocument], *, folded: bool = False) -> str:
    """What the scores of a caption come from, part by part: words, facts, and the table to be unfolded."""
    parts = []
    for place, each in enumerate(documents):
        if place == 0 or each.metric != documents[place - 1].metric:
            told = [f"<strong>{escape(each.metric)}</strong>", *(f"{escape(n)} {number(v)}" for n, v in each.totals())]
            parts.append(f"<p>{' '.join(told)}</p>")
        for name, marked, text in (
            ("candidate", each.candidate_words, ""),
            ("reference", each.reference_words, each.reference),
        ):
            if marked or text:
                shown = words([Word(w.text, w.fate, w.weight, w.note) for w in marked]) if marked else escape(text)
                parts.append(f'<p><span class="quiet">{name}</span> {shown}</p>')
        facts = " · ".join(
            f"{escape(name)} {number(value) if isinstance(value, float) else escape(str(value))}"
            for name, value in each.further().items()
        )
        parts.append(f'<p class="quiet">{facts}</p>' if facts else "")
        if each.rows:
            inside = table(list(each.rows[0]), [list(row.values()) for row in each.rows])
            opened = " open" if len(documents) == 1 and not folded else ""
            parts.append(f"<details{opened}><summary>{len(each.rows)} rows</summary>{inside}</details>")
    return "".join(parts)
