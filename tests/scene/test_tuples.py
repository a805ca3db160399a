"""The rules that take tuples from dependency graphs, on graphs made by hand, and on official ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from capeval.scene import Edge, Graph, SceneTuple, Token
from capeval.scene.graph import graph_from_json, tuples_of_caption, tuples_of_graph

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def graph(words: str, edges: str, root: str) -> Graph:
    """Words as `form/TAG` or `form/TAG/lemma`, edges as `head>dependent:relation`."""
    tokens = []
    for word in words.split():
        form, tag, *lemma = word.split("/")
        tokens.append(Token(form, tag, lemma[0] if lemma else form))
    links = []
    for edge in edges.split():
        ends, relation = edge.split(":", 1)
        head, dependent = ends.split(">")
        links.append(Edge(head, dependent, relation))
    return Graph(tuple(tokens), (root,), tuple(links))


def tuples(words: str, edges: str, root: str) -> list[SceneTuple]:
    return tuples_of_graph(graph(words, edges, root))


CASES: dict[str, tuple[str, str, str, list[SceneTuple]]] = {
    "subject, verb, object": (
        "the/DT girl/NN kicks/VBZ/kick a/DT ball/NN",
        "2>1:det 3>2:nsubj 5>4:det 3>5:dobj",
        "3",
        [("girl", "ball", "kick"), ("ball",), ("girl",)],
    ),
    "preposition after the verb": (
        "a/DT boat/NN floats/VBZ/float next/JJ to/TO a/DT pier/NN",
        "2>1:det 3>2:nsubj 7>4:case 4>5:mwe 7>6:det 3>7:nmod:next_to",
        "3",
        [("boat", "pier", "float next to"), ("pier",), ("boat",)],
    ),
    "particle": (
        "a/DT woman/NN picks/VBZ/pick up/RP a/DT cup/NN",
        "2>1:det 3>2:nsubj 3>4:compound:prt 6>5:det 3>6:dobj",
        "3",
        [("woman", "cup", "pick up"), ("cup",), ("woman",)],
    ),
    "be keeps its lemma before a preposition": (
        "birds/NNS/bird are/VBP/be on/IN wires/NNS/wire",
        "2>1:nsubj 4>3:case 2>4:nmod:on",
        "2",
        [("bird", "wire", "be on"), ("wire",), ("bird",)],
    ),
    "be loses its lemma before a particle": (
        "kites/NNS/kite are/VBP/be up/RP in/IN wind/NN",
        "2>1:nsubj 2>3:compound:prt 5>4:case 2>5:nmod:in",
        "2",
        [("kite", "wind", "up in"), ("wind",), ("kite",)],
    ),
    "participle": (
        "a/DT child/NN holding/VBG/hold an/DT apple/NN",
        "2>1:det 2>3:acl 5>4:det 3>5:dobj",
        "2",
        [("child", "apple", "hold"), ("child",), ("apple",)],
    ),
    "verb without object": (
        "a/DT horse/NN sleeps/VBZ/sleep",
        "2>1:det 3>2:nsubj",
        "3",
        [("horse", "sleep"), ("horse",)],
    ),
    "be alone says nothing": ("there/EX is/VBZ/be fog/NN", "2>1:expl 2>3:nsubj", "2", [("fog",)]),
    "copula and preposition": (
        "the/DT lamp/NN is/VBZ/be in/IN front/NN of/IN a/DT mirror/NN",
        "2>1:det 8>2:nsubj 8>3:cop 8>4:case 4>5:mwe 4>6:mwe 8>7:det",
        "8",
        [("lamp", "mirror", "in front of"), ("mirror",), ("front",), ("lamp",)],
    ),
    "copula and adjective, by two rules": (
        "the/DT soup/NN is/VBZ/be hot/JJ",
        "2>1:det 4>2:nsubj 4>3:cop",
        "4",
        [("soup", "hot"), ("soup", "hot"), ("soup",)],
    ),
    "two copulas, two tuples": (
        "a/DT fox/NN is/VBZ/be in/IN a/DT den/NN being/VBG/be",
        "2>1:det 6>2:nsubj 6>3:cop 6>4:case 6>5:det 6>7:cop",
        "6",
        [("fox", "den", "in"), ("fox", "den", "in"), ("den",), ("fox",)],
    ),
    "adjective before its noun": ("green/JJ grass/NN", "2>1:amod", "2", [("grass", "green"), ("grass",)]),
    "noun and preposition": (
        "a/DT jar/NN of/IN honey/NN",
        "2>1:det 4>3:case 2>4:nmod:of",
        "2",
        [("jar", "honey", "of"), ("jar",), ("honey",)],
    ),
    "possession": (
        "the/DT dog/NN 's/POS tail/NN",
        "2>1:det 4>2:nmod:poss 2>3:case",
        "4",
        [("dog", "tail", "have"), ("tail",), ("dog",)],
    ),
    "passive": (
        "a/DT cart/NN pulled/VBN/pull by/IN oxen/NNS/ox stops/VBZ",
        "2>1:det 3>2:nsubjpass 5>4:case 3>5:nmod:agent",
        "3",
        [("ox", "cart", "pull"), ("ox",), ("cart",)],
    ),
    "compound": ("a/DT coffee/NN shop/NN", "3>1:det 3>2:compound", "3", [("shop", "coffee")]),
    "numbers of plurals": (
        "three/CD boys/NNS/boy carry/VBP two/CD bags/NNS/bag",
        "2>1:nummod 3>2:nsubj 5>4:nummod 3>5:dobj",
        "3",
        [("boy", "bag", "carry"), ("boy", "three"), ("bag", "two"), ("bag",), ("boy",)],
    ),
    "a number before a singular is not counted": ("one/CD egg/NN", "2>1:nummod", "2", [("egg",)]),
    "quantifier with article": (
        "a/DT pair/NN of/IN shoes/NNS/shoe",
        "2>1:det 4>3:case 2>4:nmod:of",
        "2",
        [("shoe", "a"), ("shoe",), ("pair",)],
    ),
    "quantifier alone": (
        "dozens/NNS/dozen of/IN candles/NNS/candle burn/VBP",
        "3>2:case 1>3:nmod:of 4>1:nsubj",
        "4",
        [("candle", "burn"), ("candle", "dozen"), ("candle",), ("dozen",)],
    ),
    "quantifier before an article": (
        "some/DT of/IN the/DT pears/NNS/pear",
        "4>2:case 4>3:det 1>4:nmod:of",
        "1",
        [("pear", "some"), ("pear",)],
    ),
    "no quantifier without that article": (
        "some/DT of/IN pears/NNS/pear",
        "3>2:case 1>3:nmod:of",
        "1",
        [("pear",)],
    ),
    "a pronoun becomes the noun next to the root": (
        "a/DT knight/NN and/CC his/PRP$/he sword/NN",
        "2>1:det 2>3:cc 5>4:nmod:poss 2>5:conj:and",
        "2",
        [("knight", "sword", "have"), ("knight",), ("sword",)],
    ),
    "a singular pronoun is no plural": (
        "sheep/NNS with/IN its/PRP$/its wool/NN",
        "1>4:nmod:with 4>2:case 4>3:nmod:poss",
        "1",
        [("sheep", "wool", "with"), ("sheep",), ("wool",)],
    ),
    "no noun stands before the pronoun": (
        "near/IN it/PRP a/DT tree/NN",
        "4>3:det 2>1:case 4>2:nmod:near",
        "4",
        [("tree", "it", "near"), ("tree",)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    words, edges, root, expected = CASES[name]
    assert tuples(words, edges, root) == expected


def test_objects_come_in_the_order_of_a_hash_map() -> None:
    """Of 16 places, token 17 has the second: before token 4."""
    fill = " ".join(["x/FW"] * 12)
    words = f"she/PRP sees/VBZ/see a/DT hill/NN {fill} moon/NN"
    found = tuples(words, "2>1:nsubj 4>3:det 2>4:dobj 2>17:dobj", "2")
    assert found == [("hill",), ("moon",)]
    found = tuples("cat/NN " + words.removeprefix("she/PRP "), "2>1:nsubj 4>3:det 2>4:dobj 2>17:dobj", "2")
    assert found[:2] == [("cat", "moon", "see"), ("cat", "hill", "see")]


def test_copies_of_words() -> None:
    found = tuples(
        "dogs/NNS/dog run/VBP to/TO and/CC from/IN home/NN", "2>1:nsubj 6>3:case 2>6:nmod:to 2'1>6:nmod:from", "2"
    )
    assert found == [("dog", "home", "run to"), ("home",), ("dog",)]


def test_a_cycle_is_no_endless_walk() -> None:
    found = tuples("art/NN lives/VBZ/live", "2>1:nsubj 1>2:acl:relcl", "2")
    assert found == [("art", "live"), ("art",)]


def test_a_deep_graph_needs_no_deep_stack() -> None:
    size = 3000
    edges = " ".join(f"{i}>{i + 1}:nmod:of" for i in range(1, size))
    found = tuples(" ".join(["thing/NN"] * size), edges, "1")
    assert len(found) == 2 * size - 1


def test_no_words() -> None:
    assert tuples_of_graph(Graph((), (), ())) == []
    assert tuples_of_caption([]) == []


def test_words_without_graph_say_nothing() -> None:
    assert tuples_of_graph(Graph((Token("cat", "NN", "cat"),), (), ())) == []


def test_official_graphs_of_the_small_sample() -> None:
    lines = gzip.decompress((GOLDEN / "spice_small.jsonl.gz").read_bytes()).splitlines()
    entries = [entry for entry in map(json.loads, lines) if "sentences" in entry]
    assert len(entries) > 200
    for entry in entries:
        found = tuples_of_caption(map(graph_from_json, entry["sentences"]))
        assert found == [tuple(each) for each in entry["tuples"]], entry["caption"]


@pytest.mark.parametrize("name", ["coco", "composite", "flickr8k", "karpathy", "pascal50s"])
def test_official_graphs(shared: Path, name: str) -> None:
    """All tuples are the official ones; in one caption, two of them change places."""
    captions, in_other_order = 0, []
    with gzip.open(shared / "golden" / "spice" / f"parses_{name}.jsonl.gz") as stream:
        for line in stream:
            entry = json.loads(line)
            captions += 1
            found = tuples_of_caption(map(graph_from_json, entry["sentences"]))
            official = [tuple(each) for each in entry["tuples"]]
            assert sorted(found) == sorted(official), entry["caption"]
            if found != official:
                in_other_order.append(entry["caption"])
    assert captions > 4000
    assert len(in_other_order) <= 1
