"""The choices of one run, in one object that travels with the work: a server can score for two people at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from capeval.errors import CapevalError


class Progress:
    """What somebody may want to see while work goes on. This one shows nothing; the command line has one that does."""

    def step(self, what: str) -> None:
        """What is being done now."""

    def note(self, message: str) -> None:
        """A remark that is worth keeping."""

    def left_out(self, what: str, problem: CapevalError) -> None:
        """A remark that something cannot be had, and why."""
        self.note(f"{what} is left out: {problem}")

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
        """For a long step; call what it gives with how much is done. With a unit the speed can be shown."""
        yield lambda done: None


def cache_dir() -> Path:
    """CAPEVAL_CACHE, else the user's cache folder on this system. Nothing is created."""
    if chosen := os.environ.get("CAPEVAL_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("capeval", appauthor=False)


def feature_cache_bytes() -> int:
    """How large the cache of picture features may become: CAPEVAL_FEATURE_CACHE_GB, else 8 gigabytes."""
    chosen = os.environ.get("CAPEVAL_FEATURE_CACHE_GB") or "8"
    try:
        return int(float(chosen) * 1e9)
    except (ValueError, OverflowError):
        raise CapevalError(f"CAPEVAL_FEATURE_CACHE_GB is {chosen!r}; it must be a number of gigabytes") from None


@dataclass(frozen=True)
class Run:
    """Only the tokenizer decides numbers; the rest is how they are computed and what is shown meanwhile."""

    tokenizer: str = "ptb"
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    engine: str = ""
    """`python` or `compiled`; without a name what CAPEVAL_ENGINE says, else the fastest there is."""
    progress: Progress = field(default_factory=Progress)
    cache: Path = field(default_factory=cache_dir)
    feature_cache_bytes: int = field(default_factory=feature_cache_bytes)
    """The cache of picture features is kept below this; the pictures of the run itself are never dropped."""
    kept: Path | None = None
    """Folder of what was computed before from the same input: statistics of metrics, correlations in resamples. None:
    nothing is kept, and all is computed."""
