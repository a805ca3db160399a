"""`spice_fast` and `spider_fast`: SPICE over the fast parser, never under the name of the official metric."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import capeval
from capeval.cli import main
from capeval.scene import pipeline, tuples_of
from capeval.scene.fast import fast_parser
from capeval.scene.official.grammar import MissingGrammar

CANDIDATES = ["A brown dog runs on the beach.", "Two men ride horses.", "A cat sleeps on a red sofa."]
REFERENCES = [
    ["A dog is running on a beach.", "The brown dog plays near the sea."],
    ["Two people riding horses in a field.", "Men on horses."],
    ["A black cat lying on a couch.", "A sleeping cat."],
]


@pytest.fixture(autouse=True)
def without_grammar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def missing(path: Path) -> None:
        raise MissingGrammar("not here")

    monkeypatch.setattr("capeval.scene.pipeline.load_grammar", missing)
    pipeline._parser_with.cache_clear()
    yield
    pipeline._parser_with.cache_clear()


def test_it_is_spice_over_the_tuples_of_the_fast_parser(tmp_path: Path) -> None:
    texts = [" ".join(capeval.tokenize(text)) for text in [*CANDIDATES, *chain(*REFERENCES)]]
    file = tmp_path / "parses.jsonl"
    rows = zip(texts, tuples_of(texts, parser="fast"), strict=True)
    file.write_text("".join(json.dumps({"caption": text, "tuples": tuples}) + "\n" for text, tuples in rows))
    result = capeval.score(CANDIDATES, REFERENCES, ["spice_fast", "spice_fast_attribute", f"spice(parses={file})"])
    brought = next(name for name in result.scores if name.startswith("spice("))
    assert result.per_caption["spice_fast"].tolist() == result.per_caption[brought].tolist()
    assert 0.2 < result.scores["spice_fast"] < 1
    assert "spice_fast_attribute" in result.scores


def test_spider_fast_is_the_mean_of_its_parts() -> None:
    result = capeval.score(CANDIDATES, REFERENCES, ["spice_fast", "cider_d", "spider_fast"])
    mean = (result.scores["spice_fast"] + result.scores["cider_d"]) / 2
    assert result.scores["spider_fast"] == pytest.approx(mean, abs=1e-12)


def test_the_signature_names_the_weights() -> None:
    result = capeval.score(CANDIDATES, REFERENCES, ["spice_fast", "spider_fast"])
    for name in ("spice_fast", "spider_fast"):
        assert fast_parser().digest in result.signatures[name]


def test_without_the_grammar_scoring_everything_has_the_fast_ones() -> None:
    result = capeval.score(CANDIDATES, REFERENCES)
    assert {"spice_fast", "spider_fast"} <= result.scores.keys()
    assert not {"spice", "spider"} & result.scores.keys()


def test_explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["capeval", "explain", "spice_fast", CANDIDATES[0], "-r", REFERENCES[0][0]])
    main()
    printed = capsys.readouterr().out
    assert "spice_fast" in printed
    assert "matched" in printed
    assert "(dog)" in printed
