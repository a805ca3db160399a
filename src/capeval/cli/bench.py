"""`capeval bench`: how well metrics agree with people."""

from __future__ import annotations

import json

import click
from msgspec import structs

from capeval.cli.benchoptions import (
    allow_seen_option,
    benchmark_files,
    data_option,
    format_option,
    own_metrics_option,
    refuse_wrong,
    resamples_option,
)
from capeval.cli.board import all_command
from capeval.cli.common import (
    command_line,
    features_option,
    json_option,
    keep_json,
    note,
    options,
    print_document,
    print_json,
    print_table,
    refuse_both_pictures,
    seed_option,
    threads_option,
)
from capeval.cli.paths import Group, Reads, pictures_below
from capeval.cli.progress import Terminal, running
from capeval.documents import BenchDocument, decode_as
from capeval.documents.types import Comparisons, Estimate, MetricRow
from capeval.errors import counted
from capeval.run import Run

name_argument = click.argument("name", metavar="NAME", type=Reads(benchmark_files))
variant_option = click.option(
    "--variant", "variants", multiple=True, metavar="NAME",
    help="The variant to run, such as `strict` for composite or `labels` for pascal-50s; repeat it for several.",
)  # fmt: skip


# A table with more columns of intervals is too wide for a terminal; JSON has all of them.
_MOST_INTERVALS = 5
_COMBINATIONS = 10  # of many; JSON has all of them
human_option = click.option(
    "--human", metavar="NAME",
    help="People's judgement, where there are several: `precision` of thumb, or the field of your own JSONL file.",
)  # fmt: skip


@click.group("bench", cls=Group)
def bench_command() -> None:
    """Measure how well metrics agree with people.

    \b
    capeval bench list
    capeval bench run flickr8k-expert -m cider_d -m bleu_4
    capeval bench run pascal-50s -m rouge_l --scores clipscore.csv --format json
    capeval bench run mine.jsonl --human score -m cider_d
    capeval bench all --images photos/ --html leaderboard.html
    capeval bench all -m mine:score
    capeval bench overlap composite thumb
    """


@bench_command.command("list")
@options(data_option, format_option)
def list_command(data: str | None, format_: str) -> None:
    """List the benchmarks, what each is for, where its files come from, and whether they are there."""
    from capeval.bench.registry import benchmarks, missing_files

    found = [(each, missing_files(each, data)) for each in benchmarks().values()]
    if format_ == "json":
        print_json(
            [
                {
                    "benchmark": each.name,
                    "summary": each.summary,
                    "purpose": each.purpose,
                    "variants": [variant for variant in each.variants if variant],
                    "default_variants": [variant for variant in each.default_variants if variant],
                    "papers": each.comparable(),
                    "files": {source.path: source.sha256 for source in each.sources},
                    "missing": missing,
                    "holds": each.holds,
                    "citation": each.citation,
                    "licence": each.licence,
                    "published": each.published,
                }
                for each, missing in found
            ]
        )
        return
    header = ["benchmark", "for", "what", "data", "citation", "licence"]
    rows = [
        [each.name, each.purpose, each.summary, "missing" if missing else "there", each.citation, each.licence]
        for each, missing in found
    ]
    print_table(header, rows)


@bench_command.command("overlap")
@click.argument("names", metavar="[A B]...", nargs=-1, type=Reads(benchmark_files))
@options(data_option, format_option)
def overlap_command(names: tuple[str, ...], data: str | None, format_: str) -> None:
    """Count the pictures that benchmarks share: of A and B, of each two of several, or of all whose files are there.

    Pictures are compared by COCO's number or Flickr's id, whatever their files are called.
    """
    from capeval.bench.overlap import overlaps

    if len(names) == 1:
        raise click.UsageError("name two benchmarks or more, or none for all")
    with running() as run:
        found = list(overlaps(names, data, run))
    if format_ == "json":
        print_json([each._asdict() for each in found])
        return
    shared = found if names else [each for each in found if each.both]
    rows = [[each.a, each.b, f"{each.both:,}", f"{each.pictures_a:,}", f"{each.pictures_b:,}"] for each in shared]
    print_table(["a", "b", "in both", "in a", "in b"], rows, numbers=[2, 3, 4])


