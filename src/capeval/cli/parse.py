"""`capeval parse`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import click

from capeval.cli.common import note, options, threads_option, tokenizer_option
from capeval.cli.paths import Command, Reads
from capeval.cli.progress import running
from capeval.cli.text import read_lines
from capeval.run import Run
from capeval.scene import SceneTuple

BLOCK = 5000
"""Lines that are parsed and written at once."""


@click.command("parse", cls=Command)
@click.argument("file", metavar="FILE", type=Reads())
@options(
    click.option(
        "--parser",
        type=click.Choice(["official", "fast"]),
        help="official: SPICE's own parser, as it is (`capeval data import spice-grammar`); fast: our own, which needs "
        "no grammar and reads thousands of captions a second. Without it: official where the grammar is, else fast.",
    ),
    click.option(
        "--format",
        "format_",
        type=click.Choice(["jsonl", "conllu"]),
        default="jsonl",
        show_default=True,
        help="jsonl: what each caption describes; conllu: its words and their relations.",
    ),
    tokenizer_option,
    threads_option,
)
def parse_command(file: str, parser: str | None, format_: str, tokenizer: str, threads: int) -> None:
    """Print what the captions in FILE, one per line, describe: objects, attributes and relations.

    \b
    capeval parse captions.txt > parses.jsonl
    capeval parse captions.txt --parser fast --threads 2 > parses.jsonl
    echo "A man rides a brown horse." | capeval parse - --format conllu

    One line of JSON comes out for each caption: the tokenised `caption`, `objects`, `attributes` [object, attribute],
    `relations` [subject, relation, object], and all of them as SPICE's `tuples`. `spice(parses=...)` reads it. Which
    parser was used is shown on standard error.
    """
    from capeval.scene import default_parser
    from capeval.text.tokenize import tokenize

    chosen = parser or default_parser()
    note(f"parser: {chosen}")
    write, lines = _conllu if format_ == "conllu" else _json_lines, read_lines(file)
    with running(tokenizer, threads) as run:
        run.progress.step("parsing")
        # Piece by piece: there may be millions.
        for start in range(0, len(lines), BLOCK):
            captions = [" ".join(tokens) for tokens in tokenize(lines[start : start + BLOCK], run)]
            click.echo("".join(write(captions, chosen, run)), nl=False)


def _json_lines(captions: Sequence[str], parser: str, run: Run) -> Iterator[str]:
    from capeval.scene import tuples_of
    from capeval.scene.fast import fast_parser

    found: Iterable[list[SceneTuple]]
    found = fast_parser().tuples(captions, run) if parser == "fast" else tuples_of(captions, parser, run)
    for caption, tuples in zip(captions, found, strict=True):
        yield json.dumps({"caption": caption, **_by_kind(tuples)}, ensure_ascii=False) + "\n"


def _by_kind(tuples: Sequence[SceneTuple]) -> dict[str, list[object]]:
    objects = dict.fromkeys(each[0] for each in tuples if len(each) == 1)
    attributes = dict.fromkeys(each for each in tuples if len(each) == 2)
    relations = dict.fromkeys((each[0], each[2], each[1]) for each in tuples if len(each) == 3)
    return {
        "objects": list(objects),
        "attributes": [list(each) for each in attributes],
        "relations": [list(each) for each in relations],
        "tuples": [list(each) for each in tuples],
    }


def _conllu(captions: Sequence[str], parser: str, run: Run) -> Iterator[str]:
    from capeval.scene import dependencies_of, enhanced_graph

    for caption, (tokens, basic) in zip(captions, dependencies_of(captions, parser, run), strict=True):
        yield f"# text = {caption}\n"
        graph = enhanced_graph(tokens, basic)
        heads = {dependent: (head, relation) for head, dependent, relation in basic}
        above: dict[str, list[str]] = {}
        for edge in graph.edges:
            above.setdefault(edge.dependent, []).append(f"{edge.head}:{edge.relation}")
        for i, token in enumerate(tokens, 1):
            head, relation = heads.get(i, (0, "root"))
            enhanced = "|".join(above.get(str(i), ["0:root"] if str(i) in graph.roots else [])) or "_"
            row = [str(i), token.word, token.lemma, "_", token.tag, "_", str(head), relation, enhanced, "_"]
            yield "\t".join(row) + "\n"
        yield "\n"
