"""Phrases of a caption that name a person or a place, found by the dependencies of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval.perturb.words import GROUPS, PERSONS, PLACE_PREPOSITIONS, SCENES
from capeval.scene import Graph

_IN_PHRASE = frozenset(["det", "det:predet", "amod", "compound", "nummod", "nmod:poss", "advmod", "neg", "case"])
_NOT_ITSELF = frozenset(["compound", "nmod:poss", "amod"])
"""Relations of words that only tell what kind of thing another one is."""


@dataclass(frozen=True)
class Chunk:
    """Words `begin` up to `end` of a caption; of a place, the noun phrase begins after the preposition."""

    head: str
    begin: int
    phrase: int
    end: int
    plural: bool

    def text(self, words: Sequence[str]) -> str:
        """All of it."""
        return " ".join(words[self.begin : self.end])

    def noun_phrase(self, words: Sequence[str]) -> str:
        return " ".join(words[self.phrase : self.end])


@dataclass(frozen=True)
class _Links:
    """The relations of a graph by place; copies of words are left aside."""

    below: dict[int, list[tuple[int, str]]]
    above: dict[int, list[str]]

    @classmethod
    def of(cls, graph: Graph) -> _Links:
        below: dict[int, list[tuple[int, str]]] = {}
        above: dict[int, list[str]] = {}
        for edge in graph.edges:
            if edge.head.isdigit() and edge.dependent.isdigit() and not edge.shared:
                below.setdefault(int(edge.head) - 1, []).append((int(edge.dependent) - 1, edge.relation))
                above.setdefault(int(edge.dependent) - 1, []).append(edge.relation)
        return cls(below, above)

    def phrase_begin(self, head: int) -> int:
        """Where the noun phrase that ends with this noun begins: articles, adjectives and numbers before it."""
        begin, members = head, set(self._members(head))
        while begin - 1 in members:
            begin -= 1
        return begin

    def _members(self, head: int) -> list[int]:
        found = []
        for place, relation in self.below.get(head, ()):
            if place < head and relation in _IN_PHRASE - {"case"}:
                found += [place, *(p for p, r in self.below.get(place, ()) if r in _IN_PHRASE)]
        return found


def persons(graph: Graph) -> list[Chunk]:
    """The phrases that name persons, in the order of the caption; the first one is its main actor."""
    links = _Links.of(graph)
    found: list[Chunk] = []
    for place, token in enumerate(graph.tokens):
        if not token.tag.startswith("NN") or not _NOT_ITSELF.isdisjoint(links.above.get(place, ())):
            continue
        if found and place < found[-1].end:
            continue  # the people of a group that was named before
        member = _member(graph, links, place) if token.lemma in GROUPS else None
        begin = links.phrase_begin(place)
        if member is not None:
            found.append(Chunk(graph.tokens[member].lemma, begin, begin, member + 1, True))
        elif token.lemma in PERSONS:
            plural = token.tag.endswith("S") or token.word == "people"
            found.append(Chunk(token.lemma, begin, begin, place + 1, plural))
    return found


def _member(graph: Graph, links: _Links, group: int) -> int | None:
    """Of whom a group is: `men` in `a group of young men`."""
    for place, relation in links.below.get(group, ()):
        if relation == "nmod:of" and place > group and graph.tokens[place].lemma in PERSONS:
            between = graph.tokens[group + 1 : links.phrase_begin(place)]
            if [token.word for token in between] == ["of"]:
                return place
    return None


def scenes(graph: Graph) -> list[Chunk]:
    """The phrases that name places: a preposition and a noun phrase, such as `on the beach`."""
    links = _Links.of(graph)
    found = []
    for place, token in enumerate(graph.tokens):
        if token.lemma not in SCENES or not token.tag.startswith("NN"):
            continue
        if not _NOT_ITSELF.isdisjoint(links.above.get(place, ())):
            continue
        phrase = links.phrase_begin(place)
        before = phrase - 1
        if before > 0 and graph.tokens[before].word in PLACE_PREPOSITIONS:
            is_case = (before, "case") in links.below.get(place, ())
            if is_case:
                found.append(Chunk(token.lemma, before, phrase, place + 1, token.tag.endswith("S")))
    return found