@bench_command.command("rows")
@name_argument
@options(data_option, variant_option, human_option)
def rows_command(name: str, data: str | None, variants: tuple[str, ...], human: str | None) -> None:
    """Print the captions of a benchmark as JSONL, to be scored elsewhere: --scores reads the scores.

    Pairs come with all references of their image; a run draws some of them.
    """
    from capeval.bench import load

    if len(variants) > 1:
        raise click.UsageError("rows are printed for one variant: give --variant once")
    form = load(name, data, variants[0] if variants else None, Run(progress=Terminal()), human)
    for row in form.captions():
        fields = {"id": row.id, "image": row.image, "candidate": row.candidate, "references": row.references}
        click.echo(json.dumps(fields, ensure_ascii=False))


@bench_command.command("run")
@name_argument
@options(
    own_metrics_option,
    click.option("--scores", "files", multiple=True, metavar="FILE", type=Reads(),
                 help="Scores made elsewhere, by id: CSV, TSV or JSONL. `capeval bench rows NAME` shows the ids."),
    data_option,
    click.option("--images", metavar="ROOT", type=Reads(pictures_below),
                 help="Folder of the pictures, for metrics that look at them."),
    features_option,
    click.option("--pictured", is_flag=True,
                 help="Measure all metrics on the rows whose picture is there, so that their figures can be compared."),
    variant_option,
    human_option,
    format_option,
    json_option,
    click.option("--draws", type=click.IntRange(min=1), default=5, show_default=True,
                 help="Pairs: how often references are drawn."),
    click.option("--references", type=click.IntRange(min=1),
                 help="Pairs: how many are drawn, if not the usual number."),
    click.option("--ties", type=click.Choice(["half", "wrong", "right"]), default="half", show_default=True,
                 help="Pairs: what a pair counts if both captions score the same."),
    click.option("--counts", metavar="N,N,...", help="Pairs: accuracy with each of these numbers of references."),
    click.option("--combine", default="0", metavar="N|all",
                 help="Ratings: try all combinations of up to N metrics, or `all` of any size."),
    click.option("--chosen-on", metavar="NAME", type=Reads(benchmark_files),
                 help="With --combine: rank the combinations on this benchmark, and measure them on the other one."),
    allow_seen_option,
    threads_option,
    resamples_option,
    seed_option,
)  # fmt: skip
def run_command(
    name: str,
    metrics: tuple[str, ...],
    files: tuple[str, ...],
    data: str | None,
    images: str | None,
    features: str | None,
    pictured: bool,
    variants: tuple[str, ...],
    human: str | None,
    format_: str,
    json_file: str | None,
    draws: int,
    references: int | None,
    ties: str,
    counts: str | None,
    combine: str,
    chosen_on: str | None,
    allow_seen: bool,
    threads: int,
    resamples: int | None,
    seed: int,
) -> None:
    """Run the benchmark NAME with some metrics, or with every one that is installed.

    The name of a JSONL file stands for a benchmark of your own: a caption, its references and a number in each line,
    or two captions of which the first is better. docs/tasks/bench.md has an example.

    Intervals (95 %) and p-values resample images. Every number in the JSON has its interval; p-values between metrics
    are in `comparisons`. Metrics come in the order of the main figure; `best` marks the first one and those that cannot
    be told apart from it.
    """
    from capeval.bench import Settings, run

    refuse_wrong(metrics)
    refuse_both_pictures(images, features)
    if pictured and not (images or features):
        raise click.UsageError("--pictured goes with --images or --features")
    settings = Settings(resamples, seed, draws, references, ties, _size(combine), counts=_numbers(counts))
    with running(threads=threads) as run_:
        outcome = run(
            name, metrics or None, scores=files, data=data, images=images, features=features, variants=variants,
            human=human, pictured=pictured, settings=settings, chosen_on=chosen_on, allow_seen=allow_seen, run=run_,
        )  # fmt: skip
        found = structs.replace(decode_as(BenchDocument, outcome.to_dict()), command=command_line())
    keep_json(json_file, found)
    if format_ == "json":
        print_document(found)
        return
    note(f"{found.benchmark}: {counted(found.rows, 'row')}" + (f", judged by {found.human}" if found.human else ""))
    if found.purpose not in (None, "test"):
        note(f"{found.benchmark} is for {found.purpose}: the figures are no test")
    if found.pictures is not None:
        note(f"pictures of {found.pictures:,} images were found")
    _print_metrics(found)
    for each in found.comparisons:
        _print_combinations(each)
        if each.papers:
            which = "".join(f"{value}: " for value in each.tags.values())
            note(f"{which}made as in the tables of {', '.join(each.papers)}")


