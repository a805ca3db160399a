"""What a dependency graph says about a picture: objects, attributes and relations, by the rules of SPICE.

A tuple is `(object,)`, `(object, attribute)` or `(subject, object, relation)`. Scene graphs merge tuples one by one, so
their order matters. The official tool walks Java hash maps; its order is followed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from capeval.scene.graph_types import Graph, Node, Token, node_of

SceneTuple = tuple[str, ...]
Link = tuple[Node, Node, str]
"""Head, dependent, relation."""

NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS"))
PLURALS = frozenset(("NNS", "NNPS"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that only count or portion what follows: "a lot of", "dozens of", "some of the".
COUNTED_BY_ARTICLE = _words(
    "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude wad clutch wave "
    "mountain array spate string ton range plethora heap sort form kind type version bit pair triple total"
)
COUNTED_ALONE = _words(
    "lots many several plenty tons dozens multitudes mountains loads pairs tens hundreds thousands millions billions "
    "trillions"
)
COUNTED_BEFORE_ARTICLE = _words(
    "some all both neither everyone nobody one two three four five six seven eight nine ten hundred thousand million "
    "billion trillion"
)
_DECADES, _DIGITS = re.compile("[0-9]+s"), re.compile("[0-9]+")

SINGULAR_PRONOUNS = _words(
    "i me myself mine my yourself he him himself his she her herself hers it itself its one oneself one's"
)


def tuples_of_caption(sentences: Iterable[Graph]) -> list[SceneTuple]:
    return [found for sentence in sentences for found in tuples_of_graph(sentence)]


def tuples_of_graph(graph: Graph) -> list[SceneTuple]:
    net = resolve_pronouns(demote_quantifiers(_Net.of(graph)))
    return [found for rule in RULES for found in rule(net)]


class _Net:
    """A graph with the questions that the rules ask. It never changes: changes make a new one."""

    def __init__(self, tokens: dict[Node, Token], roots: list[Node], links: list[Link]) -> None:
        self.tokens, self.roots, self.links = tokens, roots, links
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
    def of(cls, graph: Graph) -> _Net:
        roots = [node_of(name) for name in graph.roots]
        links = [(node_of(head), node_of(dependent), relation) for head, dependent, relation, _ in graph.edges]
        nodes = {*roots, *(node for link in links for node in link[:2])}
        return cls({node: graph.tokens[node[0] - 1] for node in sorted(nodes)}, roots, links)

    def word(self, node: Node) -> str:
        return self.tokens[node].word.lower()

    def lemma(self, node: Node) -> str:
        return self.tokens[node].lemma.lower()

    def tag(self, node: Node) -> str:
        return self.tokens[node].tag

    def is_noun(self, node: Node) -> bool:
        return self.tokens[node].tag in NOUNS

    def is_plural(self, node: Node) -> bool:
        return self.tokens[node].tag in PLURALS

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
        return [node for node in self.order if self.tokens[node].tag in NOUNS]


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


def demote_quantifiers(net: _Net) -> _Net:
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


def _counted_by_article(net: _Net) -> Iterator[tuple[Node, Node, Node]]:
    for node in net.tokens:
        if net.word(node) in COUNTED_BY_ARTICLE and any(
            net.word(child) in ("a", "an") for child in net.by(node, "det")
        ):
            yield from _first_counted(net, node, lambda noun, of: True)


def _counted_alone(net: _Net) -> Iterator[tuple[Node, Node, Node]]:
    for node in net.tokens:
        if (word := net.word(node)) in COUNTED_ALONE or _DECADES.fullmatch(word):
            yield from _first_counted(net, node, lambda noun, of: True)


def _counted_before_article(net: _Net) -> Iterator[tuple[Node, Node, Node]]:
    def has_article(noun: Node, of: Node) -> bool:
        return not net.tag(noun).startswith("NN") or any(det[0] == of[0] + 1 for det in net.by(noun, "det"))

    for node in net.tokens:
        if (word := net.word(node)) in COUNTED_BEFORE_ARTICLE or _DIGITS.fullmatch(word):
            yield from _first_counted(net, node, has_article)


def _first_counted(net: _Net, node: Node, fits: Callable[[Node, Node], bool]) -> Iterator[tuple[Node, Node, Node]]:
    """The quantifier, what it counts, and the "of" that stands between them."""
    for child, label in net.children[node]:
        if label.startswith("nmod") and net.tag(child).startswith(("NN", "PRP")):
            for of in net.by(child, "case"):
                if net.word(of) == "of" and of[0] == node[0] + 1 and fits(child, of):
                    yield node, child, of
                    return


def _article_and_adjectives(net: _Net, quantifier: Node) -> list[Node]:
    adjectives = [child for child in net.by(quantifier, "amod") if child < quantifier]
    return adjectives + [child for child in net.by(quantifier, "det") if net.word(child) in ("a", "an")]


def _all_to_the_left(net: _Net, quantifier: Node) -> list[Node]:
    return [child for child, _ in net.children[quantifier] if child < quantifier]


def _demote(net: _Net, quantifier: Node, noun: Node, others: list[Node]) -> _Net:
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
    return _Net(net.tokens, roots, links)


# Pronouns: in "a man and his dog", his becomes man.


def resolve_pronouns(net: _Net) -> _Net:
    if not net.roots or not [token for token in net.tokens.values() if token.tag.startswith("PRP")]:
        return net
    for pronoun in net.order:
        if net.tag(pronoun).startswith("PRP") and pronoun[0] != 1 and net.parents[pronoun]:
            noun = _antecedent(net, pronoun)
            if noun is not None and noun < pronoun:
                net = _replace(net, pronoun, noun)
    return net


def _antecedent(net: _Net, pronoun: Node) -> Node | None:
    """The noun nearest to the root; else the one nearest to the pronoun's parent, to that one's parent, and so on."""
    tags = NOUNS - PLURALS if net.word(pronoun) in SINGULAR_PRONOUNS else NOUNS
    noun = _nearest(net, net.roots[0], tags)
    node, seen = pronoun, {pronoun}
    while noun is None:
        above = next((head for head, _ in net.parents[node] if head not in seen), None)
        if above is None:
            return None
        seen.add(above)
        node, noun = above, _nearest(net, above, tags)
    return noun


def _nearest(net: _Net, start: Node, tags: frozenset[str]) -> Node | None:
    """Breadth first, children from left to right."""
    queue, seen = [start], {start}
    for node in queue:
        if net.tag(node) in tags:
            return node
        below = sorted({child for child, _ in net.children[node]} - seen)
        queue += below
        seen.update(below)
    return None


def _replace(net: _Net, pronoun: Node, noun: Node) -> _Net:
    """All links of the pronoun go to the noun, after the links that were there before."""

    def other(node: Node) -> Node:
        return noun if node == pronoun else node

    kept = [link for link in net.links if pronoun not in link[:2]]
    moved = [(other(head), other(child), label) for head, child, label in net.links if pronoun in (head, child)]
    tokens = {node: token for node, token in net.tokens.items() if node != pronoun}
    return _Net(tokens, [other(root) for root in net.roots], kept + moved)


# The rules, in the order in which they give tuples.


def subject_predicate_object(net: _Net) -> Iterator[SceneTuple]:
    """A man rides a horse: (man, horse, ride)."""
    for predicate in net.heads_by("nsubj"):
        if not net.by(predicate, "cop"):
            for subject in net.nouns_by(predicate, "nsubj"):
                for thing, label in net.objects(predicate):
                    yield net.lemma(subject), net.lemma(thing), _predicate(net, predicate, label)


def participle_with_object(net: _Net) -> Iterator[SceneTuple]:
    """A man riding a horse: (man, horse, ride)."""
    for noun in net.heads_by("acl"):
        for participle in net.by(noun, "acl"):
            if net.tag(participle).startswith("V"):
                for thing, label in net.objects(participle):
                    yield net.lemma(noun), net.lemma(thing), _predicate(net, participle, label)


def predicate_without_object(net: _Net) -> Iterator[SceneTuple]:
    """A dog runs: (dog, run)."""
    for predicate in net.heads_by("nsubj"):
        if not net.by(predicate, "cop") and not net.objects(predicate):
            for subject in net.nouns_by(predicate, "nsubj"):
                yield from _state(net, subject, predicate)


def copula(net: _Net) -> Iterator[SceneTuple]:
    """A dog is on the beach: (dog, beach, on). Once for each copula, as the official tool matches."""
    for predicate in net.heads_by("cop"):
        copulas = len(net.by(predicate, "cop"))
        for subject in net.nouns_by(predicate, "nsubj"):
            yield from list(_state(net, subject, predicate)) * copulas


def adjective_before_noun(net: _Net) -> Iterator[SceneTuple]:
    """A red car: (car, red)."""
    for head in net.heads_by("amod"):
        for adjective in net.by(head, "amod"):
            yield net.lemma(head), net.lemma(adjective)


def adjective_with_subject(net: _Net) -> Iterator[SceneTuple]:
    """The car is red: (car, red)."""
    for adjective in net.heads_by("nsubj"):
        if net.tag(adjective).startswith("J"):
            for subject in net.by(adjective, "nsubj"):
                yield net.lemma(subject), net.lemma(adjective)


def noun_with_preposition(net: _Net) -> Iterator[SceneTuple]:
    """A man in a hat: (man, hat, in)."""
    for noun in net.nouns:
        for modifier, label in net.children[noun]:
            if _has_preposition(label):
                yield net.lemma(noun), net.lemma(modifier), _preposition(label)


def possession(net: _Net) -> Iterator[SceneTuple]:
    """A man's hat: (man, hat, have)."""
    for thing in filter(net.is_noun, net.heads_by("nmod:poss")):
        for owner in net.nouns_by(thing, "nmod:poss"):
            yield net.lemma(owner), net.lemma(thing), "have"


