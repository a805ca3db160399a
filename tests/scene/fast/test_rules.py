"""The rules from trees to tuples, compiled: they must give what the readable ones in Python give."""

from __future__ import annotations

import random
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from capeval import engine
from capeval.scene import tuples_of_graph
from capeval.scene.fast import fast_parser
from capeval.scene.lemma import token
from capeval.scene.words import LISTS

WORDS, TAGS, NAMES = (
    text.split()
    for text in (
        "a an the of in front on top next to out by with such as well but not rather than instead from lot lots dozens "
        "bunch some all two 3 12 80s man men dog dogs people hat hats his her it its they them himself red wet is are "
        "be has rides ridden riding stands standing up down and or who that there close far according case because",
        "NN NNS NNP NNPS JJ JJR VB VBD VBG VBN VBZ VBP IN DT CC CD PRP PRP$ POS RB RP TO WP EX",
        "root nsubj nsubjpass csubj expl dobj iobj nmod nmod:poss acl acl:relcl advcl amod nummod compound "
        "compound:prt conj cc cop case mark det aux auxpass mwe advmod ccomp xcomp dep",
    )
)
COMPILED = find_spec("capeval.engine._compiled") is not None
CLOSED = {"of": "IN", "in": "IN", "by": "IN", "and": "CC", "a": "DT", "his": "PRP$", "it": "PRP", "to": "TO"}


def random_trees(seed: int, captions: int) -> tuple[Any, ...]:
    """As the engine takes them. Half of the trees have no crossing arcs and likely relations, the rest are anything."""
    draw = random.Random(seed)
    number: dict[Any, int] = {}
    tokens: list[int] = []
    heads: list[int] = []
    relations: list[int] = []
    bounds = [0]
    for _ in range(captions):
        size = draw.choice((0, 1, 2, 4, 7, 10, 14, 20, 30))
        likely = draw.random() < 0.5
        order = list(range(1, size + 1))
        draw.shuffle(order)
        head = dict.fromkeys(order[:1], 0)
        for word in order[1:]:
            # An earlier word of a random order is above: always a tree.
            near = sorted(head, key=lambda other, word=word: abs(other - word))  # type: ignore[misc]
            head[word] = near[0] if likely else draw.choice(near)
        for place in range(1, size + 1):
            word = draw.choice(WORDS)
            tag = CLOSED.get(word, draw.choice(TAGS)) if likely else draw.choice(TAGS)
            tokens.append(number.setdefault(token(word, tag), len(number)))
            name = "root"
            if head[place]:
                name = (
                    {"of": "case", "in": "case", "by": "case", "and": "cc", "a": "det"}.get(word, "") if likely else ""
                )
                name = name or draw.choice(NAMES[1:])
            heads.append(head[place])
            relations.append(NAMES.index(name))
        bounds.append(len(tokens))
    words, tags, stems = map(list, zip(*number, strict=True))
    table = [word.lower() for word in words], tags, [stem.lower() for stem in stems], stems
    numbers = (np.array(tokens, np.int32), np.array(bounds, np.int64), np.array(heads, np.int32))
    return *table, *numbers, np.array(relations, np.int32), NAMES, LISTS


@pytest.mark.skipif(not COMPILED, reason="the compiled engine was not built")
@pytest.mark.parametrize("seed", range(12))
def test_both_engines_give_the_same_tuples(seed: int) -> None:
    trees = random_trees(seed, 250)
    ours, theirs = (engine.load(name).dependency_tuples(*trees) for name in ("compiled", "python"))
    kinds = {len(each) for caption in theirs for each in caption}
    assert kinds == {1, 2, 3}
    for caption, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        begin, end = trees[5][caption : caption + 2]
        assert one == other, [(trees[0][t], trees[1][t]) for t in trees[4][begin:end]]


@pytest.mark.parametrize("name", engine.NAMES if COMPILED else ["python"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [0, 9]}, "rows of the table"),
        ({"heads": [2, 3]}, "other words of the caption"),
        ({"heads": [1, 0]}, "other words of the caption"),
        ({"heads": [-1, 0]}, "other words of the caption"),
        ({"heads": [2]}, "every token must have"),
        ({"relations": [1, 1]}, "must be roots"),
        ({"relations": [0, 0]}, "must be roots"),
        ({"relations": [5, 0]}, "numbers of names"),
        ({"offsets": [0, 3]}, "offsets must rise"),
        ({"stems": ["a"]}, "of one length"),
    ],
)
def test_wrong_input(name: str, change: dict[str, list[Any]], message: str) -> None:
    good: dict[str, Any] = {
        "words": ["red", "dog"],
        "tags": ["JJ", "NN"],
        "lemmas": ["red", "dog"],
        "stems": ["red", "dog"],
        "tokens": [0, 1],
        "offsets": [0, 2],
        "heads": [2, 0],
        "relations": [1, 0],
        "names": ["root", "amod"],
        "lists": LISTS,
    }

    def call(**arguments: Any) -> Any:
        for key in ("tokens", "heads", "relations", "offsets"):
            arguments[key] = np.array(arguments[key], np.int64 if key == "offsets" else np.int32)
        return engine.load(name).dependency_tuples(**arguments)

    assert call(**good) == [[("dog", "red"), ("dog",)]]
    with pytest.raises(ValueError, match=message):
        call(**good | change)


def test_words_that_the_compiled_rules_cannot_take(compiled_engine: str) -> None:
    """They go through the Python ones, and their neighbours with them."""
    captions = [
        "a red dog runs",
        "a \ud800 dog",
        "the\u3000big man rides a\u2003horse",
        "\u2028 dogs of war",
        "café dogs",
    ]
    parser = fast_parser()
    expected = [tuples_of_graph(parse.graph()) for parse in parser.parses(captions)]
    assert list(parser.tuples(captions)) == expected
    assert [next(iter(parser.tuples([caption]))) for caption in captions] == expected


def test_long_captions_in_pieces(compiled_engine: str) -> None:
    captions = ["a dog runs " * 60 + "home", "two men", "", "a red hat and " * 100]
    parser = fast_parser()
    parses = list(parser.parses(captions))
    assert [sum(head == 0 for head, _, _ in parse.basic) for parse in parses] == [1, 1, 0, 1]
    assert list(parser.tuples(captions)) == [tuples_of_graph(parse.graph()) for parse in parses]
