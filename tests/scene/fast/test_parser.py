"""The fast parser with the weights that come with capeval."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capeval
from capeval.cli import main
from capeval.errors import DataError, UnknownName
from capeval.run import Run
from capeval.scene import default_parser, dependencies_of, graphs_of, tuples_of, tuples_of_graph
from capeval.scene.fast import FastParser, fast_parser
from capeval.scene.fast.parser import BATCH_TOKENS, MAX_TOKENS
from capeval.scene.fast.weights import BUILTIN, read_weights
from capeval.scene.lemma import token

CAPTIONS = [
    "a black dog runs on the sandy beach",
    "two men are sitting on a bench in front of a red house",
    "a woman holding a tennis racket",
    "",
    "a zyzzyvaish blorfing 3d-printed qwx",
    "a group of people standing next to each other",
]


def test_tuples_of_plain_captions() -> None:
    dog, men, woman, nothing, *_ = tuples_of(CAPTIONS, parser="fast")
    assert {("dog",), ("beach",), ("dog", "black"), ("beach", "sandy")} <= set(dog)
    assert {("man", "two"), ("house", "red")} <= set(men)
    assert ("racket", "tennis") in woman
    assert nothing == []


def test_it_gives_what_the_official_parser_gives() -> None:
    """Tokens with tags and lemmas, the basic tree, the graph and tuples, through the same rules."""
    for caption, (tokens, basic), graph in zip(
        CAPTIONS, dependencies_of(CAPTIONS, "fast"), graphs_of(CAPTIONS, "fast"), strict=True
    ):
        assert [token.word for token in tokens] == caption.split()
        assert graph.tokens == tokens
        assert [dependent for _, dependent, _ in basic] == list(range(1, len(tokens) + 1))
        assert [relation for head, _, relation in basic if not head] == (["root"] if tokens else [])
        assert tuples_of_graph(graph) == tuples_of([caption], parser="fast")[0]


def test_company_and_threads_do_not_matter() -> None:
    expected = [next(fast_parser().tuples([caption])) for caption in CAPTIONS]
    for threads in (1, 2, 5):
        assert list(fast_parser().tuples(CAPTIONS, Run(threads=threads))) == expected
    assert list(FastParser(read_weights()).tuples(CAPTIONS[::-1] * 3))[::-1] == expected * 3


def test_the_python_engine_parses_alike(compiled_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(fast_parser().parses(CAPTIONS))
    monkeypatch.setenv("CAPEVAL_ENGINE", "python")
    assert list(fast_parser().parses(CAPTIONS)) == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=15), max_size=20))
def test_any_text_can_be_parsed(words: list[str]) -> None:
    """Tokenised or not: control characters, surrogates, brackets, spaces of all kinds."""
    for caption in (" ".join(" ".join(capeval.tokenize(word)) for word in words), " ".join(words)):
        (graph,) = graphs_of([caption], "fast")
        assert len(graph.tokens) == len([word for word in caption.split(" ") if word])
        assert all(1 <= len(each) <= 3 for each in tuples_of_graph(graph))


@pytest.mark.parametrize("words", [MAX_TOKENS, MAX_TOKENS + 1, 5 * MAX_TOKENS + 7, BATCH_TOKENS + 50])
def test_long_captions_are_parsed_in_pieces(words: int) -> None:
    caption = " ".join(f"word{i}" for i in range(words))
    before, (tokens, basic), after = dependencies_of(["a red car", caption, "a red car"], "fast")
    assert len(tokens) == len(basic) == words
    assert sum(not head for head, _, _ in basic) == 1
    assert before == after


def test_memory_stays_the_same() -> None:
    """However many different words there are."""
    parser = FastParser(read_weights())

    def parse(start: int) -> int:
        for _ in parser.parses(f"a dog{start + i} on a sofa{start + i}" for i in range(BATCH_TOKENS // 2 + 500)):
            pass
        token.cache_clear()  # which is bounded, too, but large
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = parse(0)
        assert parse(10**6) < first + (1 << 20)
    finally:
        tracemalloc.stop()


def test_an_unknown_parser_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"fsat.*fast"):
        tuples_of(["a dog"], parser="fsat")
    with pytest.raises(UnknownName, match="parser"):
        graphs_of(["a dog"], "none")


def test_the_weights_are_small_and_checked(tmp_path: Path) -> None:
    assert BUILTIN.stat().st_size < 15e6
    broken = tmp_path / "broken.npz"
    for content in (b"", b"PK", BUILTIN.read_bytes()[:-500]):
        broken.write_bytes(content)
        with pytest.raises(DataError, match="not the weights of a parser"):
            read_weights(broken)


def test_without_the_grammar_the_fast_parser_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path))
    assert default_parser() == "fast"
    assert attributes("A red car.") == [("car", "red")]
    (tmp_path / "assets" / "spice-grammar").mkdir(parents=True)
    (tmp_path / "assets" / "spice-grammar" / "english.grammar").write_bytes(b"")
    assert default_parser() == "official"
    assert attributes("A red car.", parser="fast") == [("car", "red")]
    assert repr(capeval.scene_graph("A red car.", parser="fast")) == "SceneGraph([('car',), ('car', 'red')])"
    with pytest.raises(DataError, match="a caption is a text, not None"):
        capeval.scene_graph(None)  # type: ignore[arg-type]


def attributes(caption: str, parser: str | None = None) -> list[tuple[str, ...]]:
    return [tuple(map(str, each)) for each in capeval.scene_graph(caption, parser=parser).attributes]


@pytest.mark.parametrize("options", [[], ["--parser", "fast"], ["--parser", "fast", "--threads", "2"]])
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "empty"))
    file = tmp_path / "captions.txt"
    file.write_text("A red car.\n\nTwo dogs.\n")
    monkeypatch.setattr("sys.argv", ["capeval", "parse", str(file), *options])
    main()
    printed = capsys.readouterr()
    assert "parser: fast" in printed.err
    first, empty, dogs = map(json.loads, printed.out.splitlines())
    assert first["attributes"] == [["car", "red"]]
    assert empty["tuples"] == []
    assert dogs["attributes"] == [["dog", "two"]]
    monkeypatch.setattr("sys.argv", ["capeval", "parse", str(file), "--format", "conllu", "--parser", "fast"])
    main()
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert rows[1][:8] == ["2", "red", "red", "_", "JJ", "_", "3", "amod"]


def test_agreement_with_official_parses(shared: Path) -> None:
    """The promises of docs/metrics/spice_fast.md, on a sample of each set; all: tools/measure_fast_parser.py."""
    for path in sorted((shared / "golden" / "spice").glob("parses_*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in islice(lines, 0, 12_000, 12)]
        found = tuples_of([row["caption"] for row in rows], "fast", Run(threads=2))
        same = [sorted(map(list, ours)) == sorted(row["tuples"]) for ours, row in zip(found, rows, strict=True)]
        assert sum(same) / len(same) > 0.70, path.name