def passive(net: _Net) -> Iterator[SceneTuple]:
    """A horse is ridden by a man: (man, horse, ride)."""
    for verb in net.heads_by("nmod:agent"):
        if net.tag(verb).startswith("V"):
            for agent in net.nouns_by(verb, "nmod:agent"):
                for subject in net.nouns_by(verb, "nsubjpass"):
                    yield net.lemma(agent), net.lemma(subject), _predicate(net, verb, "nmod:agent")


def numbers(net: _Net) -> Iterator[SceneTuple]:
    """Two dogs: (dog, two). Plurals are looked for in three places, and a plural may be found in two of them."""
    if not net.heads.keys() & {"nummod", "det:qmod"}:
        return

    def subjects(predicate: Node) -> list[Node]:
        return [child for child in net.by(predicate, "nsubj") if net.is_plural(child)]

    for predicate in net.heads_by("nsubj"):
        if (plural_subjects := subjects(predicate)) and (plural_objects := _plural_objects(net, predicate)):
            yield from _number(net, plural_subjects[0])
            yield from _number(net, plural_objects[0])
    plurals = [node for node in net.order if net.is_plural(node)]
    for noun in plurals:
        predicates = [head for head, label in net.parents[noun] if label == "nsubj"]
        if noun in net.roots or not all(_plural_objects(net, predicate) for predicate in predicates):
            yield from _number(net, noun)
    for noun in plurals:
        if noun not in net.roots and not any(
            label == "nsubj" or (_is_object_or_nmod(label) and subjects(head)) for head, label in net.parents[noun]
        ):
            yield from _number(net, noun)


