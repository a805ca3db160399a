"""`capeval data`: what is kept in the cache directory, and making it ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from capeval.cli.common import note, print_table
from capeval.cli.paths import Group, Reads
from capeval.cli.progress import Terminal
from capeval.run import Run, cache_dir


@click.group("data", cls=Group, invoke_without_command=True)
@click.pass_context
def data_command(context: click.Context) -> None:
    """Show what is cached, where it is and how big, or prepare it.

    The cache directory is $CAPEVAL_CACHE, else the usual one of this system (~/.cache/capeval on Linux).
    Everything in it can be deleted: it is made again when it is needed.
    """
    if context.invoked_subcommand:
        return
    folder = cache_dir()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not files:
        note(f"nothing is cached in {folder}")
        return
    note(f"in {folder}:")
    sizes: dict[str, int] = {}
    for path in files:
        # Small notes about files are shown together, by folder.
        relative = path.relative_to(folder)
        name = str(relative) if path.stat().st_size >= 4096 else str(relative.parent / "*")
        sizes[name] = sizes.get(name, 0) + path.stat().st_size
    print_table(["file", "size"], [[name, size_text(size)] for name, size in sizes.items()], numbers=[1])


@data_command.command("prepare")
def prepare_command() -> None:
    """Build now what metrics would build at their first use: METEOR's index of paraphrases."""
    from capeval.text.paraphrase import find_table, load_phrases

    table: Path = find_table()
    load_phrases(table, Run(progress=Terminal()))
    note(f"METEOR's index of paraphrases is in {cache_dir()}")


GRAMMAR = click.Choice(["spice-grammar"])


@data_command.command("import")
@click.argument("what", type=GRAMMAR)
@click.argument("file", metavar="[FILE]", required=False, type=Reads())
def import_command(what: str, file: str | None) -> None:
    """Import the grammar of SPICE's parser from FILE: englishPCFG.ser.gz, or the models jar of CoreNLP 3.6.0.

    Without FILE the jar is looked for where pycocoevalcap, a local Maven repository or $CORENLP_HOME keeps it. Nothing
    in the file is executed.
    """
    from capeval.scene.official.grammar import import_grammar

    note(f"{import_grammar(file)}: the grammar is in place; `spice` and `spider` can be used")


@data_command.command("fetch")
@click.argument("what", type=GRAMMAR)
@click.option("--from", "url", metavar="URL", help="A models jar of CoreNLP 3.6.0, or an archive that holds one.")
def fetch_command(what: str, url: str | None) -> None:
    """Fetch the grammar of SPICE's parser (1.9 MB) from Stanford's CoreNLP 3.6.0 archive, or from URL.

    Only the grammar is kept, and its checksum is verified. It is licensed under the GPL and not part of capeval.
    """
    from capeval.scene.official.fetch import ARCHIVE_URL, NOTICE, fetch_grammar

    note(f"{NOTICE}\nFrom {url or ARCHIVE_URL}")
    with Terminal().bar("fetching", None, "bytes") as show:
        path = fetch_grammar(url, progress=lambda done, total: show(done))
    note(f"{path}: the grammar is in place; `spice` and `spider` can be used")


def size_text(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
