"""What is going on, shown on standard error while somebody is looking.

One line of status; long steps inside the library show a bar in its place. Without a terminal: one line of text for each
bar.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from capeval.cli.remedies import in_words
from capeval.errors import CapevalError
from capeval.run import Progress, Run


class Terminal(Progress):
    def __init__(self) -> None:
        self._line: Any = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows the line of status meanwhile, where standard error is a terminal."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status("starting") as self._line:
            try:
                yield
            finally:
                self._line = None

    def step(self, what: str) -> None:
        if self._line:
            self._line.update(what)

    def note(self, message: str) -> None:
        click.echo(message, err=True)

    def left_out(self, what: str, problem: CapevalError) -> None:
        self.note(f"{what} is left out: {in_words(problem)}")

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        if not sys.stderr.isatty():
            print(f"{what} ...", file=sys.stderr, flush=True)
            yield _Lines(what, total, unit).show
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        line = self._line
        if line:
            line.stop()
        columns = (
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
        )  # fmt: skip
        try:
            with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
                task = bars.add_task(what, total=total, rate="")

                def show(done: int) -> None:
                    speed = bars.tasks[0].speed
                    bars.update(task, completed=done, rate=f"{speed:,.0f} {unit}/s" if unit and speed else "")

                yield show
        finally:
            if line:
                line.start()


class _Lines:
    """Progress for a file or a pipe: a line now and then."""

    _SECONDS = 30.0

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._begin = self._last = time.monotonic()

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < self._SECONDS:
            return
        self._last = now
        speed = done / (now - self._begin)
        of = f" of {self._total:,}" if self._total else ""
        left = f", {(self._total - done) / speed / 60:.0f} min left" if self._total and speed else ""
        print(f"{self._what}: {done:,}{of} {self._unit}, {speed:,.0f}/s{left}", file=sys.stderr, flush=True)


@contextmanager
def running(tokenizer: str = "ptb", threads: int | None = None) -> Iterator[Run]:
    """The choices of a command, with its progress on the terminal."""
    terminal = Terminal()
    with terminal.shown():
        yield Run(tokenizer, threads or os.cpu_count() or 1, progress=terminal)
