"""A dependency graph as the rules of SPICE see it, in plain Python: what the C++ twin must compute.

Quantifiers and pronouns are taken out of the way first. The official tool walks Java hash maps; its order is followed
here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from capeval.engine.graph_types import Graph, Node, Token, WordLists, node_of

Link = tuple[Node, Node, str]
"""Head, dependent, relation."""

_DECADES, _DIGITS = re.compile("[0-9]+s"), re.compile("[0-9]+")


class Net:
    """A graph with the questions that the rules ask. It never changes: changes make a new one."""

    def __init__(self, tokens: dict[Node, Token], roots: list[Node], links: list[Link], lists: WordLists) -> None:
        self.tokens, self.roots, self.links, self.lists = tokens, roots, links, lists
        self.children: dict[Node, list[tuple[Node, str]]] = {node: [] for node in tokens}
        self.parents: dict[Node, list[tuple[Node, str]]] = {node: [] for node in tokens}
        self.heads: dict[str, set[Node]] = {}
        for head, dependent, relation in links:
            self.children[head].append((dependent, relation))
            self.parents[dependent].append((head, relation))
            self.heads.setdefault(relation, set()).add(head)
        for children in self.children.values():
            _sort_as_hash_map(children)

    @classmethod
    def of(cls, graph: Graph, lists: WordLists) -> Net:
        roots = [node_of(name) for name in graph.roots]
        links = [(node_of(head), node_of(dependent), relation) for head, dependent, relation, _ in graph.edges]
        nodes = {*roots, *(node for link in links for node in link[:2])}
        return cls({node: graph.tokens[node[0] - 1] for node in sorted(nodes)}, roots, links, lists)

    def word(self, node: Node) -> str:
        return self.tokens[node].word.lower()

    def lemma(self, node: Node) -> str:
        return self.tokens[node].lemma.lower()

    def tag(self, node: Node) -> str:
        return self.tokens[node].tag

    def is_noun(self, node: Node) -> bool:
        return self.tokens[node].tag in self.lists.nouns

    def is_plural(self, node: Node) -> bool:
        return self.tokens[node].tag in self.lists.plural_nouns

    def by(self, node: Node, relation: str) -> list[Node]:
        """The node's children by this relation."""
        if node not in self.heads.get(relation, ()):
            return []
        return [child for child, label in self.children[node] if label == relation]

    def nouns_by(self, node: Node, relation: str) -> list[Node]:
        return [child for child in self.by(node, relation) if self.is_noun(child)]

    def heads_by(self, relation: str) -> list[Node]:
        """The nodes that have children by this relation."""
        heads = self.heads.get(relation, ())
        return [node for node in self.order if node in heads] if heads else []

    def objects(self, node: Node) -> list[tuple[Node, str]]:
        """Noun objects of a predicate, with prepositions or without."""
        return [
            (child, label)
            for child, label in self.children[node]
            if (label in ("iobj", "dobj") or label.startswith("nmod:")) and self.is_noun(child)
        ]

    @cached_property
    def order(self) -> list[Node]:
        """Heads before their dependents; where the graph has a cycle, the order of a hash map."""
        nodes = sorted(self.tokens, key=_hash_map_key(len(self.tokens)))
        finished: dict[Node, None] = {}
        open_nodes: set[Node] = set()
        for start in nodes:
            if start in finished:
                continue
            open_nodes.add(start)
            path = [(start, iter(self.children[start]))]
            while path:
                node, rest = path[-1]
                for child, _ in rest:
                    if child in finished:
                        continue
                    if child in open_nodes:
                        return nodes
                    if below := self.children[child]:
                        open_nodes.add(child)
                        path.append((child, iter(below)))
                        break
                    finished[child] = None
                else:
                    finished[node] = None
                    open_nodes.remove(node)
                    path.pop()
        return list(finished)[::-1]

    @cached_property
    def nouns(self) -> list[Node]:
        """In the same order."""
        return [node for node in self.order if self.is_noun(node)]


_SMALLEST_TABLE = 16


def _hash_map_key(size: int) -> Callable[[Node], int]:
    """Where Java's HashMap of this size has a token: the table doubles when it is three quarters full."""
    table = _SMALLEST_TABLE
    while 4 * size > 3 * table:
        table *= 2
    return lambda node: node[0] % table


def _sort_as_hash_map(children: list[tuple[Node, str]]) -> None:
    """Children in the order of their places in the table, then of their first link; links to one child together."""
    last = 0
    for (index, _), _ in children:
        if not last < index < _SMALLEST_TABLE:
            break
        last = index
    else:
        return  # as nearly always: each stands at its own place already
    if len(children) > 1:
        first = {child: place for place, (child, _) in reversed(list(enumerate(children)))}
        place = _hash_map_key(len(first))
        children.sort(key=lambda entry: (place(entry[0]), first[entry[0]]))


# Quantifiers: in "a lot of dogs", dogs takes the place of lot.


