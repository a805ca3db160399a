"""The command line. Each command is a thin file: it reads arguments, calls the library and prints."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from capeval.cli.remedies import in_words
from capeval.errors import CapevalError, UnknownName
from capeval.version import __version__

# Command -> the module that has it; loaded when it is called, so that `--help` and `--version` are instant.
COMMANDS = {
    "score": "score",
    "compare": "compare",
    "diversity": "diversity",
    "list": "listing",
    "tokenize": "text",
    "df": "text",
    "join": "join",
    "explain": "explain",
    "ground": "ground",
    "parse": "parse",
    "data": "data",
    "bench": "bench",
    "robust": "robust",
    "features": "features",
    "report": "report",
    "serve": "serve",
    "train": "train",
    "lece-system": "lece_system",
    "caption": "caption",
}

HELP = """Measure how good image captions are.

\b
Score a system against references, with every metric:
  capeval score results.json -r captions_val2014.json
Some metrics only, with scores for each caption:
  capeval score results.json -r refs.json -m cider_d -m bleu_4 --per-caption scores.jsonl
Is system A better than system B?
  capeval compare a.json b.json -r refs.json

Captions come as COCO results JSON, JSONL, CSV/TSV or Parquet, references as COCO annotations or a JSON object
id -> captions; gzip is fine and - is standard input. Results go to standard output, everything else to standard error.
"""


class LazyGroup(click.Group):
    """Loads a command's module when the command is asked for, and suggests a name for one that does not exist."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"capeval.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(str(UnknownName("command", args[0], COMMANDS)))
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from capeval import engine

    click.echo(f"capeval {__version__} ({engine.active()} engine)")
    ctx.exit()


@click.group(cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
              help="Show the version and the engine in use.")  # fmt: skip
def cli() -> None:
    pass


def main() -> None:
    """Runs the command line: exit code 0 for success, 1 for a failure, 2 for wrong usage."""
    try:
        cli.main(prog_name="capeval", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except CapevalError as problem:
        click.echo(f"Error: {in_words(problem)}", err=True)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (`capeval ... | head`): there is nobody left to tell.
        _silence_stdout()
        sys.exit(1)
    except OSError as problem:
        # Standard output itself failed, on a full disk for example.
        click.echo(f"Error: {problem.strerror or problem}", err=True)
        _silence_stdout()
        sys.exit(1)


def _silence_stdout() -> None:
    """Python would try to write the rest when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
