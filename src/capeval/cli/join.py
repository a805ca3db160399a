"""`capeval join`."""

from __future__ import annotations

import click

from capeval.cli.common import beside, format_option, options, resamples_option, seed_option, signatures_option
from capeval.cli.paths import Command, Reads, Writes
from capeval.cli.score import note_idle_resamples, note_unknown_ending, print_result


@click.command("join", cls=Command)
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=Reads())
@options(
    format_option,
    click.option("--per-caption", metavar="FILE", type=Writes(beside=True), help="Write the scores of each caption."),
    click.option("--intervals", is_flag=True, help="Add 95 % bootstrap intervals."),
    signatures_option,
    resamples_option,
    seed_option,
)
def join_command(
    parts: tuple[str, ...],
    format_: str,
    per_caption: str | None,
    intervals: bool,
    signatures: bool,
    resamples: int,
    seed: int,
) -> None:
    """Join PARTs that were scored apart with `capeval score --save`, and print the scores of the whole.

    \b
    capeval score part1.jsonl -r refs1.json -m bleu -m 'cider_d(df=coco-val2014)' --save part1.npz
    capeval score part2.jsonl -r refs2.json -m bleu -m 'cider_d(df=coco-val2014)' --save part2.npz
    capeval join part1.npz part2.npz
    """
    from capeval.io.scores import write_rows
    from capeval.results import join, load

    result = join([load(part) for part in parts])
    note_idle_resamples(intervals)
    if per_caption:
        note_unknown_ending(per_caption)
        with beside():
            write_rows(per_caption, result.records())
    print_result(
        result, result.ranges(resamples=resamples, seed=seed) if intervals else {}, format_, whole_signatures=signatures
    )
