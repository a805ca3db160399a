"""`capeval score`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import click
from click.core import ParameterSource

from capeval.bestof import split_best, with_best
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
    several_option,
    split_option,
)
from capeval.cli.report import check_report_options, write_score_report
from capeval.cli.streamoptions import refuse_stream_options, stream_options
from capeval.errors import counted
from capeval.evaluate import evaluate
from capeval.io.captions import Joined, join, read_candidates, remarks
from capeval.results import Ranges, Result
from capeval.runtime.pictures import open_pictures
from capeval.types import Array


@click.command("score", cls=Command)
@click.argument("candidates", metavar="CANDIDATES...", nargs=-1, required=True, type=Reads())
@options(
    optional_references_option,
    images_option,
    features_option,
    metrics_option,
    format_option,
    percent_option,
    json_option,
    click.option("--per-caption", metavar="FILE", type=Writes(beside=True),
                 help="Write the scores of each caption (JSONL, CSV, TSV or Parquet)."),
    click.option("--intervals", is_flag=True, help="Add 95 % bootstrap intervals."),
    click.option("--report", "page", metavar="FILE", type=Writes(beside=True, form="HTML"),
                 help="Write a page with tables, figures and examples (HTML)."),
    click.option("--scores", "files", multiple=True, metavar="FILE", type=Reads(),
                 help="For --report: scores made elsewhere, by id (CSV, TSV or JSONL), to stand beside ours."),
    click.option("--save", metavar="FILE", type=Writes(form="a NumPy archive"),
                 help="Keep the statistics, for `capeval join`."),
    signatures_option,
    click.option("--strict", is_flag=True, help="References without a candidate are an error."),
    id_option,
    caption_option,
    split_option,
    several_option,
    tokenizer_option,
    threads_option,
    resamples_option,
    seed_option,
    *stream_options,
)  # fmt: skip
def score_command(
    candidates: tuple[str, ...],
    references: tuple[str, ...],
    images: str | None,
    features: str | None,
    metrics: tuple[str, ...],
    format_: str,
    percent: bool,
    json_file: str | None,
    per_caption: str | None,
    intervals: bool,
    page: str | None,
    files: tuple[str, ...],
    save: str | None,
    signatures: bool,
    strict: bool,
    ids: tuple[str, ...],
    caption: str | None,
    split: str | None,
    several: bool,
    tokenizer: str,
    threads: int,
    resamples: int,
    seed: int,
    **streaming: Any,
) -> None:
    """Score the captions in CANDIDATES against references.

    \b
    capeval score results.json -r captions_val2014.json
    capeval score results.jsonl.gz -r refs.json -m bleu -m 'cider_d(df=coco-val2014)' --format json
    capeval score results.csv -r refs.json --per-caption scores.csv --intervals
    capeval score results.json -r refs.json --report report.html --scores clipscore.csv
    capeval score predictions.jsonl                 (rows with a prediction and its references)
    capeval score hyp.txt -r ref0.txt -r ref1.txt   (line by line)
    capeval score shards/*.parquet -m rouge_l -m 'cider_d(df=coco-val2014)' -o scored/ --filter 'cider_d > 0.4'

    -m spider_max (or any other score with _max) takes the best of several captions of an image.

    Rows with a `system` field are scored system by system. The signatures below the table say what decides each score:
    quote them with the number.

    With -o, CANDIDATES are shards of any size (Parquet, JSONL, CSV, webdataset tar), whose rows hold their references:
    they come out with a column for each score (docs/scale.md).
    """
    plain, best = split_best(metrics)
    wanted = checked(plain)
    if streaming["output"]:
        from capeval.cli.stream import score_into

        refuse_both_pictures(images, features)
        if best:
            raise click.UsageError("the best of several captions of an image is for one file, without -o")
        score_into(
            candidates, wanted, references=references, ids=ids, caption=caption, images=images, features=features,
            tokenizer=tokenizer,
            threads=threads, intervals=intervals, resamples=resamples, seed=seed, format_=format_, json_file=json_file,
            others={"--per-caption": per_caption, "--report": page, "--scores": files, "--save": save,
                    "--strict": strict, "--split": split, "--several": several, "--percent": percent},
            **streaming,
        )  # fmt: skip
        return
    refuse_stream_options(streaming)
    if len(candidates) > 1:
        raise click.UsageError("several files are scored as shards, into a folder: name it with -o")
    refuse_both_pictures(images, features)
    check_report_options(page, files)
    note_idle_resamples(intervals or page)
    if per_caption:
        note_unknown_ending(per_caption)
    with running(tokenizer, threads) as run:
        run.progress.step("reading files")
        reading, known = references_option_read(references, reading_of(run, ids, caption, split, several or bool(best)))
        read = read_candidates(candidates[0], reading)
        refuse_unknown_columns(reading)
        if known is None and read.references is None:
            refuse_without_references(wanted, bool(images or features))
        joined = join(read, known, strict=strict)
        joined.dataset.features = open_pictures(images, features, run)
        note_join(joined)
        elsewhere: dict[str, Array] = {}
        if files:  # what is wrong with them shows before the scoring
            from capeval.report.inputs import read_beside

            elsewhere = read_beside(files, joined.dataset.ids, joined.dataset.systems)
        result = kept = evaluate(joined.dataset, wanted, run)
        if best:
            result = with_best(kept, best)
            if len(set(zip(kept.images, kept.systems, strict=True))) == len(kept):
                note("No image has several captions, so that the best of each is the only one.")
        if per_caption:
            from capeval.io.scores import write_rows

            run.progress.step("writing scores per caption")
            with beside():
                write_rows(per_caption, result.records())
        if save:
            from capeval.results import save as save_result

            with beside():
                save_result(kept, save)
        ranges = {}
        if intervals or page:
            run.progress.step("resampling")
            ranges = result.ranges(resamples=resamples, seed=seed)
        document = result.document(ranges)
        if page:
            with beside():
                write_score_report(page, result, document, elsewhere, images, run)
    keep_json(json_file, document)
    print_result(result, ranges if intervals else {}, format_, percent=percent, whole_signatures=signatures)


def note_join(joined: Joined) -> None:
    if joined.endings:
        note(f"Images go by their names without endings ({joined.endings}), as not all ids have them.")
    if joined.unused_images:
        have = "image with references has" if joined.unused_images == 1 else "images with references have"
        note(
            f"{joined.unused_images:,} {have} no candidate and {'is' if joined.unused_images == 1 else 'are'} left out."
        )
    for remark in remarks(joined.dataset):
        note(f"{remark}.")


def note_idle_resamples(used: object) -> None:
    """Where nothing is resampled, a number of resamples or a seed has no effect."""
    context = click.get_current_context()
    given = [
        name for name in ("resamples", "seed") if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given and not used:
        note(f"{' and '.join(f'--{name}' for name in given)} without effect: nothing is resampled without --intervals.")


def note_unknown_ending(path: str) -> None:
    from capeval.io.files import format_from_name

    ending = PurePath(path.removesuffix(".gz")).suffix
    if ending and not format_from_name(path):
        note(f"{path}: {ending} is no format of ours, so it becomes JSONL (others: .json, .csv, .tsv, .parquet).")


def print_result(
    result: Result,
    ranges: Mapping[str, Ranges],
    format_: str,
    *,
    percent: bool = False,
    whole_signatures: bool = False,
) -> None:
    if format_ == "json":
        print_document(result.document(ranges))
        return
    several = result.has_systems
    header = [*(["system"] if several else []), "metric", "score", *(["low", "high"] if ranges else []), "signature"]
    rows: list[list[Any]] = []
    for name, each in result.parts().items():
        for key, value in each.scores.items():
            limits = ranges[name][key] if ranges else ()
            rows.append([*([name] if several else []), key, value, *limits, each.signatures[key]])
    if percent:
        rows = [in_percent(row) for row in rows]
    if format_ == "csv":
        print_csv(header, blank_nan(rows))
        return
    note(f"{counted(len(result), 'caption')}{', scores x 100' if percent else ''}")
    places = range(len(header) - 1)  # signatures stand below
    print_table(
        header[:-1],
        [[shown_number(cell) for cell in row[:-1]] for row in rows],
        numbers=[i for i in places if header[i] in ("score", "low", "high")],
        names=[i for i in places if header[i] in ("system", "metric")],
    )
    print_signatures(result.signatures, whole_signatures)
