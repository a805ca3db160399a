"""What is going on, shown on standard error while somebody is looking.

The command line shows one line of status; long steps inside the library show a bar in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_status: Any = None


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """A line that says what is being done; call it with the next step."""
    global _status
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as line:
        _status = line
        try:
            yield line.update
        finally:
            _status = None


@contextmanager
def bar(what: str, total: int | None, unit: str = "") -> Iterator[Callable[[int], None]]:
    """A bar; call it with how much is done. With a unit it shows the speed. Without a terminal: one line of text."""
    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if _status:
        _status.stop()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(what, total=total, rate="")

            def show(done: int) -> None:
                speed = bars.tasks[0].speed
                bars.update(task, completed=done, rate=f"{speed:,.0f} {unit}/s" if unit and speed else "")

            yield show
    finally:
        if _status:
            _status.start()
