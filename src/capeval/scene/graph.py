"""Trees to graphs and graphs to tuples, with the word lists of English filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capeval.engine import graph, rules
from capeval.engine.graph_types import Basic, Edge, Graph, SceneTuple, Token
from capeval.scene.lemma import token
from capeval.scene.official.dependencies import basic_dependencies
from capeval.scene.official.tree import Tree
from capeval.scene.words import LISTS


def enhanced_graph(tokens: Sequence[Token], basic: Sequence[Basic]) -> Graph:
    """The graph of a sentence from its tokens and its basic tree; edges by dependent, then head."""
    return graph.enhanced_graph(tokens, basic, LISTS)


def tuples_of_graph(sentence: Graph) -> list[SceneTuple]:
    """What a sentence says about a picture; the order is that of the official tool, and matters."""
    return rules.tuples_of_graph(sentence, LISTS)


def tuples_of_caption(sentences: Iterable[Graph]) -> list[SceneTuple]:
    return [found for sentence in sentences for found in tuples_of_graph(sentence)]


def graph_of_tree(tree: Tree) -> Graph:
    """The graph of a parsed sentence."""
    return enhanced_graph(tokens_of_tree(tree), basic_dependencies(tree))


def tokens_of_tree(tree: Tree) -> list[Token]:
    """The words of a tree with tags and lemmas, in order."""
    tokens = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.word is not None:
            tokens.append(token(node.word, node.label))
        else:
            stack.extend(reversed(node.children))
    return tokens


def graph_from_json(sentence: Mapping[str, Any]) -> Graph:
    """From `{"tokens": [[word, tag, lemma]], "roots": [...], "edges": [[head, dependent, relation(, 1)]]}`."""
    return Graph(
        tuple(Token(*token) for token in sentence["tokens"]),
        tuple(sentence["roots"]),
        tuple(Edge(head, dependent, relation, bool(rest)) for head, dependent, relation, *rest in sentence["edges"]),
    )
