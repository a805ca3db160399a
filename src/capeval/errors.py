"""Everything capeval raises on purpose. Each message says what is wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class CapevalError(Exception):
    """Base of all errors that are meant for the user; the command line prints them without a traceback."""


class DataError(CapevalError):
    """The input is at fault. Carries the file, the line and the first ids where they are known."""

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, ids: Sequence[str] = ()
    ) -> None:
        self.file, self.line, self.ids = file, line, tuple(ids)
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + message + _first_ids(self.ids))


class UnknownName(CapevalError):
    """A metric, parameter or other name that does not exist, with the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        options = sorted(known)
        near = get_close_matches(name, options, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(options)}."
        super().__init__(f"unknown {kind} {name!r}. {hint}")


class CheckpointError(CapevalError):
    """A trained model that cannot be used: incomplete, damaged, of another kind, or giving other scores than it did."""


class ExpressionError(CapevalError):
    """A metric expression such as `cider_d(df=corpus)` that cannot be read or has a wrong value."""


class Unavailable(CapevalError):
    """Something must be installed or fetched first. Without `-m`, metrics that say so are left out with a note."""


class MissingExtra(Unavailable):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an optional package. Install it with: pip install "capeval[{extra}]"')


class MissingPictures(DataError, Unavailable):
    """Images without the picture that a metric looks at."""


def _first_ids(ids: Sequence[str], limit: int = 5) -> str:
    if not ids:
        return ""
    shown = ", ".join(repr(i) for i in ids[:limit])
    rest = len(ids) - limit
    return f" Ids: {shown}" + (f" and {rest} more" if rest > 0 else "")
