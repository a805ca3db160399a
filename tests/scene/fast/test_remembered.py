"""Captions that were parsed lately need no parsing again, and memory has an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from capeval.engine.graph_types import SceneTuple
from capeval.run import Run
from capeval.scene.fast import parser as module
from capeval.scene.fast.parser import FastParser, fast_parser
from capeval.scene.pipeline import tuples_of

CAPTIONS = ["a brown dog runs", "two cats on a mat", "a red bus"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The captions that the parser is asked for."""
    found: list[str] = []
    real = FastParser.tuples

    def tuples(self: FastParser, captions: Iterable[str], run: Run | None = None) -> Iterator[list[SceneTuple]]:
        captions = list(captions)
        found.extend(captions)
        return real(self, captions, run)

    monkeypatch.setattr(FastParser, "tuples", tuples)
    fast_parser().remembered = {}
    yield found
    fast_parser().remembered = {}


def test_a_caption_is_parsed_once(asked: list[str]) -> None:
    first = tuples_of(CAPTIONS[:2], "fast")
    assert tuples_of([*CAPTIONS, CAPTIONS[0]], "fast")[:2] == first
    assert asked == CAPTIONS
    assert first[0]


def test_no_more_are_remembered_than_the_limit(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    whole = tuples_of(CAPTIONS, "fast")
    assert len(fast_parser().remembered) == 2
    assert tuples_of(CAPTIONS[::-1], "fast") == whole[::-1]
    assert len(fast_parser().remembered) <= 2
