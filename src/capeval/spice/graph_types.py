"""The dependency graph of one sentence, as a parser gives it and the rules for tuples read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Token(NamedTuple):
    word: str
    tag: str
    lemma: str


class Edge(NamedTuple):
    """`head` and `dependent` name tokens from "1" on; "5'1" is the first copy of token 5."""

    head: str
    dependent: str
    relation: str
    shared: bool = False
    """Whether the dependent was given to this head because a conjunct has it."""


@dataclass(frozen=True)
class Graph:
    """Words with their relations; unlike in a tree, a word may have several heads, and copies."""

    tokens: tuple[Token, ...]
    roots: tuple[str, ...]
    edges: tuple[Edge, ...]


def graph_from_json(sentence: Mapping[str, Any]) -> Graph:
    """From `{"tokens": [[word, tag, lemma]], "roots": [...], "edges": [[head, dependent, relation(, 1)]]}`."""
    return Graph(
        tuple(Token(*token) for token in sentence["tokens"]),
        tuple(sentence["roots"]),
        tuple(Edge(head, dependent, relation, bool(rest)) for head, dependent, relation, *rest in sentence["edges"]),
    )
