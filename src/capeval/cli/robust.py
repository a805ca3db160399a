"""`capeval robust`: what metrics do with captions that were changed on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from capeval.cli.benchoptions import benchmark_files, data_option, own_metrics_option, refuse_wrong
from capeval.cli.common import (
    command_line,
    features_option,
    images_option,
    json_option,
    keep_json,
    note,
    optional_references_option,
    options,
    print_document,
    print_table,
    refuse_both_pictures,
    resamples_option,
    seed_option,
    threads_option,
)
from capeval.cli.paths import Group, Reads, Writes
from capeval.cli.progress import running
from capeval.documents import RobustDocument, decode_as
from capeval.documents.types import AttacksDocument, ChoicesDocument, CurvesDocument, Estimate, ProbeDocument
from capeval.errors import counted
from capeval.run import Run

D = TypeVar("D", bound=RobustDocument)

candidates_argument = click.argument("candidates", metavar="[CANDIDATES]", required=False, type=Reads())
scores_option = click.option(
    "--scores", multiple=True, metavar="FILE", type=Reads(),
    help="Scores made elsewhere of the captions that --write gave, by id: CSV, TSV or JSONL.",
)  # fmt: skip
sample_option = click.option(
    "--sample", type=click.IntRange(min=1), metavar="N", help="Use only N images, drawn with the seed."
)
write_option = click.option(
    "--write", metavar="FILE", type=Writes(form="JSONL"),
    help="Write the captions, changed and untouched (JSONL). Without -m and --scores nothing is scored.",
)  # fmt: skip
format_option = click.option(
    "--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True,
    help="How results are printed.",
)  # fmt: skip
parser_option = click.option(
    "--parser", type=click.Choice(["official", "fast"]),
    help="The parser of the captions. Without it: official where its grammar is there, else fast.",
)  # fmt: skip
of_option = click.option(
    "--of", metavar="NAME", type=Reads(benchmark_files),
    help="In place of -r: the references, and pictures below --images, of a benchmark; `capeval bench list` has them.",
)  # fmt: skip
common_options = options(
    optional_references_option, of_option, data_option, own_metrics_option, scores_option, images_option,
    features_option, sample_option, write_option, format_option, json_option, threads_option, seed_option,
)  # fmt: skip


@click.group("robust", cls=Group)
def robust_command() -> None:
    """See what metrics do with captions that were changed on purpose.

    Without CANDIDATES, people's captions are changed: one reference of each image is held out. Captions are given with
    -r, or are those of a benchmark's images.

    \b
    capeval robust curves -r refs.json -m cider_d -m bleu_1
    capeval robust distractors -r refs.json -m spice -m meteor
    capeval robust components -r refs.json
    capeval robust components --of pascal-50s --images photos/ -m lece -m meteor
    capeval robust probe results.json -r refs.json
    capeval robust attacks -r refs.json --format json
    """


@robust_command.command("curves", short_help="Captions made worse step by step.")
@candidates_argument
@options(
    click.option("--transform", "transforms", multiple=True, type=click.Choice(["rc", "wp", "rw"]),
                 help="rc: captions of other images; wp: permuted words; rw: random words. Without it: all three."),
    click.option("--gammas", metavar="G,G,...", help="Strengths from 0 to 1. Without it: 0, 0.1 and so on up to 1."),
)  # fmt: skip
@common_options
@click.pass_context
def curves_command(ctx: click.Context, /, transforms: Sequence[str], gammas: str | None, **given: Any) -> None:
    """Score captions that are made worse step by step; R is the area below the curve, lower is better.

    \b
    capeval robust curves -r refs.json -m cider_d -m meteor
    capeval robust curves results.json -r refs.json -m spice --transform wp --gammas 0.25,0.5,1
    capeval robust curves -r refs.json --write changed.jsonl
    capeval robust curves -r refs.json --scores clipscore.csv

    Scores are divided by that of the untouched captions. Gamma 0 and 1 are always included. The neighbours
    of rc are images that look alike where pictures or features are given, else images whose references share words.
    """
    from capeval.bench import robust
    from capeval.perturb.degrees import GAMMAS, TRANSFORMS

    more = {
        "candidates": given.pop("candidates"),
        "transforms": transforms or tuple(TRANSFORMS),
        "gammas": _gammas(gammas) or GAMMAS,
    }
    found = _run(ctx, robust.curves, CurvesDocument, more, given)
    if found is not None:
        note(f"{found.captions:,} captions")
        marks = [f"{gamma:g}" for gamma in found.gammas]
        rows = [
            [each.metric, name, _text(each.curves[name].R), *map(_text, each.curves[name].normalised)]
            for name in found.transforms
            for each in found.metrics
        ]
        print_table(["metric", "transform", "R", *marks], rows, numbers=range(2, len(marks) + 3), names=(0, 1))


@robust_command.command("distractors", short_help="The correct caption against a distracted one.")
@options(parser_option, resamples_option)
@common_options
@click.pass_context
def distractors_command(ctx: click.Context, /, parser: str | None, resamples: int, **given: Any) -> None:
    """Build six forced-choice tasks from captions, and show how often metrics choose the correct caption.

    \b
    capeval robust distractors -r refs.json -m spice -m cider_d
    capeval robust distractors -r refs.json --write pairs.jsonl

    The correct caption stands against one with another person or scene (replace), one of another image with the same
    person or scene (share), and the person or scene alone (just). Its references are the other captions of the image.
    Figures are percentages with 95 % intervals; ties count one half.
    """
    from capeval.bench import robust

    more = {"parser": parser, "resamples": resamples}
    _print_choices(_run(ctx, robust.distractors, ChoicesDocument, more, given))


@robust_command.command("components", short_help="A similar word against a wrong one.")
@candidates_argument
@options(parser_option, resamples_option)
@common_options
@click.pass_context
def components_command(ctx: click.Context, /, parser: str | None, resamples: int, **given: Any) -> None:
    """Change one word into a similar one and into a wrong one; show how often metrics prefer the similar one.

    \b
    capeval robust components -r refs.json -m meteor -m wmd
    capeval robust components --of composite --images photos/ -m lece -m meteor

    Figures are percentages with 95 % intervals, for objects, actions and properties (count, colour, state).
    """
    from capeval.bench import robust

    more = {"candidates": given.pop("candidates"), "parser": parser, "resamples": resamples}
    _print_choices(_run(ctx, robust.components, ChoicesDocument, more, given))


@robust_command.command("probe", short_help="The same in other words.")
@candidates_argument
@common_options
@click.pass_context
def probe_command(ctx: click.Context, /, **given: Any) -> None:
    """Say the same in another way: synonyms, a redundant phrase, another word order.

    \b
    capeval robust probe -r refs.json -m cider_d -m spice
    capeval robust probe one_caption.json -r refs.json

    The table shows the score of the captions that could be changed, and its share of what it was before.
    """
    from capeval.bench import robust

    found = _run(ctx, robust.probe, ProbeDocument, {"candidates": given.pop("candidates")}, given)
    if found is None:
        return
    note(f"{found.captions:,} captions")
    if found.captions == 1 and found.examples:
        for name, text in found.examples[0].items():
            note(f"{name}: {text or '(cannot be changed)'}")
    names = list(found.versions)
    rows = [
        [each.metric, _text(each.untouched)]
        + [f"{_text(each.versions[name].score)} ({_percent(each.versions[name].relative)})" for name in names]
        for each in found.metrics
    ]
    header = ["metric", "untouched", *(f"{name} ({found.changed[name]:,})" for name in names)]
    print_table(header, rows, numbers=range(1, len(header)))


@robust_command.command("attacks", short_help="Repeated, padded, cut, off-topic and empty captions.")
@candidates_argument
@common_options
@click.pass_context
def attacks_command(ctx: click.Context, /, **given: Any) -> None:
    """Repeat, pad and cut captions, or take off-topic and empty ones, and show what is left of the score.

    \b
    capeval robust attacks -r refs.json -m spice -m cider_d
    """
    from capeval.bench import robust

    found = _run(ctx, robust.attacks, AttacksDocument, {"candidates": given.pop("candidates")}, given)
    if found is None:
        return
    note(f"{found.captions:,} captions")
    names = list(found.attacks)
    rows = [
        [each.metric, _text(each.untouched), *(_percent(each.attacks[name].relative) for name in names)]
        for each in found.metrics
    ]
    print_table(["metric", "untouched", *names], rows, numbers=range(1, len(names) + 2))


def _run(
    ctx: click.Context, check: Callable[..., Any], kind: type[D], more: dict[str, Any], given: dict[str, Any]
) -> D | None:
    """Runs a check with its options. None if the result was printed, or nothing was scored."""
    refuse_wrong(given["metrics"])
    metrics: Sequence[str] | None = given["metrics"] or None
    write, scores = given["write"], given["scores"]
    only_write = write and not metrics and not scores
    refuse_both_pictures(given["images"], given["features"])
    if bool(given["references"]) == bool(given["of"]):
        raise click.UsageError("say whose captions: -r FILE for those of a file, or --of NAME for a benchmark's")
    if only_write and (given["json_file"] or given["format_"] == "json"):
        raise click.UsageError("nothing is scored with --write alone, so there is no result: name metrics with -m")
    if write == "-" and not only_write:
        raise click.UsageError("--write needs a file: standard output has the result")
    with running(threads=given["threads"]) as run:
        run.progress.step("reading references")
        captions, pictures = _material(given, run)
        outcome = check(
            captions, () if only_write else metrics, scores=scores, sample=given["sample"], seed=given["seed"],
            run=run, **pictures, **more,
        )  # fmt: skip
        if write:
            run.progress.step("writing captions")
            outcome.write(write)
    if write:
        note(f"{counted(len(outcome.dataset), 'caption')} written to {write}.")
    if only_write:
        return None
    facts = {"command": command_line(), "arguments": _arguments(ctx)}
    found = decode_as(kind, outcome.with_facts(**facts).to_dict())
    keep_json(given["json_file"], found)
    if given["format_"] == "json":
        print_document(found)
        return None
    return found


def _material(given: Mapping[str, Any], run: Run) -> tuple[Any, dict[str, Any]]:
    """Captions, and what pictures metrics look at."""
    pictures = {"images": given["images"], "features": given["features"]}
    if not given["of"]:
        from capeval.io.captions import read_references

        return read_references(*given["references"]), pictures
    from capeval.bench.robust import of_benchmark

    found = of_benchmark(given["of"], data=given["data"], run=run, **pictures)
    return found.captions, {"features": found.pictures}


def _arguments(ctx: click.Context) -> dict[str, Any]:
    """What was asked for, without what does not matter to the result, such as the number of threads."""
    given = {key: value for key, value in ctx.params.items() if key not in ("threads", "format_", "json_file", "write")}
    given = {key: value for key, value in given.items() if value is not None or key not in ("of", "data")}
    several = len(given["references"]) != 1
    return given if several else given | {"references": given["references"][0]}


def _gammas(text: str | None) -> tuple[float, ...]:
    try:
        gammas = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        gammas = (-1.0,)
    if not all(0 <= gamma <= 1 for gamma in gammas):
        raise click.BadParameter("it takes numbers from 0 to 1, separated by commas", param_hint="--gammas")
    return gammas


def _print_choices(found: ChoicesDocument | None) -> None:
    if found is None:
        return
    note(f"{found.pairs:,} pairs")
    keys = list(dict.fromkeys(key for each in found.metrics for key in each.estimates))
    rows = [[each.metric, *(_estimate(each.estimates[key]) for key in keys)] for each in found.metrics]
    counts = found.categories
    header = ["metric", *(f"{key} ({counts[key]:,})" if key in counts else key for key in keys)]
    print_table(header, rows, numbers=range(1, len(header)))


def _estimate(each: Estimate) -> str:
    return "-" if each.value is None else f"{each.value:.1f} [{_text(each.low, 1)}, {_text(each.high, 1)}]"


def _text(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
