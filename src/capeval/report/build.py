"""One report from several results, and the forms it is written in."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from capeval import verdict
from capeval.documents import (
    BenchDocument,
    CompareDocument,
    Document,
    LeaderboardDocument,
    RobustDocument,
    ScoreDocument,
    decode,
)
from capeval.documents.types import AttacksDocument, ChoicesDocument, CurvesDocument, ProbeDocument
from capeval.errors import CapevalError, DataError
from capeval.io.files import PathLike, source_name, writing
from capeval.report import html, tables
from capeval.report.benched import benchmark_section
from capeval.report.blocks import Block, Cell, Code, Figure, Folded, Section, Table, name_cell
from capeval.report.board import leaderboard_section
from capeval.report.compared import comparison_section
from capeval.report.examplemaps import with_maps
from capeval.report.inputs import CaptionScores, References, read_result
from capeval.report.plain import captions_section, scores_section
from capeval.report.robust import robust_section
from capeval.report.thumbnails import with_pictures
from capeval.run import Run
from capeval.types import Features
from capeval.version import __version__

Source = PathLike | Mapping[str, Any] | Document | CaptionScores | Any
"""A file, its content, or an object with `to_dict` such as a `Result` or what `capeval.bench.run` gives."""


@dataclass(frozen=True)
class Report:
    """Sections of tables, figures and examples; the same ones make the page, the tables and the figure files."""

    title: str
    sections: Sequence[Section]
    verdicts: Sequence[str] = ()
    """What it comes to, a sentence for each result that has one."""

    def figures(self) -> list[Figure]:
        found = [block for top in self.sections for each in top.walk() for block in each.flat()]
        return [block for block in found if isinstance(block, Figure)]

    def html(self, progress: Callable[[str], None] = lambda step: None) -> str:
        """One page that needs nothing else (needs matplotlib)."""
        about = f"Made by capeval {__version__}. The commands and signatures behind it are at the end."
        return html.render(self.title, about, self.sections, lambda name: progress(f"drawing {name}"), self.verdicts)

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
            stream.write(html.encoded(text))

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


def report(
    results: Source | Iterable[Source],
    *,
    title: str | None = None,
    scores: Sequence[PathLike] = (),
    references: References | None = None,
    images: PathLike | Mapping[str, PathLike] | None = None,
    features: PathLike | Features | None = None,
    command: str | None = None,
    run: Run | None = None,
) -> Report:
    """A report of results: files or what is in them, as the commands print it with `--format json`, files of scores for
    each caption, or the objects that `capeval.score`, `capeval.compare` and `capeval.bench.run` give.

    `scores` are files of scores made elsewhere, which stand beside those of each caption; `references`, by image, are
    shown with examples, whose words they mark. `images`, a folder of pictures or a dict id -> file, stand beside the
    examples, and show where captions lie on them if tiger is among the scores; `features` have their regions where the
    model knows features of your own.
    """
    is_one = isinstance(results, str | os.PathLike | Mapping | Document | CaptionScores) or hasattr(results, "to_dict")
    listed: list[Any] = [results] if is_one else list(cast(Iterable[Any], results))
    loaded = [_loaded(each) for each in listed]
    if not loaded:
        raise CapevalError("there is no result to report on")
    captions = [data for _, data in loaded if isinstance(data, CaptionScores)]
    if scores and len(captions) != 1:
        raise CapevalError(
            f"scores made elsewhere stand beside one file of scores for each caption, and {len(captions)} are given",
            remedy="caption_scores",
        )
    sections: list[Section] = []
    made: list[Block] = []
    commands: list[str] = []
    for name, data in loaded:
        if isinstance(data, CaptionScores):
            rows = data.with_scores(scores)
            rows = replace(rows, references=references or rows.references)
            names = rows.scores.keys() - rows.elsewhere
            sections.append(with_pictures(with_maps(captions_section(rows), names, images, features, run), images))
            continue
        section = _section(data, Path(name).name)
        if name and any(each.title == section.title for each in sections):
            section = replace(section, title=f"{section.title}: {Path(name).name}")
        names = {row.metric for row in data.metrics} if isinstance(data, BenchDocument) else set()
        sections.append(with_pictures(with_maps(section, names, images, features, run), images))
        made += _signatures(data, sections[-1].title)
        if data.command:
            commands.append(data.command)
    if command:
        commands.append(command)
    signed: list[Block] = [Folded("Signatures: all that decides each score", made)] if made else []
    made = [*([Code(commands)] if commands else []), *signed]
    end = [Section("How it was made", made)] if made else []
    verdicts = [told for _, data in loaded if (told := _verdict(data))]
    return Report(title or _title(sections), distinct([*sections, *end]), list(dict.fromkeys(verdicts)))


def _verdict(data: Document | CaptionScores) -> str:
    if isinstance(data, CompareDocument):
        return verdict.compared(data)
    if isinstance(data, ScoreDocument):
        return verdict.scored(data)
    return verdict.benched(data) if isinstance(data, BenchDocument) else ""


def distinct(sections: Sequence[Section]) -> list[Section]:
    """The same sections under names that no two share, so that the contents say which is which."""
    seen: Counter[str] = Counter()

    def named(section: Section, top: str) -> Section:
        title = section.title
        if title in seen and top:
            title = f"{title}: {top}"
        seen[title] += 1
        if seen[title] > 1:
            title = f"{title} ({seen[title]})"
        return replace(section, title=title, sections=[named(each, top or title) for each in section.sections])

    return [named(section, "") for section in sections]


def _signatures(data: Document, title: str) -> list[Block]:
    """One table for each set of signatures in a result: all that decides each score."""
    found: list[tuple[str, Mapping[str, str]]] = []
    if isinstance(data, ScoreDocument | CompareDocument):
        found.append((title, data.signatures))
    elif isinstance(data, BenchDocument):
        for part in data.analysis:
            tags = [f"{key}: {value}" for key, value in part.tags.items()]
            found.append((", ".join([title, *tags]), part.signatures or {}))
    elif isinstance(data, CurvesDocument | ChoicesDocument | ProbeDocument | AttacksDocument):
        found.append((title, {row.metric: row.signature for row in data.metrics if row.signature}))
    return [
        Table(
            f"Signatures: {name}",
            ["metric", "signature"],
            [[name_cell(key), Cell(text)] for key, text in signatures.items()],
        )
        for name, signatures in found
        if signatures
    ]


def _loaded(source: Any) -> tuple[str, Document | CaptionScores]:
    if isinstance(source, CaptionScores):
        return source.name, source
    if isinstance(source, Document):
        return "", source
    if isinstance(source, Mapping):
        return "", decode(source)
    if hasattr(source, "to_dict"):
        return "", decode(source.to_dict())
    return source_name(source), read_result(source)


def _section(data: Document, shown: str) -> Section:
    """`shown` is what the page calls the file: folders are nobody else's business."""
    if isinstance(data, ScoreDocument):
        return scores_section(data, shown)
    if isinstance(data, CompareDocument):
        return comparison_section(data, shown)
    if isinstance(data, BenchDocument):
        return benchmark_section(data, shown)
    if isinstance(data, LeaderboardDocument):
        return leaderboard_section(data, shown)
    if isinstance(data, RobustDocument):
        return robust_section(data, shown)
    raise TypeError(f"there is no section for {type(data).__name__}")


def _title(sections: Sequence[Section]) -> str:
    names = list(dict.fromkeys(section.title for section in sections if section.title != "Scores of each caption"))
    shown = ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")
    return f"Caption evaluation: {shown.lower()}" if names else "Caption evaluation"