def demote_quantifiers(net: Net) -> Net:
    if "of" not in [token.word.lower() for token in net.tokens.values()]:
        return net
    for matches, words_of in (
        (_counted_by_article, _article_and_adjectives),
        (_counted_alone, _all_to_the_left),
        (_counted_before_article, _all_to_the_left),
    ):
        for quantifier, noun, of in list(matches(net)):
            net = _demote(net, quantifier, noun, [*words_of(net, quantifier), of])
    return net


def _counted_by_article(net: Net) -> Iterator[tuple[Node, Node, Node]]:
    for node in net.tokens:
        if net.word(node) in net.lists.counted_by_article and any(
            net.word(child) in ("a", "an") for child in net.by(node, "det")
        ):
            yield from _first_counted(net, node, lambda noun, of: True)


def _counted_alone(net: Net) -> Iterator[tuple[Node, Node, Node]]:
    for node in net.tokens:
        if (word := net.word(node)) in net.lists.counted_alone or _DECADES.fullmatch(word):
            yield from _first_counted(net, node, lambda noun, of: True)


def _counted_before_article(net: Net) -> Iterator[tuple[Node, Node, Node]]:
    def has_article(noun: Node, of: Node) -> bool:
        return not net.tag(noun).startswith("NN") or any(det[0] == of[0] + 1 for det in net.by(noun, "det"))

    for node in net.tokens:
        if (word := net.word(node)) in net.lists.counted_before_article or _DIGITS.fullmatch(word):
            yield from _first_counted(net, node, has_article)


def _first_counted(net: Net, node: Node, fits: Callable[[Node, Node], bool]) -> Iterator[tuple[Node, Node, Node]]:
    """The quantifier, what it counts, and the "of" that stands between them."""
    for child, label in net.children[node]:
        if label.startswith("nmod") and net.tag(child).startswith(("NN", "PRP")):
            for of in net.by(child, "case"):
                if net.word(of) == "of" and of[0] == node[0] + 1 and fits(child, of):
                    yield node, child, of
                    return


def _article_and_adjectives(net: Net, quantifier: Node) -> list[Node]:
    adjectives = [child for child in net.by(quantifier, "amod") if child < quantifier]
    return adjectives + [child for child in net.by(quantifier, "det") if net.word(child) in ("a", "an")]


def _all_to_the_left(net: Net, quantifier: Node) -> list[Node]:
    return [child for child, _ in net.children[quantifier] if child < quantifier]


def _demote(net: Net, quantifier: Node, noun: Node, others: list[Node]) -> Net:
    """The noun takes the quantifier's place, and the quantifier's words hang under it as one expression."""
    roots, links = list(net.roots), net.links
    if quantifier in roots:
        roots[roots.index(quantifier)] = noun
    elif net.parents[quantifier]:
        head, relation = net.parents[quantifier][0]
        links = [*links, (head, noun, relation)]
    leftmost, *rest = words = sorted({quantifier, *others})
    loose = {(head, word) for head in (quantifier, noun) for word in words} | {(quantifier, noun)}
    links = [link for link in links if link[1] != quantifier and link[:2] not in loose]
    links += [(noun, leftmost, "det:qmod"), *((leftmost, word, "mwe") for word in rest)]
    return Net(net.tokens, roots, links, net.lists)


# Pronouns: in "a man and his dog", his becomes man.


def resolve_pronouns(net: Net) -> Net:
    if not net.roots or not [token for token in net.tokens.values() if token.tag.startswith("PRP")]:
        return net
    for pronoun in net.order:
        if net.tag(pronoun).startswith("PRP") and pronoun[0] != 1 and net.parents[pronoun]:
            noun = _antecedent(net, pronoun)
            if noun is not None and noun < pronoun:
                net = _replace(net, pronoun, noun)
    return net


def _antecedent(net: Net, pronoun: Node) -> Node | None:
    """The noun nearest to the root; else the one nearest to the pronoun's parent, to that one's parent, and so on."""
    is_singular = net.word(pronoun) in net.lists.singular_pronouns
    noun = _nearest(net, net.roots[0], is_singular)
    node, seen = pronoun, {pronoun}
    while noun is None:
        above = next((head for head, _ in net.parents[node] if head not in seen), None)
        if above is None:
            return None
        seen.add(above)
        node, noun = above, _nearest(net, above, is_singular)
    return noun


def _nearest(net: Net, start: Node, is_singular: bool) -> Node | None:
    """The nearest noun: breadth first, children from left to right."""
    queue, seen = [start], {start}
    for node in queue:
        if net.is_noun(node) and not (is_singular and net.is_plural(node)):
            return node
        below = sorted({child for child, _ in net.children[node]} - seen)
        queue += below
        seen.update(below)
    return None


def _replace(net: Net, pronoun: Node, noun: Node) -> Net:
    """All links of the pronoun go to the noun, after the links that were there before."""

    def other(node: Node) -> Node:
        return noun if node == pronoun else node

    kept = [link for link in net.links if pronoun not in link[:2]]
    moved = [(other(head), other(child), label) for head, child, label in net.links if pronoun in (head, child)]
    tokens = {node: token for node, token in net.tokens.items() if node != pronoun}
    return Net(tokens, [other(root) for root in net.roots], kept + moved, net.lists)
