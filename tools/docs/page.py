"""What the scripts that measure pages of docs have in common."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from capeval.bench.registry import benchmark
from capeval.cli.progress import Terminal
from capeval.run import Run

DOCS = Path(__file__).resolve().parents[2] / "docs"


def options(about: str, resamples: int) -> argparse.ArgumentParser:
    """The options of every page."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--work", help="folder of what was computed before; without it, that of `capeval bench all`")
    parser.add_argument("--resamples", type=int, default=resamples)
    return parser


def keeping(name: str, work: str | None) -> Run:
    """A run of a benchmark that keeps what it computes, where `capeval bench all` looks for it too."""
    run = Run(progress=Terminal())
    return replace(run, kept=(Path(work) if work else run.cache / "leaderboard") / name)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def papers_of(name: str, variant: str = "") -> str:
    """Which papers a table can be compared with."""
    papers = benchmark(name).comparable()[variant]
    return f"Compare with the tables of {', '.join(papers)}." if papers else "No paper's table can be compared."
