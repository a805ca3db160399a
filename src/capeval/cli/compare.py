"""`capeval compare`."""

from __future__ import annotations

import click

from capeval.cli.common import (
    beside,
    blank_nan,
    checked,
    features_option,
    format_option,
    images_option,
    in_percent,
    json_option,
    keep_json,
    metrics_option,
    note,
    optional_references_option,
    options,
    percent_option,
    print_csv,
    print_document,
    print_signatures,
    print_table,
    refuse_both_pictures,
    refuse_without_references,
    resamples_option,
    seed_option,
    shown_number,
    signatures_option,
    threads_option,
    tokenizer_option,
)
from capeval.cli.paths import Command, Reads, Writes
from capeval.cli.progress import running
from capeval.cli.reading import (
    caption_option,
    id_option,
    reading_of,
    references_option_read,
    refuse_unknown_columns,
    split_option,
)
from capeval.cli.report import check_report_options, write_comparison_report
from capeval.errors import counted
from capeval.showing import wrapped
from capeval.verdict import compared


@click.command("compare", cls=Command)
@click.argument("a", metavar="A", type=Reads())
@click.argument("b", metavar="B", type=Reads())
@options(
    optional_references_option,
    images_option,
    features_option,
    metrics_option,
    format_option,
    percent_option,
    json_option,
    id_option,
    caption_option,
    split_option,
    click.option("--report", "page", metavar="FILE", type=Writes(beside=True),
                 help="Write a page with the comparison, and captions of both systems side by side (HTML)."),
    signatures_option,
    tokenizer_option,
    threads_option,
    resamples_option,
    seed_option,
)  # fmt: skip
def compare_command(
    a: str,
    b: str,
    references: tuple[str, ...],
    images: str | None,
    features: str | None,
    metrics: tuple[str, ...],
    format_: str,
    percent: bool,
    json_file: str | None,
    ids: tuple[str, ...],
    caption: str | None,
    split: str | None,
    page: str | None,
    signatures: bool,
    tokenizer: str,
    threads: int,
    resamples: int,
    seed: int,
) -> None:
    """Compare two systems' captions of the same images.

    \b
    capeval compare ours.json theirs.json -r captions_val2014.json -m cider_d
    capeval compare ours.json theirs.json -r refs.json --images photos/ -m lece --report page.html

    Shows both scores, their difference with a 95 % interval from a paired bootstrap, and two p-values: the
    bootstrap's, and that of a permutation test which swaps the systems image by image. The last sentence says who is
    better, on what, and how sure that is.
    """
    wanted = checked(metrics)
    refuse_both_pictures(images, features)
    check_report_options(page, ())
    from capeval.api import compare
    from capeval.io.captions import read_candidates

    with running(tokenizer, threads) as run:
        run.progress.step("reading files")
        reading, known = references_option_read(references, reading_of(run, ids, caption, split))
        both = read_candidates(a, reading), read_candidates(b, reading)
        refuse_unknown_columns(reading)
        if known is None and both[0].references is None:
            refuse_without_references(wanted, bool(images or features))
        found = compare(
            *both, known, wanted, images=images, features=features,
            tokenizer=tokenizer, threads=threads, resamples=resamples, seed=seed, progress=run.progress,
        )  # fmt: skip
        if page:
            with beside():
                write_comparison_report(page, found.document(a, b), found.result, images, run)
    keep_json(json_file, found.document(a, b))
    if format_ == "json":
        print_document(found.document())
        return
    header = ["metric", "a", "b", "difference", "low", "high", "p_bootstrap", "p_permutation", "signature"]
    rows = [[key, *each, found.signatures[key]] for key, each in found.comparisons.items()]
    if percent:  # all but the p-values
        rows = [[*in_percent(row[:6]), *row[6:]] for row in rows]
    if format_ == "csv":
        print_csv(header, blank_nan(rows))
        return
    note(f"{counted(found.n, 'caption')} of each system; A = {a}, B = {b}")
    shown = [[shown_number(cell) for cell in row] for row in rows]
    short = ["metric", "A", "B", "A - B", "low", "high", "p\nboot", "p\nperm"]
    print_table(short, [row[:-1] for row in shown], numbers=range(1, 8))
    print_signatures(found.signatures, signatures)
    click.echo("\n" + "\n".join(wrapped(compared(found.document(a, b)), indent="")))
