"""`capeval bench all`: the leaderboard."""

from __future__ import annotations

import click
from msgspec import structs

from capeval.cli.benchoptions import (
    allow_seen_option,
    data_option,
    format_option,
    own_metrics_option,
    refuse_wrong,
    resamples_option,
)
from capeval.cli.common import (
    command_line,
    features_option,
    json_option,
    keep_json,
    note,
    options,
    print_document,
    print_table,
    refuse_both_pictures,
    seed_option,
    threads_option,
)
from capeval.cli.paths import Command, Reads, Writes, WritesInto, no_files, pictures_below
from capeval.cli.progress import running
from capeval.documents import LeaderboardDocument, decode_as
from capeval.documents.types import BoardCell, BoardColumn


@click.command("all", cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=Reads(no_files))
@options(
    own_metrics_option,
    data_option,
    click.option("--images", metavar="ROOT", type=Reads(pictures_below),
                 help="Folder of the pictures, for metrics that look at them."),
    features_option,
    click.option("--work", metavar="DIR", type=WritesInto("*.npy"),
                 help="Folder for what is computed, so that a second run need not; without it, one in the cache."),
    format_option,
    json_option,
    click.option("--markdown", metavar="FILE", type=Writes(beside=True, form="Markdown"),
                 help="Write the tables in Markdown."),
    click.option("--html", metavar="FILE", type=Writes(beside=True, form="HTML"), help="Write a page of them."),
    allow_seen_option,
    threads_option,
    resamples_option,
    seed_option,
)  # fmt: skip
def all_command(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    data: str | None,
    images: str | None,
    features: str | None,
    work: str | None,
    format_: str,
    json_file: str | None,
    markdown: str | None,
    html: str | None,
    allow_seen: bool,
    threads: int,
    resamples: int | None,
    seed: int,
) -> None:
    """Run every benchmark whose files are there, or those NAMEd, and make a leaderboard.

    \b
    capeval bench all --images photos/ --json board.json --markdown leaderboard.md
    A metric of your own, a function in mine.py that gives one score for each row of a dataset:
      capeval bench all -m mine:score -m cider_d -m spice

    What is computed is kept: an interrupted run goes on, and one metric more costs that metric alone. Figures of papers
    stand beside ours, marked as quoted. * marks the best metric of a benchmark and those that cannot be told apart
    from it.
    """
    from capeval.bench import Settings, leaderboard

    refuse_wrong(metrics)
    refuse_both_pictures(images, features)
    if html:
        from capeval.report.plots import require_matplotlib

        require_matplotlib()
    with running(threads=threads) as run:
        board = leaderboard(
            metrics or None, names=names, data=data, images=images, features=features, work=work,
            settings=Settings(resamples, seed), allow_seen=allow_seen, run=run,
        )  # fmt: skip
        found = structs.replace(decode_as(LeaderboardDocument, board.to_dict()), command=command_line())
    keep_json(json_file, found)
    _write_pages(found, [path for path in (markdown, html) if path])
    if format_ == "json":
        print_document(found)
    else:
        _print(found)


def _write_pages(found: LeaderboardDocument, paths: list[str]) -> None:
    if not paths:
        return
    from capeval.report import report

    made = report(found, title="Leaderboard: metrics that judge captions")
    for path in paths:
        made.write(path)
        note(f"wrote {path}")


def _print(found: LeaderboardDocument) -> None:
    header = ["metric", *(column.name for column in found.columns)]
    rows = [[row.metric, *(_shown(row.cells.get(c.name), c) for c in found.columns)] for row in found.metrics]
    for name in dict.fromkeys(each.metric for each in found.quoted):
        values = {each.column: each.value for each in found.quoted if each.metric == name}
        cells = [f"{values[c.name]:.{c.digits}f}" if c.name in values else "" for c in found.columns]
        rows.append([f"{name} (quoted)", *cells])
    print_table(header, rows, numbers=range(1, len(header)))


def _shown(cell: BoardCell | None, column: BoardColumn) -> str:
    if cell is None or cell.value is None:
        return "seen" if cell is not None and cell.seen else "-"
    marks = ("*" if cell.best else "") + (" seen" if cell.seen else "")
    return f"{cell.value:.{column.digits}f}{marks}"
