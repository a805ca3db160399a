"""The dependency graph of one sentence, as a parser gives it and the rules for tuples read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

Node = tuple[int, int]
"""Index of the token, from 1, and number of the copy, 0 for the token itself."""


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


@lru_cache(maxsize=1 << 10)
def node_of(name: str) -> Node:
    """What "5'1" names."""
    index, _, copy = name.partition("'")
    return int(index), int(copy or 0)


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
