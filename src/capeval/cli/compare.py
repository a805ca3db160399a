"""`capeval compare`."""

from __future__ import annotations

import click

from capeval.cli.common import (
    blank_nan,
    checked,
    format_option,
    json_option,
    keep_json,
    metrics_option,
    note,
    options,
    print_csv,
    print_json,
    print_table,
    references_option,
    refuse_two_stdin,
    resamples_option,
    seed_option,
    shown_number,
    threads_option,
    tokenizer_option,
)
from capeval.progress import status


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@options(
    references_option,
    metrics_option,
    format_option,
    json_option,
    tokenizer_option,
    threads_option,
    resamples_option,
    seed_option,
)
def compare_command(
    a: str,
    b: str,
    references: str,
    metrics: tuple[str, ...],
    format_: str,
    json_file: str | None,
    tokenizer: str,
    threads: int,
    resamples: int,
    seed: int,
) -> None:
    """Compare two systems' captions of the same images.

    \b
    capeval compare ours.json theirs.json -r captions_val2014.json -m cider_d

    Shows both scores, their difference with a 95 % interval from a paired bootstrap, and two p-values: the
    bootstrap's, and that of a permutation test which swaps the systems image by image.
    """
    refuse_two_stdin(a, b, references)
    from capeval.api import compare

    with status() as step:
        found = compare(
            a, b, references, checked(metrics),
            tokenizer=tokenizer, threads=threads, resamples=resamples, seed=seed, progress=step, note=note,
        )  # fmt: skip
    keep_json(json_file, found.to_dict() | {"a": a, "b": b})
    if format_ == "json":
        print_json(found.to_dict())
        return
    header = ["metric", "a", "b", "difference", "low", "high", "p_bootstrap", "p_permutation", "signature"]
    rows = [[key, *each, found.signatures[key]] for key, each in found.comparisons.items()]
    if format_ == "csv":
        print_csv(header, blank_nan(rows))
        return
    note(f"{found.n:,} captions of each system; A = {a}, B = {b}")
    shown = [[shown_number(cell) for cell in row] for row in rows]
    print_table(header, shown, numbers=range(1, 8))
