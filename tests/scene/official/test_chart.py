from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval import engine
from capeval.run import Run
from capeval.scene.official.grammar import Grammar
from capeval.scene.official.parser import MAX_TOKENS, Parser
from capeval.scene.official.tree import Tree, read_tree

TREES = {
    "a dog": "(ROOT (NP (DT a) (NN dog)))",
    "a man is holding the brown dog": "(ROOT (S (NP (DT a) (NN man)) (VP (VBZ is) (VP (VBG holding) "
    "(NP (DT the) (JJ brown) (NN dog))))))",
    "the dog is running in the park": "(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ is) (VP (VBG running) "
    "(PP (IN in) (NP (DT the) (NN park)))))))",
    "dogs and a man": "(ROOT (NP (NP (NNS dogs)) (CC and) (NP (DT a) (NN man))))",
    "a grey cat": "(ROOT (NP (DT a) (JJ grey) (NN cat)))",
    # No rule begins with a preposition before a conjunction: every tag is allowed on every word.
    "in and": "(ROOT (NP (DT in) (NN and)))",
    "": "",
}


def words_of(tree: Tree) -> list[str]:
    own = [] if tree.word is None else [tree.word]
    return own + [word for child in tree.children for word in words_of(child)]


@pytest.mark.parametrize("caption", TREES)
def test_trees(tiny: Grammar, each_engine: str, caption: str) -> None:
    assert Parser(tiny).trees([caption.split()]) == [TREES[caption]]


def test_captions_do_not_touch_each_other(tiny: Grammar, compiled_engine: str) -> None:
    captions = [caption.split() for caption in TREES] * 40
    for threads in (1, 3):
        assert Parser(tiny).trees(captions, Run(threads=threads)) == list(TREES.values()) * 40


VOCABULARY = ["a", "the", "dog", "man", "dogs", "brown", "is", "holds", "running", "in", "with", "and", "grey", "cat"]
VOCABULARY += ["walks", "Bob", "12", "x-ray"]


@given(captions=st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=9), max_size=4))
@settings(max_examples=60)
def test_engines_agree(tiny: Grammar, captions: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPEVAL_ENGINE", "python")
        expected = Parser(tiny).trees(captions)
    if engine.active() != "compiled":
        pytest.skip("the compiled engine was not built")
    assert Parser(tiny).trees(captions, Run(threads=2)) == expected
    assert [words_of(read_tree(tree)) if tree else [] for tree in expected] == captions


@st.composite
def random_problem(draw: st.DrawFn) -> dict[str, Any]:
    """A grammar of random rules and some captions, with many ties."""
    size = draw(st.integers(4, 12))
    state = st.integers(0, size - 1)
    score = st.sampled_from([0.0, -0.5, -1.0, -1.1, -2.3, 0.7])
    binary = draw(st.lists(st.tuples(state, state, state), min_size=1, max_size=25))
    binary += [(0, left, 1) for left in draw(st.lists(state, min_size=1, max_size=3))]
    unary = draw(st.lists(st.tuples(state, state), max_size=8))
    is_tag = [0, 1] + [draw(st.integers(0, 1)) for _ in range(size - 2)]
    tags = [number for number in range(size) if is_tag[number]]
    word_tags = draw(st.lists(st.lists(st.sampled_from(tags), unique=True, max_size=4), min_size=1, max_size=4))
    captions = draw(st.lists(st.lists(st.integers(0, len(word_tags) - 1), max_size=6), min_size=1, max_size=4))
    return {
        "tokens": np.array([word for caption in captions for word in caption], dtype=np.int32),
        "offsets": np.cumsum([0, *map(len, captions)], dtype=np.int64),
        "words": [f"w{number}" for number in range(len(word_tags))],
        "tag_offsets": np.cumsum([0, *map(len, word_tags)], dtype=np.int64),
        "tags": np.array([tag for own in word_tags for tag in own], dtype=np.int32),
        "tag_scores": np.array([-draw(st.integers(0, 6)) / 3 for own in word_tags for _ in own], dtype=np.float32),
        "labels": ["R", "E"] + [draw(st.sampled_from(["", f"L{number}"])) for number in range(size - 2)],
        "is_tag": np.array(is_tag, dtype=np.uint8),
        "binary": np.array(binary, dtype=np.int32).reshape(-1, 3),
        "binary_scores": np.array([draw(score) for _ in binary], dtype=np.float32),
        "unary": np.array(unary, dtype=np.int32).reshape(-1, 2),
        "unary_scores": np.array([min(draw(score), 0.0) for _ in unary], dtype=np.float32),
        "root": 0,
        "end": 1,
        "max_tokens": 6,
        "threads": 2,
    }


@given(problem=random_problem())
@settings(max_examples=150)
def test_twins_agree_on_any_grammar(problem: dict[str, Any], compiled_engine: str) -> None:
    assert engine.load().parse_captions(**problem) == engine.load("python").parse_captions(**problem)


@given(captions=st.lists(st.lists(st.text(max_size=6), max_size=8), max_size=5))
def test_any_strings(tiny: Grammar, compiled_engine: str, captions: list[list[str]]) -> None:
    trees = Parser(tiny).trees(captions)
    for tokens, tree in zip(captions, trees):
        kept = [token for token in tokens if token]
        assert len(words_of(read_tree(tree))) == len(kept) if kept else tree == ""


def test_long_captions_are_cut(tiny: Grammar, compiled_engine: str) -> None:
    tokens = ["dog"] * (2 * MAX_TOKENS + 1)
    tree = read_tree(Parser(tiny).trees([tokens])[0])
    assert words_of(tree) == tokens
    assert [child.label for child in tree.children] == ["X"]
    assert len(tree.children[0].children) == 3


def test_bad_arrays_are_refused(tiny: Grammar, compiled_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Recorder:
        def parse_captions(self, **arguments: Any) -> list[str]:
            given.update(arguments)
            return [""]

    parse = engine.load().parse_captions
    monkeypatch.setattr("capeval.scene.official.parser.engine.load", lambda name: Recorder())
    Parser(tiny).trees([["a", "dog"]])
    assert parse(**given) == [TREES["a dog"]]
    wrong = {
        "tokens": given["tokens"] + 7,
        "offsets": given["offsets"][:-1],
        "tags": given["tags"] * 0 + tiny.root,  # a state, but not a tag
        "tag_scores": given["tag_scores"] * np.float32(np.inf),
        "binary": given["binary"] + 5000,
        "binary_scores": given["binary_scores"][1:],
        "unary": given["unary"].astype(np.int64),
        "is_tag": given["is_tag"][1:],
        "root": -1,
        "end": 10**6,
        "max_tokens": 1,
        "threads": 0,
        "words": [],
        "labels": [],
    }
    for name, value in wrong.items():
        with pytest.raises(ValueError):
            parse(**{**given, name: value})


@pytest.mark.parametrize("name", ["coco", "composite", "flickr8k", "karpathy", "pascal50s"])
def test_official_trees(official_grammar: Grammar, shared: Path, compiled_engine: str, name: str) -> None:
    with gzip.open(shared / "golden" / "spice" / f"parses_{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        sentences = [s for line in islice(lines, 7, 4000, 50) for s in json.loads(line)["sentences"]]
    sentences = [sentence for sentence in sentences if len(sentence["tokens"]) <= 25][:60]
    trees = Parser(official_grammar).trees([[token[0] for token in s["tokens"]] for s in sentences])
    assert trees == [sentence["tree"] for sentence in sentences]
