"""`capeval explain`."""

from __future__ import annotations

import click

from capeval.cli.common import options, print_json, print_table, tokenizer_option
from capeval.cli.paths import Command, Reads, feature_files
from capeval.cli.progress import Terminal
from capeval.errors import CapevalError
from capeval.run import Run
from capeval.types import Explanation, Metric


@click.command("explain", cls=Command)
@click.argument("metric", metavar="METRIC")
@click.argument("candidate", metavar="CANDIDATE")
@options(
    click.option("-r", "--reference", "references", multiple=True, metavar="TEXT",
                 help="A reference caption; repeat it for several. Metrics that compare with none need none."),
    click.option("--image", metavar="FILE", type=Reads(), help="The picture, for metrics that look at it."),
    click.option("--features", metavar="FILE", type=Reads(feature_files),
                 help="Features of the picture; its id is the name of --image without the ending."),
    click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True),
    tokenizer_option,
)  # fmt: skip
def explain_command(
    metric: str,
    candidate: str,
    references: tuple[str, ...],
    image: str | None,
    features: str | None,
    format_: str,
    tokenizer: str,
) -> None:
    """Show where METRIC's score of one CANDIDATE comes from.

    \b
    capeval explain meteor "a man rides a bike" -r "a person is riding a bicycle"
    capeval explain spice "a black dog runs" -r "a dog runs on sand" -r "the dog is black"
    capeval explain wmd "a man rides a bike" -r "a person is riding a bicycle" -r "someone cycles"
    capeval explain tiger "a dog runs" -r "a dog on the beach" --image photos/beach.jpg
    capeval explain uice "a dog runs on the the beach" --image photos/beach.jpg
    """
    if features and not image:
        raise click.UsageError("--features has many pictures: name the one that is meant with --image")
    from capeval.registry import metric_classes, parse
    from capeval.runtime.pictures import open_picture
    from capeval.text.tokenize import tokenize

    try:
        chosen = parse(metric).metric
    except CapevalError as problem:
        raise click.UsageError(str(problem)) from problem
    if not chosen.can_explain():
        able = [name for name, each in metric_classes().items() if each.explain is not Metric.explain]
        raise CapevalError(f"{chosen.info.name} has nothing to show beyond its score. These do: {', '.join(able)}")
    if "references" in chosen.needs() and not references:
        raise click.UsageError(f"{chosen.info.name} compares with references: give one with -r")
    run = Run(tokenizer, progress=Terminal())
    tokens, *others = tokenize([candidate, *references], run)
    picture = open_picture(image, features, run) if image else None
    explanations = chosen.explain(tokens, others, run, picture)
    if format_ == "json":
        print_json([_as_dict(each) for each in explanations])
        return
    for each in explanations:
        click.echo(f"candidate: {' '.join(tokens)}")
        if each.reference:
            click.echo(f"reference: {each.reference}")
        click.echo("  ".join(f"{name} {_shown(value)}" for name, value in each.facts.items()))
        if each.rows:
            print_table(each.header, [[_shown(cell) for cell in row] for row in each.rows])
        click.echo()


def _as_dict(each: Explanation) -> dict[str, object]:
    rows = [dict(zip(each.header, row, strict=True)) for row in each.rows]
    return {"reference": each.reference, "facts": dict(each.facts), "rows": rows}


def _shown(value: str | float) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
