"""The tables of a report in LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capeval.report.blocks import Cell, Code, Figure, Section, Table, Text

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "≥": r"$\geq$",
    "…": r"\dots{}",
    "τ": r"$\tau$",
}


def latex(title: str, sections: Sequence[Section]) -> str:
    """A fragment with one `table` for each table, to be put into a document with \\input."""
    lines = ["% " + " ".join(title.split()), r"% Needs \usepackage{booktabs} and \usepackage[T1]{fontenc}."]
    for number, (section, table) in enumerate(_tables(sections), 1):
        numbers = [any(row[i].value is not None for row in table.rows) for i in range(len(table.header))]
        columns = "".join("r" if each else "l" for each in numbers)
        lines += [
            "",
            "% " + " ".join(section.title.split()),
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(table.caption)}}}",
            rf"\label{{tab:capeval-{number}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _latex_row(Cell(name) for name in table.header),
            r"\midrule",
            *(_latex_row(row) for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterator[Cell] | Sequence[Cell]) -> str:
    # A line that begins with a bracket would be read as the argument of the line break before it.
    return "{}" + " & ".join(_latex_cell(cell) for cell in cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    text = rf"\texttt{{{text}}}" if cell.code else text
    return rf"\textbf{{{text}}}" if cell.best else text


def escape_latex(text: str) -> str:
    """Plain text for LaTeX; characters that cannot be seen are dropped, since it stops at some of them."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()) if letter.isprintable())


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Headings, texts, tables and commands."""
    lines = [f"# {escape_markdown(title)}"]
    for section in sections:
        lines += _markdown_section(section, 2)
    return "\n".join(lines) + "\n"


def _markdown_section(section: Section, level: int) -> list[str]:
    inside: list[str] = []
    for block in section.flat():
        if isinstance(block, Code):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "\n".join(block.lines))), default=0))
            inside += ["", fence, *block.lines, fence]
        if isinstance(block, Text):
            inside += ["", escape_markdown(block.text)]
        table = block.table if isinstance(block, Figure) else block if isinstance(block, Table) else None
        if table:
            inside += ["", f"**{escape_markdown(table.caption)}**", "", *_markdown_table(table)]
    for each in section.sections:
        inside += _markdown_section(each, level + 1)
    return ["", f"{'#' * min(level, 6)} {escape_markdown(section.title)}", *inside] if inside else []


def _markdown_table(table: Table) -> list[str]:
    numbers = [any(row[i].value is not None for row in table.rows) for i in range(len(table.header))]
    return [
        _markdown_row(escape_markdown(name) for name in table.header),
        _markdown_row("---:" if each else "---" for each in numbers),
        *(_markdown_row(_markdown_cell(cell) for cell in row) for row in table.rows),
    ]


def _markdown_row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    if cell.code and "`" not in cell.text:
        text = "`" + " ".join(cell.text.split()).replace("|", r"\|") + "`"
    else:
        text = cell.text if cell.value is not None else escape_markdown(cell.text)
    return f"**{text}**" if cell.best else text


def escape_markdown(text: str) -> str:
    """Letters that would be read as markup, or as HTML, are made plain."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))


def _tables(sections: Sequence[Section]) -> Iterator[tuple[Section, Table]]:
    for top in sections:
        for section in top.walk():
            for block in section.flat():
                if isinstance(block, Table):
                    yield section, block
                elif isinstance(block, Figure) and block.table:
                    yield section, block.table
