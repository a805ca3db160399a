"""`capeval data`: what is kept in the cache directory, and making it ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from capeval.cli.common import note, print_table
from capeval.io.cache import cache_dir


@click.group("data", invoke_without_command=True)
@click.pass_context
def data_command(context: click.Context) -> None:
    """Show what is cached where and how big, or prepare it.

    The cache directory is $CAPEVAL_CACHE, else $XDG_CACHE_HOME/capeval, else ~/.cache/capeval. Everything in it can be
    deleted: it is made again when it is needed.
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
    load_phrases(table)
    note(f"METEOR's index of paraphrases is in {cache_dir()}")


def size_text(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
