"""A report as one HTML page that needs nothing else. Every text is escaped: captions and names are anybody's words."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files

from capeval.markup import COLORS, LEGEND, STYLE, words
from capeval.report.blocks import Block, Cell, Code, Example, Examples, Figure, Folded, HeatMaps, Section, Table, Text
from capeval.report.groundpage import MapWriter
from capeval.report.svg import inline_svg
from capeval.report.theme import LIGHT

# A column of texts longer than this may be broken into lines.
_LONG = 40
# References that are shown with an example.
_REFERENCES = 5


def render(
    title: str, about: str, sections: Sequence[Section], drawn: Callable[[str], None], verdicts: Sequence[str] = ()
) -> str:
    """The page, what it comes to on top; `drawn` is told the title of each figure before it is drawn."""
    page = _Page(drawn)
    body = "".join(page.section(section, 2) for section in sections)
    css, js = style(), script()
    told = "".join(f"<p>{_text(each)}</p>" for each in verdicts)
    verdict = f'<div class="verdict" role="note" aria-label="In short">{told}</div>' if told else ""
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    # The page may run its own script and nothing else, and may fetch nothing at all.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="capeval">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="page">
<header><h1>{escape(title)}</h1>{verdict}<p class="about">{escape(about)}</p></header>
<div class="columns">
<nav aria-labelledby="contents"><h2 id="contents">Contents</h2>{page.contents(sections)}</nav>
<main id="content">{body}</main>
</div>
</div>
<script>{js}</script>
</body>
</html>
"""


def inside(sections: Sequence[Section]) -> str:
    """The sections alone, for a page that has `style` and `script` from elsewhere."""
    page = _Page(lambda title: None)
    return "".join(page.section(section, 2) for section in sections)


def style() -> str:
    light = " ".join(f"--{role}: {color};" for role, color in LIGHT.items())
    bright, dark = COLORS
    return _file("page.css").replace("/*LIGHT*/", f"  {light} {bright}").replace("/*DARK*/", dark) + STYLE


def script() -> str:
    return _file("page.js")


def encoded(text: str) -> bytes:
    """UTF-8; half a character, which JSON can smuggle in, is replaced."""
    return text.encode("utf-8", "replace")


def _file(name: str) -> str:
    return files("capeval.report").joinpath(name).read_text("utf-8")


def _text(text: str) -> str:
    """Escaped, and a per cent sign stays with its number."""
    return escape(text).replace(" %", "\u00a0%")


class _Page:
    """Writes the parts of a page, and gives each an id of its own."""

    def __init__(self, drawn: Callable[[str], None]) -> None:
        self.drawn = drawn
        self.ids: dict[int, str] = {}
        self.used: set[str] = {"content", "contents"}
        self.figures = self.tables = 0
        self.maps = MapWriter()

    def id_of(self, section: Section) -> str:
        if id(section) not in self.ids:
            plain = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
            name, number = plain, 1
            while name in self.used:
                number += 1
                name = f"{plain}-{number}"
            self.used.add(name)
            self.ids[id(section)] = name
        return self.ids[id(section)]

    def contents(self, sections: Sequence[Section]) -> str:
        items = [
            f'<li><a href="#{self.id_of(each)}">{escape(each.title)}</a>'
            f"{self.contents(each.sections) if each.sections else ''}</li>"
            for each in sections
        ]
        return f"<ol>{''.join(items)}</ol>"

    def section(self, section: Section, level: int) -> str:
        name = self.id_of(section)
        tag = f"h{min(level, 6)}"
        inside = "".join(self.block(each, level) for each in section.blocks)
        below = "".join(self.section(each, level + 1) for each in section.sections)
        title = f'<{tag} id="{name}">{escape(section.title)}</{tag}>'
        return f'<section aria-labelledby="{name}">{title}{inside}{below}</section>\n'

    def block(self, block: Block, level: int) -> str:
        if isinstance(block, Text):
            return f"<p>{_text(block.text)}</p>"
        if isinstance(block, Code):
            return f"<pre><code>{escape(chr(10).join(block.lines))}</code></pre>"
        if isinstance(block, Table):
            return self.table(block)
        if isinstance(block, Figure):
            return self.figure(block)
        if isinstance(block, HeatMaps):
            return self.heat_maps(block)
        if isinstance(block, Folded):
            inside = "".join(self.block(each, level) for each in block.blocks)
            return f"<details><summary>{escape(block.title)}</summary>{inside}</details>\n"
        return self.examples(block, level)

    def table(self, table: Table) -> str:
        self.tables += 1
        key = f"table-{self.tables}"
        columns = range(len(table.header))
        numbers = [any(row[i].value is not None for row in table.rows) for i in columns]
        longs = [any(len(row[i].text) > _LONG for row in table.rows) and not numbers[i] for i in columns]
        head = "".join(
            f'<th scope="col"{_classes(number=numbers[i])}>{_text(name)}</th>' for i, name in enumerate(table.header)
        )
        rows = "".join(
            f"<tr>{''.join(_cell(cell, i, numbers[i], longs[i]) for i, cell in enumerate(row))}</tr>\n"
            for row in table.rows
        )
        sortable = ' class="sortable"' if len(table.rows) > 2 else ""
        return (
            f'<div class="table-block"><p class="table-title" id="{key}">{_text(table.caption)}</p>'
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{key}">'
            f'<table aria-labelledby="{key}"{sortable}><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
            "</div></div>\n"
        )

    def figure(self, figure: Figure) -> str:
        self.figures += 1
        key = f"figure-{self.figures}"
        self.drawn(figure.title)
        end = "" if figure.title.endswith("?") else "."
        numbers = ""
        if figure.table:
            numbers = self.folded(f"Numbers of figure {self.figures}", figure.table)
        return (
            f'<figure id="{key}"><div class="scroll" role="region" tabindex="0" aria-labelledby="{key}-title">'
            f"{inline_svg(figure.chart, key, figure.title)}</div>"
            f"<figcaption><strong>Figure {self.figures}. {_text(figure.title)}{end}</strong> {_text(figure.caption)}"
            f"</figcaption>{numbers}</figure>\n"
        )

    def folded(self, name: str, table: Table) -> str:
        return f"<details><summary>{name}</summary>{self.table(table)}</details>"

    def heat_maps(self, block: HeatMaps) -> str:
        self.drawn(block.grounded.image)
        return self.maps.write(block) + (self.folded("Numbers of the maps", block.table) if block.table else "")

    def examples(self, block: Examples, level: int) -> str:
        inside = "".join(_example(each, self.heat_maps(each.maps) if each.maps else "") for each in block.examples)
        if any(_is_marked(each) for each in block.examples):
            inside = LEGEND + inside
        return f"<details{'' if block.folded else ' open'}><summary>{escape(block.title)}</summary>{inside}</details>\n"


