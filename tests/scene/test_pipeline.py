"""From captions to tuples with the official grammar (where it is at hand), and the commands that show them."""

from __future__ import annotations

import gzip
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capeval
from capeval.cli import main
from capeval.run import Run
from capeval.scene import dependencies_of, graphs_of, parse_captions, trees_of, tuples_of
from capeval.scene.official.grammar import MissingGrammar, grammar_path
from capeval.scene.official.parser import Parser


@pytest.fixture(autouse=True)
def with_grammar(monkeypatch: pytest.MonkeyPatch, grammar: None) -> None:
    if not grammar_path().is_file():
        pytest.skip("SPICE's grammar is not here: capeval data import spice-grammar")
    monkeypatch.setenv("CAPEVAL_PARSE_CACHE", "off")


def test_tuples_of_a_plain_caption() -> None:
    (tuples,) = tuples_of(["a black dog runs on the sandy beach"])
    assert set(tuples) == {("dog",), ("beach",), ("dog", "black"), ("beach", "sandy"), ("dog", "beach", "run on")}


def test_order_repeats_and_empty_captions() -> None:
    first, empty, again, blank = tuples_of(["a red car", "", "a red car", " "])
    assert first == again == [("car", "red"), ("car",)]
    assert empty == blank == []


def test_threads_do_not_matter() -> None:
    captions = [f"{number} men ride {thing}" for number in ("two", "three") for thing in ("a bike", "horses", "waves")]
    assert trees_of(captions, Run(threads=1)) == trees_of(captions, Run(threads=3))


@settings(max_examples=40)
@given(st.lists(st.text(max_size=12), max_size=12))
def test_any_text_can_be_parsed(words: list[str]) -> None:
    caption = " ".join(" ".join(capeval.tokenize(word)) for word in words)
    for parts in tuples_of([caption])[0]:
        assert 1 <= len(parts) <= 3


def test_a_very_long_caption_is_parsed_in_pieces() -> None:
    (tuples,) = tuples_of([" and ".join(["a dog on a sofa"] * 40)])
    assert ("dog",) in tuples


def test_the_parser_agrees_with_the_official_one(shared: Path) -> None:
    with gzip.open(shared / "golden" / "spice" / "parses_coco.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, 0, 6000, 40)]
    ours = tuples_of([row["caption"] for row in rows], run=Run(threads=2))
    same = sum(sorted(mine) == sorted(map(tuple, row["tuples"])) for mine, row in zip(ours, rows, strict=True))
    assert same >= 0.97 * len(rows)


def test_scene_graph_is_a_picture() -> None:
    picture = ElementTree.fromstring(capeval.scene_graph("A black dog runs on the beach.")._repr_svg_())
    words = " ".join(text for text in picture.itertext())
    assert all(word in words for word in ("dog", "black", "beach", "run on"))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["capeval", *arguments])
    main()


def test_parse_prints_what_spice_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("A black dog.\n\nA man is riding a wave!\n")
    run(monkeypatch, "parse", "captions.txt")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["caption"] for row in rows] == ["a black dog", "", "a man is riding a wave"]
    assert rows[0]["objects"] == ["dog"]
    assert rows[0]["attributes"] == [["dog", "black"]]
    assert rows[2]["relations"] == [["man", "ride", "wave"]]
    Path("parses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = capeval.score(["A black dog."], [["A man is riding a wave!"]], ["spice(parses=parses.jsonl)"]).scores
    assert scores == {"spice(parses=parses.jsonl)": 0.0}


def test_parse_as_conllu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("A dog sleeps.\n")
    run(monkeypatch, "parse", "captions.txt", "--format", "conllu")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# text = a dog sleeps"
    assert [line.split("\t")[1:3] for line in lines[1:4]] == [["a", "a"], ["dog", "dog"], ["sleeps", "sleep"]]
    assert [line.split("\t")[6:8] for line in lines[1:4]] == [["2", "det"], ["3", "nsubj"], ["0", "root"]]
    assert all(len(line.split("\t")) == 10 for line in lines[1:4])


def test_explain_names_matched_wrong_and_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "explain", "spice", "a black dog", "-r", "a black cat", "-r", "a dog", "--format", "json")
    (found,) = json.loads(capsys.readouterr().out)
    fates = {row["tuple"]: row[""] for row in found["rows"]}
    assert fates["(dog)"] == "matched"
    assert fates["(dog, black)"] == "wrong"
    assert fates["(cat)"] == "missing"


def test_without_the_grammar_the_error_names_both_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path))
    with pytest.raises(MissingGrammar, match=r"capeval data import spice-grammar.*capeval data fetch spice-grammar"):
        capeval.score(["a dog"], [["a dog"]], ["spice"])


def test_every_metric_but_those_that_lack_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("capeval.text.paraphrase.find_table", lambda: (_ for _ in ()).throw(MissingGrammar("no table")))
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text('{"1": "a dog", "2": "a cat"}')
    Path("r.json").write_text('{"1": ["a dog"], "2": ["a cat"]}')
    run(monkeypatch, "score", "c.json", "-r", "r.json", "--format", "json")
    output = capsys.readouterr()
    assert "spice is left out" in output.err
    assert "spice" not in json.loads(output.out)["scores"]
    assert "bleu_4" in json.loads(output.out)["scores"]


def test_a_caption_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wanted of it, and in whatever order: tuples, dependencies and graphs come from one parse."""
    monkeypatch.delenv("CAPEVAL_PARSE_CACHE")
    captions = ["a man rides two horses", "", "a lot of dogs sleep next to a cat", "a man rides two horses"]
    without = [tuples_of(captions), list(dependencies_of(captions)), graphs_of(captions), parse_captions(captions)]
    parsed: list[str] = []

    def counted(self: Parser, captions: Sequence[Sequence[str]], run: Run | None = None) -> list[str]:
        parsed.extend(" ".join(words) for words in captions)
        return trees(self, captions, run)

    trees, grammar = Parser.trees, grammar_path()
    monkeypatch.setattr(Parser, "trees", counted)
    monkeypatch.setattr("capeval.scene.pipeline.grammar_path", lambda cache: grammar)
    run = Run(cache=tmp_path)
    for _ in range(2):
        found = [
            tuples_of(captions, run=run),
            list(dependencies_of(captions, run=run)),
            graphs_of(captions, run=run),
            parse_captions(captions, run=run),
        ]
        assert found == without
    assert sorted(parsed) == sorted({caption for caption in captions if caption})