def compound(net: _Net) -> Iterator[SceneTuple]:
    """A tennis racket: (racket, tennis)."""
    for head in filter(net.is_noun, net.heads_by("compound")):
        for modifier in net.nouns_by(head, "compound"):
            yield net.lemma(head), net.lemma(modifier)


def nouns(net: _Net) -> Iterator[SceneTuple]:
    """Every noun that is no part of a compound."""
    for noun in net.nouns:
        is_modifier = any(label == "compound" and net.is_noun(head) for head, label in net.parents[noun])
        if not is_modifier and not net.nouns_by(noun, "compound"):
            yield (net.lemma(noun),)


RULES: tuple[Callable[[_Net], Iterator[SceneTuple]], ...] = (
    subject_predicate_object,
    participle_with_object,
    predicate_without_object,
    copula,
    adjective_before_noun,
    adjective_with_subject,
    noun_with_preposition,
    possession,
    passive,
    numbers,
    compound,
    nouns,
)


def _has_preposition(label: str) -> bool:
    return label.startswith("nmod:") and label not in ("nmod:poss", "nmod:agent")


def _preposition(label: str) -> str:
    return label.removeprefix("nmod:").replace("_", " ")


def _predicate(net: _Net, predicate: Node, label: str) -> str:
    """The relation that a predicate makes: its lemma (as it stands, unlike all others), particle, preposition."""
    lemma = net.tokens[predicate].lemma
    particles = net.by(predicate, "compound:prt")
    words = [lemma]
    if particles:
        words = ["" if lemma == "be" else lemma, net.lemma(particles[0])]
    if _has_preposition(label):
        words.append(_preposition(label))
    return " ".join(words).strip()


def _state(net: _Net, subject: Node, predicate: Node) -> Iterator[SceneTuple]:
    cases = net.by(predicate, "case")
    if cases:
        words = [net.word(word) for word in (cases[0], *net.by(cases[0], "mwe"))]
        yield net.lemma(subject), net.lemma(predicate), " ".join(words)
    elif net.lemma(predicate) != "be":
        yield net.lemma(subject), net.lemma(predicate)


def _is_object_or_nmod(label: str) -> bool:
    return label.startswith("nmod:") or (len(label) == 4 and label.endswith("obj"))


def _plural_objects(net: _Net, predicate: Node) -> list[Node]:
    return [
        child
        for child, label in net.children[predicate]
        if net.is_plural(child)
        and _is_object_or_nmod(label)
        and label != "nmod:agent"
        and (not label.startswith("nmod:") or net.by(child, "case"))
    ]


def _number(net: _Net, noun: Node) -> Iterator[SceneTuple]:
    before = [number for number in net.by(noun, "nummod") if number < noun]
    for number in (before or net.by(noun, "det:qmod"))[:1]:
        yield net.lemma(noun), net.lemma(number)
