"""`capeval report`, and the report of `capeval score`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from capeval.cli.common import command_line, note, options
from capeval.cli.paths import Command, Reads, Writes, WritesInto, feature_files, pictures_below
from capeval.cli.progress import running
from capeval.documents import CompareDocument, ScoreDocument
from capeval.errors import counted
from capeval.results import Result
from capeval.run import Run
from capeval.types import Array


@click.command("report", cls=Command)
@click.argument("results", metavar="RESULT...", nargs=-1, required=True, type=Reads())
@options(
    click.option("-o", "--output", metavar="FILE", type=Writes(form="HTML"), help="The page (HTML)."),
    click.option("--latex", metavar="FILE", type=Writes(form="LaTeX"), help="Write the tables in LaTeX (booktabs)."),
    click.option("--markdown", metavar="FILE", type=Writes(form="Markdown"), help="Write the tables in Markdown."),
    click.option("--figures", metavar="DIR", type=WritesInto("[0-9][0-9]*-*.svg", "[0-9][0-9]*-*.png"),
                 help="Write each figure as SVG and PNG."),
    click.option("--title", metavar="TEXT", help="Title of the page."),
    click.option("--scores", "files", multiple=True, metavar="FILE", type=Reads(),
                 help="Scores made elsewhere, by id (CSV, TSV or JSONL): they stand beside those of each caption."),
    click.option("-r", "--references", multiple=True, metavar="FILE", type=Reads(),
                 help="References, to be shown with the examples; repeat it to add those of other files."),
    click.option("--images", metavar="DIR", type=Reads(pictures_below),
                 help="Folder of the pictures, to stand beside the examples; with heat maps if tiger scored them."),
    click.option("--features", metavar="FILE", type=Reads(feature_files),
                 help="With --images: regions of your own, for a model that knows them."),
)  # fmt: skip
def report_command(
    results: tuple[str, ...],
    output: str | None,
    latex: str | None,
    markdown: str | None,
    figures: str | None,
    title: str | None,
    files: tuple[str, ...],
    references: tuple[str, ...],
    images: str | None,
    features: str | None,
) -> None:
    """Make one page of RESULTs: tables, intervals, tests, distributions, curves and examples.

    \b
    capeval bench run flickr8k-expert --combine 3 --json expert.json
    capeval report expert.json -o report.html
    Several results on one page, with tables for a paper and figure files:
      capeval report scores.json comparison.json curves.json -o report.html --latex tables.tex --figures figures
    Scores of each caption beside those of another tool:
      capeval score results.json -r refs.json --per-caption each.jsonl --json scores.json
      capeval report scores.json each.jsonl --scores clipscore.csv -r refs.json -o report.html

    A RESULT is what `capeval score`, `compare`, `bench run`, `bench all` or `robust` keeps with --json, or a file of
    `capeval score --per-caption` (JSONL, CSV or TSV). The page is one file that needs no network.
    """
    if features and not images:
        raise click.UsageError("--features goes with --images, which shows the pictures")
    if not (output or latex or markdown or figures):
        raise click.UsageError("say what to write: -o FILE, --latex FILE, --markdown FILE or --figures DIR")
    from capeval.io.captions import read_references
    from capeval.io.files import writing
    from capeval.report import report
    from capeval.report.html import encoded
    from capeval.report.plots import require_matplotlib

    if output or figures:
        require_matplotlib()
    with running() as run:
        run.progress.step("reading results")
        known = read_references(*references) if references else None
        made = report(
            results, title=title, scores=files, references=known, images=images, features=features,
            command=command_line(), run=run,
        )  # fmt: skip
        texts = [(latex, made.latex() if latex else ""), (markdown, made.markdown() if markdown else "")]
        texts.append((output, made.html(run.progress.step) if output else ""))
        drawn = made.write_figures(figures, run.progress.step) if figures else []
        for path, text in texts:
            if path:
                with writing(path) as stream:
                    stream.write(encoded(text))
    for path in (output, latex, markdown):
        if path and path != "-":
            note(f"wrote {path}")
    if drawn:
        note(f"wrote {counted(len(drawn), 'file')} to {figures}")


def check_report_options(page: str | None, files: Sequence[str]) -> None:
    """Before any work is done: whether `capeval score` can write the page that it is asked for."""
    if files and not page:
        raise click.UsageError("--scores goes with --report, which shows them")
    if page:
        from capeval.report.plots import require_matplotlib

        require_matplotlib()


def write_score_report(
    path: str,
    result: Result,
    scores: ScoreDocument,
    elsewhere: Mapping[str, Array],
    images: str | None,
    run: Run,
) -> None:
    """The page of `capeval score --report`."""
    from capeval.report import report
    from capeval.report.inputs import caption_scores

    rows = caption_scores(result).beside(elsewhere)
    made = report([scores, rows], images=images, command=command_line(), run=run)
    made.write(path, run.progress.step)
    note(f"wrote {path}")


def write_comparison_report(path: str, compared: CompareDocument, result: Result, images: str | None, run: Run) -> None:
    """The page of `capeval compare --report`."""
    from capeval.report import report
    from capeval.report.inputs import caption_scores

    rows = caption_scores(result)
    rows = replace(rows, systems=[name.upper() for name in rows.systems])
    made = report([compared, rows], images=images, command=command_line(), run=run)
    made.write(path, run.progress.step)
    note(f"wrote {path}")
