"""One report from several results, and the forms it is written in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike, source_name, writing
from capeval.report import html, tables
from capeval.report.benched import benchmark_section
from capeval.report.blocks import Block, Cell, Code, Figure, Section, Table, name_cell
from capeval.report.compared import comparison_section
from capeval.report.inputs import CaptionScores, References, read_result
from capeval.report.plain import captions_section, scores_section
from capeval.report.robust import robust_section
from capeval.version import __version__

DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""What a result that was changed by hand may lead to."""

Source = PathLike | Mapping[str, Any] | CaptionScores | Any
"""A file, its content, or an object with `to_dict` such as a `Result` or what `capeval.bench.run` gives."""


@dataclass(frozen=True)
class Report:
    """Sections of tables, figures and examples; the same ones make the page, the tables and the figure files."""

    title: str
    sections: Sequence[Section]

    def figures(self) -> list[Figure]:
        found = [block for top in self.sections for each in top.walk() for block in each.blocks]
        return [block for block in found if isinstance(block, Figure)]

    def html(self, progress: Callable[[str], None] = lambda step: None) -> str:
        """One page that needs nothing else (needs matplotlib)."""
        about = f"Made by capeval {__version__}. The commands and signatures behind it are at the end."
        return html.render(self.title, about, self.sections, lambda name: progress(f"drawing {name}"))

    def latex(self) -> str:
        """The tables, for \\input into a document."""
        return tables.latex(self.title, self.sections)

    def markdown(self) -> str:
        """The tables and the commands."""
        return tables.markdown(self.title, self.sections)

    def write(self, path: PathLike, progress: Callable[[str], None] = lambda step: None) -> None:
        """The page, or by the ending of the name the tables in LaTeX (.tex) or Markdown (.md)."""
        ending = Path(os.fspath(path)).suffix.lower()
        text = self.latex() if ending == ".tex" else self.markdown() if ending == ".md" else self.html(progress)
        with writing(path) as stream:
            stream.write(encoded(text))

    def write_figures(self, folder: PathLike, progress: Callable[[str], None] = lambda step: None) -> list[Path]:
        """Each figure as SVG and PNG, named by its number and content."""
        from capeval.report import plots

        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataError(f"cannot be made: {problem.strerror}", file=os.fspath(folder)) from problem
        written = []
        for number, figure in enumerate(self.figures(), 1):
            progress(f"drawing {figure.title}")
            name = re.sub(r"[^A-Za-z0-9_]+", "-", figure.name).strip("-")[:80]
            for form in ("svg", "png"):
                path = place / f"{number:02}-{name}.{form}"
                with writing(path) as stream:
                    stream.write(plots.draw(figure.chart, form=form, title=figure.title))
                written.append(path)
        return written


def encoded(text: str) -> bytes:
    """UTF-8; half a character, which JSON can smuggle in, is replaced."""
    return text.encode("utf-8", "replace")


def report(
    results: Source | Iterable[Source],
    *,
    title: str | None = None,
    scores: Sequence[PathLike] = (),
    references: References | None = None,
    command: str | None = None,
) -> Report:
    """A report of results: files or what is in them, as the commands print it with `--format json`, files of scores for
    each caption, or the objects that `capeval.score`, `capeval.compare` and `capeval.bench.run` give.

    `scores` are files of scores made elsewhere, which stand beside those of each caption; `references`, by image, are
    shown with examples.
    """
    is_one = isinstance(results, str | os.PathLike | Mapping | CaptionScores) or hasattr(results, "to_dict")
    listed: list[Any] = [results] if is_one else list(cast(Iterable[Any], results))
    loaded = [_loaded(each) for each in listed]
    if not loaded:
        raise CapevalError("there is no result to report on")
    captions = [data for _, data in loaded if isinstance(data, CaptionScores)]
    if scores and len(captions) != 1:
        raise CapevalError(
            f"scores made elsewhere stand beside one file of scores for each caption (`capeval score --per-caption`), "
            f"and {len(captions)} are given. For a benchmark use `capeval bench run --scores`"
        )
    sections: list[Section] = []
    made: list[Block] = []
    commands: list[str] = []
    for name, data in loaded:
        if isinstance(data, CaptionScores):
            rows = data.with_scores(scores)
            sections.append(captions_section(replace(rows, references=references or rows.references)))
            continue
        try:
            sections.append(_section(data, name, Path(name).name))
            made += _signatures(data, sections[-1].title)
        except DAMAGE as problem:
            raise DataError(
                f"the result is not complete: {type(problem).__name__}: {problem}", file=name or None
            ) from problem
        if isinstance(data.get("command"), str):
            commands.append(data["command"])
    if command:
        commands.append(command)
    made = [*([Code(commands)] if commands else []), *made]
    end = [Section("How it was made", made)] if made else []
    return Report(title or _title(sections), [*sections, *end])


def _signatures(data: Mapping[str, Any], title: str) -> list[Block]:
    """One table for each set of signatures in a result: all that decides each score."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    if data.get("signatures"):
        found.append((title, data["signatures"]))
    for part in data.get("analysis") or ():
        tags = [f"{key}: {value}" for key, value in part.items() if isinstance(value, str)]
        found.append((", ".join([title, *tags]), part.get("signatures") or {}))
    if str(data.get("kind", "")).startswith("robust"):
        found.append((title, {row["metric"]: row["signature"] for row in data["metrics"] if row.get("signature")}))
    return [
        Table(
            f"Signatures: {name}",
            ["metric", "signature"],
            [[name_cell(key), Cell(str(text))] for key, text in signatures.items()],
        )
        for name, signatures in found
        if signatures
    ]


def _loaded(source: Any) -> tuple[str, dict[str, Any] | CaptionScores]:
    if isinstance(source, CaptionScores):
        return source.name, source
    if isinstance(source, Mapping):
        return "", dict(source)
    if hasattr(source, "to_dict"):
        return "", source.to_dict()
    return source_name(source), read_result(source)


def _section(data: Mapping[str, Any], name: str, shown: str) -> Section:
    """`shown` is what the page calls the file: folders are nobody else's business."""
    if str(data.get("kind", "")).startswith("robust"):
        return robust_section(data, shown)
    if "benchmark" in data:
        return benchmark_section(data, shown)
    if "comparisons" in data:
        return comparison_section(data, shown)
    if "scores" in data:
        return scores_section(data, shown)
    raise DataError(
        "this is no result that a report can show. It takes what `capeval score`, `compare`, `bench run` and `robust` "
        "print with --format json",
        file=name or None,
    )


def _title(sections: Sequence[Section]) -> str:
    names = list(dict.fromkeys(section.title for section in sections if section.title != "Scores of each caption"))
    shown = ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")
    return f"Caption evaluation: {shown.lower()}" if names else "Caption evaluation"
