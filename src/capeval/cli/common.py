"""What several commands share: options, progress and the printing of tables."""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from capeval import showing
from capeval.cli.paths import Reads, Writes, feature_files, metric_files, pictures_below
from capeval.errors import CapevalError
from capeval.text.tokenize import TOKENIZERS

if TYPE_CHECKING:
    from capeval.documents import Document

F = TypeVar("F", bound=Callable[..., Any])

_references = partial(
    click.option, "-r", "--references", multiple=True, metavar="FILE", type=Reads(),
    help="References: COCO annotations, or JSON id -> captions; repeat it to add those of other files.",
)  # fmt: skip
references_option = _references(required=True)
optional_references_option = _references()
images_option = click.option(
    "--images", metavar="DIR", type=Reads(pictures_below), help="Folder of the pictures, for metrics that look at them."
)
features_option = click.option(
    "--features", metavar="FILE", type=Reads(feature_files), help="Features of the pictures: see `capeval features`."
)
metrics_option = click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="EXPR",
    type=Reads(metric_files),
    help="Metric, score or expression such as 'cider_d(df=coco-val2014)', or a list; repeat it for more. "
    "Without it: every metric. `capeval list` shows them.",
)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How results are printed.",
)


json_option = click.option(
    "--json", "json_file", metavar="FILE", type=Writes(beside=True, form="JSON"),
    help="Keep the result as JSON as well, for `capeval report`.",
)  # fmt: skip
tokenizer_option = click.option(
    "--tokenizer",
    type=click.Choice(TOKENIZERS),
    default="ptb",
    show_default=True,
    help="ptb: as in the COCO evaluation; none: split at white space.",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="all cores",
    help="How many threads to use; the results do not depend on it.",
)
signatures_option = click.option(
    "--signatures", is_flag=True, help="Below the table, print signatures in full: all that decides each score."
)
MOST_RESAMPLES = 1_000_000


def resamples_checked(ctx: click.Context, _: click.Parameter, value: int | None) -> int | None:
    """Few resamples tell little, which is noted; more than a million would take days."""
    if value is not None and value < 100 and not ctx.resilient_parsing:
        note(f"--resamples {value}: the ends of a 95 % interval need 100 resamples or more to be told.")
    return value


resamples_option = click.option(
    "--resamples",
    type=click.IntRange(min=1, max=MOST_RESAMPLES),
    callback=resamples_checked,
    default=1000,
    show_default=True,
    help="How many resamples intervals and p-values come from.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws."
)


percent_option = click.option(
    "--percent", is_flag=True, help="Print scores x 100, in the table and in CSV; JSON and files keep them as they are."
)


def in_percent(cells: Sequence[Any]) -> list[Any]:
    """The cells with all scores among them x 100."""
    return [100 * cell if isinstance(cell, float) else cell for cell in cells]


def options(*several: Callable[[F], F]) -> Callable[[F], F]:
    """Applies options so that help lists them in the order given."""

    def apply(function: F) -> F:
        for option in reversed(several):
            function = option(function)
        return function

    return apply


def refuse_both_pictures(images: str | None, features: str | None) -> None:
    if images and features:
        raise click.UsageError("--images and --features are two ways to give the same thing: give one of them")


def refuse_without_references(wanted: Sequence[str] | None, has_pictures: bool) -> None:
    """Refuses metrics that need them before any file is read."""
    from capeval.registry import parse_all

    needy = [each.metric.info.name for each in parse_all(wanted or ()) if "references" in each.metric.needs()]
    if needy or (wanted is None and not has_pictures):
        why = f": {', '.join(needy)} cannot do without" if needy else ""
        raise click.UsageError(f"Missing option '-r' / '--references'{why}.")


def checked(metrics: Sequence[str]) -> Sequence[str] | None:
    """The expressions, or None for every metric. A wrong one is refused before any file is read."""
    from capeval.registry import parse_all

    try:
        parse_all(metrics)
    except CapevalError as problem:
        raise click.UsageError(str(problem)) from problem
    return metrics or None


def command_line() -> str:
    """The command that is running, as it could be typed again."""
    return shlex.join(["capeval", *sys.argv[1:]])


def note(message: str) -> None:
    """A remark for the person at the terminal."""
    click.echo(message, err=True)


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2))


def print_document(document: Document) -> None:
    from capeval.documents import as_dict

    print_json(as_dict(document))


@contextmanager
def beside() -> Iterator[None]:
    """For files beside what is printed: that one cannot be written is told when the result stands on the screen."""
    try:
        yield
    except CapevalError as error:
        problem = error  # `error` itself ends with the clause

        def tell() -> None:
            raise problem

        click.get_current_context().call_on_close(tell)


def keep_json(path: str | None, document: Document) -> None:
    """Writes what `--format json` prints, with the command that made it, where a file is asked for."""
    if path is None:
        return
    from msgspec import structs

    from capeval.documents import as_dict
    from capeval.io.files import writing

    data = as_dict(structs.replace(document, command=command_line()))
    with beside(), writing(path) as stream:
        stream.write(json.dumps(data, ensure_ascii=False, allow_nan=False).encode())


def blank_nan(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows for a CSV: a number that does not exist is an empty cell, as in files of scores."""
    return [["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row] for row in rows]


def shown_number(cell: Any) -> str:
    """A cell of a table for people."""
    return showing.number(cell) if isinstance(cell, float) else str(cell)


def print_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), names: Sequence[int] = (0,)
) -> None:
    """A table for people, no wider than their screen."""
    click.echo(showing.table(header, [[str(cell) for cell in row] for row in rows], numbers=numbers, names=names))


def print_signatures(signatures: Mapping[str, str], whole: bool) -> None:
    """Below a table of scores."""
    click.echo("\nsignatures" if whole else "\nsignatures in short (in full: --signatures)")
    click.echo(showing.signatures(signatures, whole=whole))