def _is_marked(example: Example) -> bool:
    return any(word.fate for words in (example.words, *(each.words for each in example.systems)) for word in words)


def _example(example: Example, maps: str) -> str:
    references = "".join(f"<li>{escape(each)}</li>" for each in example.references[:_REFERENCES])
    if (more := len(example.references) - _REFERENCES) > 0:
        references += f"<li>and {more} more</li>"
    listed = f'<p class="quiet">References</p><ul>{references}</ul>' if references else ""
    picture = ""
    if example.picture and not maps:
        name = escape(f"The picture {example.image}")
        picture = f'<img class="picture" src="{escape(example.picture)}" alt="{name}">'
    inside = f"{_captions(example)}{_facts(example.facts)}{_systems(example)}{listed}"
    return f'<div class="example{" pictured" if picture else ""}">{picture}<div>{inside}</div>{maps}</div>'


def _captions(example: Example) -> str:
    """One, or the two of a pair."""
    if example.systems:
        return ""
    first = words(example.words) if example.words else escape(example.caption)
    both = zip(example.marks, [first, *([escape(example.other)] if example.other else [])])
    return "".join(
        f"<blockquote>{f'<small>{escape(mark)}</small> ' if mark else ''}{text}</blockquote>" for mark, text in both
    )


def _systems(example: Example) -> str:
    cards = "".join(
        f'<div class="spoken"><p class="quiet">{escape(each.system)}</p>'
        f"<blockquote>{words(each.words) if each.words else escape(each.caption)}</blockquote>"
        f"{_facts(each.facts)}</div>"
        for each in example.systems
    )
    return f'<div class="side">{cards}</div>' if cards else ""


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    shown = "".join(f"<div><dt>{escape(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts)
    return f'<dl class="facts">{shown}</dl>' if shown else ""


def _cell(cell: Cell, column: int, is_number: bool, is_long: bool) -> str:
    tag, scope = ("th", ' scope="row"') if column == 0 else ("td", "")
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    text = escape(cell.text) if cell.code else _text(cell.text)
    inside = f"<code>{text}</code>" if cell.code else text
    if cell.value is not None:  # the interval stands back behind the value
        inside = re.sub(r" ([\[(].*)", r" <small>\1</small>", inside)
    return f"<{tag}{scope}{value}{_classes(number=is_number, best=cell.best, long=is_long)}>{inside}</{tag}>"


def _classes(**given: bool) -> str:
    names = " ".join(name for name, wanted in given.items() if wanted)
    return f' class="{names}"' if names else ""
