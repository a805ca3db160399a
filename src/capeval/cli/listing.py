"""`capeval list`."""

from __future__ import annotations

import click

from capeval.cli.common import format_option, print_csv, print_json, print_table
from capeval.cli.paths import Command
from capeval.registry import metric_classes
from capeval.types import parameters_of


@click.command("list", cls=Command)
@format_option
def list_command(format_: str) -> None:
    """List the metrics, the scores each gives and its parameters with their defaults."""
    rows = []
    for name, metric in metric_classes().items():
        parameters = ", ".join(f"{f.name}={_shown(f.default)}" for f in parameters_of(metric))
        needs = " and ".join(metric.info.needs) or "nothing"
        rows.append([name, " ".join(metric.info.names), parameters, needs, metric.info.summary, metric.info.citation])
    header = ["metric", "scores", "parameters", "needs", "what it is", "citation"]
    if format_ == "json":
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif format_ == "csv":
        print_csv(header, rows)
    else:
        print_table(header[:-1], [row[:-1] for row in rows])


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
