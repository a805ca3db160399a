"""A server of its own for each module of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from capeval.web.settings import Settings

    from .served import LIMITS, served

    with served(Settings(limits=LIMITS, warm=False)) as opened:
        yield opened
