"""`capeval serve`."""

from __future__ import annotations

import click

from capeval.cli.common import options
from capeval.cli.paths import Command, Reads
from capeval.errors import MissingExtra


@click.command("serve", cls=Command)
@options(
    click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
                 help="Where to listen. Beyond this machine a token is demanded."),
    click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free."),
    click.option("--token", envvar="CAPEVAL_TOKEN", metavar="TEXT",
                 help="What clients must show; else one is made up where it is needed. Also CAPEVAL_TOKEN."),
    click.option("--board", metavar="FILE", type=Reads(), help="A leaderboard to show: JSON of `capeval bench all`."),
    click.option("--open", "open_", is_flag=True, help="Open the page in the browser."),
    click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Jobs worked on at once."),
    click.option("--max-rows", type=click.IntRange(1), default=200_000, show_default=True,
                 help="Captions of a request."),
    click.option("--max-megabytes", type=click.IntRange(1), default=256, show_default=True, help="Size of a request."),
    click.option("--max-seconds", type=click.FloatRange(1), default=3600.0, show_default=True, help="Time of a job."),
)  # fmt: skip
def serve_command(
    host: str,
    port: int,
    token: str | None,
    board: str | None,
    open_: bool,
    jobs: int,
    max_rows: int,
    max_megabytes: int,
    max_seconds: float,
) -> None:
    """Look at captions and scores in a browser, and score for programs over HTTP.

    \b
    capeval serve --open
    capeval serve --host 0.0.0.0 --token "$SECRET"
    curl -s localhost:8765/v1/score -H 'content-type: application/json' -d \\
      '{"candidates": ["a man rides a bike"], "references": [["a person is riding a bicycle"]], "metrics": ["meteor"]}'

    The same engine as `capeval score`. What clients upload lies in a temporary folder and goes with the server. Needs
    the extra `web`.
    """
    try:
        from capeval.web.serving import serve
    except ImportError as problem:
        raise MissingExtra("capeval serve", "web") from problem
    from capeval.web.settings import MEGABYTE, Limits, Settings

    limits = Limits(rows=max_rows, body_bytes=max_megabytes * MEGABYTE, seconds=max_seconds)
    serve(Settings(host=host, port=port, token=token or "", jobs=jobs, limits=limits), board=board, open_browser=open_)
