"""`capeval explain`."""

from __future__ import annotations

import click

from capeval.cli.common import note, options, print_json, tokenizer_option
from capeval.cli.paths import Command, Reads, feature_files
from capeval.cli.progress import Terminal
from capeval.documents import as_dict
from capeval.errors import CapevalError
from capeval.run import Run


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
    """Show where METRIC's score of one CANDIDATE comes from: any metric can tell.

    \b
    capeval explain bleu "a man rides a bike" -r "a person is riding a bicycle"
    capeval explain cider_d "a man rides a bike" -r "a person is riding a bicycle"
    capeval explain meteor "a man rides a bike" -r "a person is riding a bicycle"
    capeval explain spice "a black dog runs" -r "a dog runs on sand" -r "the dog is black"
    capeval explain wmd "a man rides a bike" -r "a person is riding a bicycle" -r "someone cycles"
    capeval explain tiger "a dog runs" -r "a dog on the beach" --image photos/beach.jpg
    capeval explain uice "a dog runs on the the beach" --image photos/beach.jpg
    """
    if features and not image:
        raise click.UsageError("--features has many pictures: name the one that is meant with --image")
    from capeval.explained import explain, text_of
    from capeval.registry import parse
    from capeval.runtime.pictures import open_picture

    try:
        chosen = parse(metric).metric
    except CapevalError as problem:
        raise click.UsageError(str(problem)) from problem
    is_lacking = "references" in chosen.needs() and not references
    if is_lacking and chosen.for_inputs(references=False, pictures=bool(image)) is None:
        raise click.UsageError(f"{chosen.info.name} compares with references: give one with -r")
    run = Run(tokenizer, progress=Terminal())
    picture = open_picture(image, features, run) if image else None
    found = explain(chosen, candidate, references, run, picture)
    if format_ == "json":
        print_json([as_dict(each) for each in found.documents])
        return
    for each in found.documents:
        click.echo(text_of(each) + "\n")
    if any(each.candidate_words for each in found.documents):
        note("[words] match, or add to the score; (words) nearly match")