def _numbers(text: str | None) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        numbers = (0,)
    if any(number < 1 for number in numbers):
        raise click.BadParameter("it takes whole numbers from 1 on, separated by commas", param_hint="--counts")
    return numbers


def _print_metrics(found: BenchDocument) -> None:
    """One line for each metric; of an estimate the value with its interval, of systems those of M1 and M2."""
    rows = [_cells(row) for row in found.metrics]
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(key, "") for key in header] for row in rows]
    texts = ("metric", "best", "seen", "worst_kind")
    tags = {key for row in found.metrics for key in row.tags}
    print_table(
        header,
        cells,
        numbers=[i for i, key in enumerate(header) if key not in texts and key not in tags],
        names=[i for i, key in enumerate(header) if key == "metric" or key in tags],
    )


def _print_combinations(found: Comparisons) -> None:
    """The best ones, and the single metrics below them."""
    every = found.combinations or []
    shown = [each for number, each in enumerate(every) if number < _COMBINATIONS or len(each.metrics) == 1]
    if not shown:
        return
    header = ["combination", found.statistic, "p (Williams)", *([f"on {found.chosen_on}"] if found.chosen_on else [])]
    rows = [
        [
            " + ".join(each.metrics),
            _shown(Estimate(value=each.value, low=each.low, high=each.high)),
            _number(each.p_williams),
            *([_number(each.chosen)] if found.chosen_on else []),
        ]
        for each in shown
    ]
    click.echo()
    print_table(header, rows, numbers=range(1, len(header)))
    where = f"on {found.chosen_on}, and measured here" if found.chosen_on else "on the judgements they are measured by"
    note(f"{len(every):,} combinations, chosen {where}; Williams' test is against the best single metric")


def _size(text: str) -> int:
    from capeval.bench.combining import ALL

    if text == "all":
        return ALL
    if not text.isdecimal():
        raise click.BadParameter("it takes a whole number, or `all`", param_hint="--combine")
    return int(text)


def _cells(row: MetricRow) -> dict[str, str]:
    cells = row.tags | {"metric": row.metric}
    if row.best is not None:
        cells["best"] = "*" if row.best else ""
    cells |= {"rows": f"{row.rows:,}", "left_out": f"{row.left_out:,}"}
    if row.ties is not None:
        cells["ties"] = f"{row.ties:,.10g}"
    known = {key: each for key, each in row.estimates.items() if each.n != 0}  # kinds of pairs that were scored
    brief = len(known) > _MOST_INTERVALS
    cells |= {key: _shown(each, brief=brief and key != "mean") for key, each in known.items()}
    for measure in ("m1", "m2") if row.measures else ():
        for name in ("pearson", "spearman", "kendall_b"):
            cells[f"{measure} {name}"] = _shown(row.measures[measure][name])
    if row.system_level is not None:
        cells |= {f"systems {name}": _number(row.system_level.get(name)) for name in ("pearson", "kendall_b")}
    if row.worst_kind is not None:
        cells["worst_kind"] = row.worst_kind
    if row.seen is not None:
        cells["seen"] = ", ".join(row.seen)
    return cells


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _shown(estimate: Estimate, *, brief: bool = False) -> str:
    if estimate.value is None:
        return "-"
    digits = 2 if estimate.is_percentage else 4
    if brief:
        return f"{estimate.value:.{digits}f}"
    low, high = ("-" if each is None else f"{each:.{digits}f}" for each in (estimate.low, estimate.high))
    return f"{estimate.value:.{digits}f} [{low}, {high}]"


bench_command.add_command(all_command)
