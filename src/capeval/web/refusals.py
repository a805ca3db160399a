"""What is said to clients that ask for what cannot be, and metrics that they may not name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from capeval.errors import CapevalError
from capeval.metrics.composite import Composite
from capeval.registry import parse_all
from capeval.types import Metric, Selection, parameters_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Refused(CapevalError):
    """A request that is not answered, with the status that says why."""

    def __init__(self, message: str, status: int = 422) -> None:
        self.status = status
        super().__init__(message)


def allowed(expressions: Sequence[str]) -> list[Selection]:
    """The metrics of these expressions. None may read a file of the server that a client names."""
    if any("\0" in each for each in expressions):
        raise Refused("a metric expression has no NUL")
    selections = parse_all(expressions)
    for selection in selections:
        refuse_files(selection.metric)
    return selections


def refuse_files(metric: Metric) -> None:
    """Parameters that name a table or a checkpoint take the names of what is installed, never a path."""
    for field in parameters_of(metric):
        value = getattr(metric, field.name)
        if not isinstance(value, str) or value == field.default:
            continue
        if not _NAME.fullmatch(value) or Path(value).exists():
            raise Refused(
                f"{metric.info.name}: {field.name}={value} could be a file. A server reads no files that clients name; "
                "give the name of something that is installed"
            )
    if isinstance(metric, Composite):
        for part in metric.parts:
            refuse_files(part.metric)
