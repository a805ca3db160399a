"""The options of `capeval score` for shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from capeval.cli.paths import WritesInto

stream_options = (
    click.option("-o", "--output", metavar="DIR", type=WritesInto("*"),
                 help="Score shards of any size into this folder: the same rows with their scores, and a manifest. "
                 "If a run is interrupted, the same command goes on where it stopped."),
    click.option("--picture", metavar="COLUMN", help="With -o: column with the pictures, as bytes or as paths (below "
                 "--images where they are relative)."),
    click.option("--filter", "filter_", metavar="EXPR", help="With -o: write only rows that pass, such as "
                 "'cider_d > 0.4 and length < 60'."),
    click.option("--top", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
                 help="With -o: write only this share of the rows that pass, those with the highest scores."),
    click.option("--by", metavar="SCORE", help="With --top: the score that counts.", show_default="the first"),
    click.option("--on-error", type=click.Choice(["skip", "fail"]), default="skip", show_default=True,
                 help="With -o: rows that cannot be scored have no scores, or end the run."),
    click.option("--runner", type=click.Choice(["local", "ray"]), default="local", show_default=True,
                 help="With -o: this machine, or a Ray cluster."),
    click.option("--address", metavar="ADDRESS", help="With --runner ray: the cluster. Without it: the one that runs "
                 "here, else a new one on this machine."),
)  # fmt: skip


def refuse_stream_options(given: Mapping[str, Any]) -> None:
    usual = {"on_error": "skip", "runner": "local"}
    for name, value in given.items():
        if value != usual.get(name):
            option = name.strip("_").replace("_", "-")
            raise click.UsageError(f"--{option} is for shards: name the folder of the scored ones with -o")
