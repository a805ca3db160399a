"""The dependency graph of one sentence, as a parser gives it and the rules for tuples read it.

And the words that the rules speak of: they belong to the language, not to the engine, and are given to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

Node = tuple[int, int]
"""Index of the token, from 1, and number of the copy, 0 for the token itself."""
Basic = tuple[int, int, str]
"""An arc of the basic tree: head (0: the root), dependent, relation."""
SceneTuple = tuple[str, ...]
"""`(object,)`, `(object, attribute)` or `(subject, object, relation)`."""


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


class WordLists(NamedTuple):
    """Closed classes of tags and words, in lower case. The C++ engine reads the fields by these names."""

    nouns: frozenset[str]
    """Tags of nouns; likewise of plural ones and of participles."""
    plural_nouns: frozenset[str]
    participles: frozenset[str]
    counted_by_article: frozenset[str]
    """Words that only count or portion what follows: "a lot of", ..."""
    counted_alone: frozenset[str]
    """... "dozens of", ..."""
    counted_before_article: frozenset[str]
    """... "some of the"."""
    singular_pronouns: frozenset[str]
    prepositions_beside: frozenset[str]
    """Of two words that both mark one noun: "off of the table"."""
    prepositions_above: frozenset[str]
    """Of two words of which the first governs the noun: "stands next to a dog"."""
    prepositions_of_three: frozenset[str]
    preposition_ends: frozenset[str]
    """Last words of all of these."""
    conjunctions: Mapping[str, str]
    """What conjunctions of several words are called in relations."""
