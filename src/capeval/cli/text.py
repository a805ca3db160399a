"""`capeval tokenize` and `capeval df`."""

from __future__ import annotations

import click

from capeval.cli.common import note, options, threads_option, tokenizer_option
from capeval.cli.paths import Command, Reads, Writes
from capeval.cli.progress import running
from capeval.io.files import read_bytes, source_name, utf8_without_bom
from capeval.run import Run


def read_lines(file: str) -> list[str]:
    """The lines of a text file. Only \\n ends one: other line breaks of Unicode may stand inside a caption."""
    lines = utf8_without_bom(read_bytes(file), source_name(file)).decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


@click.command("tokenize", cls=Command)
@click.argument("file", metavar="FILE", type=Reads())
@options(tokenizer_option, threads_option)
def tokenize_command(file: str, tokenizer: str, threads: int) -> None:
    """Print the tokens of FILE, which has one caption per line (- is standard input).

    One line comes out for each line that goes in: tokens in lower case, a space between them, punctuation removed.
    """
    from capeval.text.tokenize import tokenize

    lines = read_lines(file)
    click.echo("".join(" ".join(tokens) + "\n" for tokens in tokenize(lines, Run(tokenizer, threads))), nl=False)


@click.command("df", cls=Command)
@click.argument("references", metavar="REFERENCES...", nargs=-1, required=True, type=Reads())
@options(
    click.option(
        "-o", "--output", required=True, metavar="TABLE", type=Writes(), help="The file to write, such as mine.df."
    ),
    click.option("-n", type=click.IntRange(1, 8), default=4, show_default=True, help="Length of the longest n-grams."),
    click.option("--stem", is_flag=True, help="Count stems instead of words, for cider(stem=true)."),
    tokenizer_option,
    threads_option,
)
def df_command(references: tuple[str, ...], output: str, n: int, stem: bool, tokenizer: str, threads: int) -> None:
    """Make a table of document frequencies from REFERENCES, one file or several, for CIDEr.

    \b
    capeval df captions_train2014.json -o train.df
    capeval score results.json -r refs.json -m 'cider_d(df=train.df)'

    With a table, scores do not depend on which images are scored together: one image can be scored, and parts
    scored on several machines can be joined.
    """
    from capeval.io.captions import read_references
    from capeval.io.dftable import write_table
    from capeval.metrics.cider import make_table

    with running(tokenizer, threads) as run:
        run.progress.step("reading references")
        sets = list(read_references(*references).values())
        run.progress.step("counting n-grams")
        table = make_table(sets, n=n, stem=stem, run=run)
        write_table(output, table)
    note(f"{output}: {len(table.df):,} n-grams that occur in two or more of {table.images:,} images")
