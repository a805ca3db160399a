"""`capeval score`."""

from __future__ import annotations

from typing import Any

import click

from capeval.cli.common import (
    checked,
    format_option,
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
    threads_option,
    tokenizer_option,
)
from capeval.evaluate import Result, evaluate
from capeval.io.captions import join, read_candidates, read_references
from capeval.progress import status

Intervals = dict[str, tuple[float, float]]


@click.command("score")
@click.argument("candidates", metavar="CANDIDATES")
@options(
    references_option,
    metrics_option,
    format_option,
    click.option(
        "--per-caption", metavar="FILE", help="Write the scores of each caption (JSONL, CSV, TSV or Parquet)."
    ),
    click.option("--intervals", is_flag=True, help="Add 95 % bootstrap intervals."),
    click.option("--save", metavar="FILE", help="Keep the statistics, for `capeval join`."),
    click.option("--strict", is_flag=True, help="References without a candidate are an error."),
    tokenizer_option,
    threads_option,
    resamples_option,
    seed_option,
)
def score_command(
    candidates: str,
    references: str,
    metrics: tuple[str, ...],
    format_: str,
    per_caption: str | None,
    intervals: bool,
    save: str | None,
    strict: bool,
    tokenizer: str,
    threads: int,
    resamples: int,
    seed: int,
) -> None:
    """Score the captions in CANDIDATES against references.

    \b
    capeval score results.json -r captions_val2014.json
    capeval score results.jsonl.gz -r refs.json -m bleu -m 'cider_d(df=coco-val2014)' --format json
    capeval score results.csv -r refs.json --per-caption scores.csv --intervals

    Rows with a `system` field are scored system by system. The signature beside each score names all that decides
    it; quote it with the number.
    """
    refuse_two_stdin(candidates, references)
    wanted = checked(metrics)
    if per_caption == "-":
        raise click.UsageError("--per-caption needs a file: standard output has the result")
    with status() as step:
        step("reading files")
        joined = join(read_candidates(candidates), read_references(references), strict=strict)
        if joined.unused_images:
            note(f"{joined.unused_images} images with references have no candidate and are left out.")
        result = evaluate(joined.dataset, wanted, tokenizer=tokenizer, threads=threads, progress=step, note=note)
        if per_caption:
            from capeval.io.results import write_rows

            step("writing scores per caption")
            write_rows(per_caption, result.records())
        if save:
            from capeval.stored import save as save_result

            save_result(result, save)
        systems = result.by_system() if len(set(result.systems)) > 1 else {"": result}
        ranges: dict[str, Intervals] = {}
        if intervals:
            step("resampling")
            ranges = {name: each.intervals(resamples=resamples, seed=seed) for name, each in systems.items()}
    print_result(result, systems, ranges, format_)


def print_result(result: Result, systems: dict[str, Result], ranges: dict[str, Intervals], format_: str) -> None:
    if format_ == "json":
        print_json(_as_json(result, systems, ranges))
        return
    several = len(systems) > 1
    header = [*(["system"] if several else []), "metric", "score", *(["low", "high"] if ranges else []), "signature"]
    rows: list[list[Any]] = []
    for name, each in systems.items():
        for key, value in each.scores.items():
            rows.append(
                [*([name] if several else []), key, value, *ranges.get(name, {}).get(key, ()), each.signatures[key]]
            )
    if format_ == "csv":
        print_csv(header, rows)
        return
    note(f"{len(result):,} captions")
    shown = [[f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row] for row in rows]
    print_table(header, shown, numbers=[i for i, name in enumerate(header) if name in ("score", "low", "high")])


def _as_json(result: Result, systems: dict[str, Result], ranges: dict[str, Intervals]) -> dict[str, Any]:
    data = result.to_dict()
    for name, found in ranges.items():
        place = data["systems"][name] if len(systems) > 1 else data
        place["intervals"] = {key: {"low": low, "high": high} for key, (low, high) in found.items() if low == low}
    return data
