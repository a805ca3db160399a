"""What a dependency graph says about a picture: objects, attributes and relations, by the rules of SPICE.

Scene graphs merge tuples one by one, so their order matters; it is that of the official tool. The C++ twin must compute
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from capeval.engine.checks import check_array, check_captions, check_range
from capeval.engine.graph import enhanced_graph
from capeval.engine.graph_types import Graph, Node, SceneTuple, Token, WordLists
from capeval.engine.net import Net, demote_quantifiers, resolve_pronouns
from capeval.types import Ints, Longs


def dependency_tuples(
    words: list[str],
    tags: list[str],
    lemmas: list[str],
    stems: list[str],
    tokens: Ints,
    offsets: Longs,
    heads: Ints,
    relations: Ints,
    names: list[str],
    lists: WordLists,
) -> list[list[SceneTuple]]:
    """The tuples of each caption.

    Distinct words with their tags stand in a table: `words` and `lemmas` in lower case, `stems` the lemmas as they
    stand. `tokens` are rows of it. `heads` are words of the same caption, counted from 1, or 0, and `relations` numbers
    of `names`; words without a head, and only those, have the relation root. `lists` has the words and tags that the
    rules speak of.
    """
    check_captions(tokens, offsets)
    check_array(heads, np.int32, 1, "heads")
    check_array(relations, np.int32, 1, "relations")
    if not len(words) == len(tags) == len(lemmas) == len(stems):
        raise ValueError("words, tags, lemmas and stems must be of one length")
    if not len(tokens) == len(heads) == len(relations):
        raise ValueError("every token must have a head and a relation")
    check_range(tokens, len(words), "tokens must be rows of the table")
    check_range(relations, len(names), "relations must be numbers of names")
    table = [Token(*row) for row in zip(words, tags, stems, strict=True)]
    found = []
    for begin, end in pairwise(offsets.tolist()):
        basic = [
            (head, place, names[relation])
            for place, (head, relation) in enumerate(
                zip(heads[begin:end].tolist(), relations[begin:end].tolist(), strict=True), 1
            )
        ]
        for head, place, name in basic:
            if not 0 <= head <= end - begin or head == place:
                raise ValueError("heads must be other words of the caption, or 0")
            if (head == 0) != (name == "root"):
                raise ValueError("words without a head must be roots")
        caption = [table[token] for token in tokens[begin:end].tolist()]
        found.append(tuples_of_graph(enhanced_graph(caption, basic, lists), lists))
    return found


def tuples_of_graph(graph: Graph, lists: WordLists) -> list[SceneTuple]:
    net = resolve_pronouns(demote_quantifiers(Net.of(graph, lists)))
    return [found for rule in RULES for found in rule(net)]


# The rules, in the order in which they give tuples.


def subject_predicate_object(net: Net) -> Iterator[SceneTuple]:
    """A man rides a horse: (man, horse, ride)."""
    for predicate in net.heads_by("nsubj"):
        if not net.by(predicate, "cop"):
            for subject in net.nouns_by(predicate, "nsubj"):
                for thing, label in net.objects(predicate):
                    yield net.lemma(subject), net.lemma(thing), _predicate(net, predicate, label)


def participle_with_object(net: Net) -> Iterator[SceneTuple]:
    """A man riding a horse: (man, horse, ride)."""
    for noun in net.heads_by("acl"):
        for participle in net.by(noun, "acl"):
            if net.tag(participle).startswith("V"):
                for thing, label in net.objects(participle):
                    yield net.lemma(noun), net.lemma(thing), _predicate(net, participle, label)


def predicate_without_object(net: Net) -> Iterator[SceneTuple]:
    """A dog runs: (dog, run)."""
    for predicate in net.heads_by("nsubj"):
        if not net.by(predicate, "cop") and not net.objects(predicate):
            for subject in net.nouns_by(predicate, "nsubj"):
                yield from _state(net, subject, predicate)


def copula(net: Net) -> Iterator[SceneTuple]:
    """A dog is on the beach: (dog, beach, on). Once for each copula, as the official tool matches."""
    for predicate in net.heads_by("cop"):
        copulas = len(net.by(predicate, "cop"))
        for subject in net.nouns_by(predicate, "nsubj"):
            yield from list(_state(net, subject, predicate)) * copulas


def adjective_before_noun(net: Net) -> Iterator[SceneTuple]:
    """A red car: (car, red)."""
    for head in net.heads_by("amod"):
        for adjective in net.by(head, "amod"):
            yield net.lemma(head), net.lemma(adjective)


def adjective_with_subject(net: Net) -> Iterator[SceneTuple]:
    """The car is red: (car, red)."""
    for adjective in net.heads_by("nsubj"):
        if net.tag(adjective).startswith("J"):
            for subject in net.by(adjective, "nsubj"):
                yield net.lemma(subject), net.lemma(adjective)


def noun_with_preposition(net: Net) -> Iterator[SceneTuple]:
    """A man in a hat: (man, hat, in)."""
    for noun in net.nouns:
        for modifier, label in net.children[noun]:
            if _has_preposition(label):
                yield net.lemma(noun), net.lemma(modifier), _preposition(label)


def possession(net: Net) -> Iterator[SceneTuple]:
    """A man's hat: (man, hat, have)."""
    for thing in filter(net.is_noun, net.heads_by("nmod:poss")):
        for owner in net.nouns_by(thing, "nmod:poss"):
            yield net.lemma(owner), net.lemma(thing), "have"


def passive(net: Net) -> Iterator[SceneTuple]:
    """A horse is ridden by a man: (man, horse, ride)."""
    for verb in net.heads_by("nmod:agent"):
        if net.tag(verb).startswith("V"):
            for agent in net.nouns_by(verb, "nmod:agent"):
                for subject in net.nouns_by(verb, "nsubjpass"):
                    yield net.lemma(agent), net.lemma(subject), _predicate(net, verb, "nmod:agent")


def numbers(net: Net) -> Iterator[SceneTuple]:
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


def compound(net: Net) -> Iterator[SceneTuple]:
    """A tennis racket: (racket, tennis)."""
    for head in filter(net.is_noun, net.heads_by("compound")):
        for modifier in net.nouns_by(head, "compound"):
            yield net.lemma(head), net.lemma(modifier)


def nouns(net: Net) -> Iterator[SceneTuple]:
    """Every noun that is no part of a compound."""
    for noun in net.nouns:
        is_modifier = any(label == "compound" and net.is_noun(head) for head, label in net.parents[noun])
        if not is_modifier and not net.nouns_by(noun, "compound"):
            yield (net.lemma(noun),)


RULES: tuple[Callable[[Net], Iterator[SceneTuple]], ...] = (
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


def _predicate(net: Net, predicate: Node, label: str) -> str:
    """The relation that a predicate makes: its lemma (as it stands, unlike all others), particle, preposition."""
    lemma = net.tokens[predicate].lemma
    particles = net.by(predicate, "compound:prt")
    words = [lemma]
    if particles:
        words = ["" if lemma == "be" else lemma, net.lemma(particles[0])]
    if _has_preposition(label):
        words.append(_preposition(label))
    return " ".join(words).strip()


def _state(net: Net, subject: Node, predicate: Node) -> Iterator[SceneTuple]:
    cases = net.by(predicate, "case")
    if cases:
        words = [net.word(word) for word in (cases[0], *net.by(cases[0], "mwe"))]
        yield net.lemma(subject), net.lemma(predicate), " ".join(words)
    elif net.lemma(predicate) != "be":
        yield net.lemma(subject), net.lemma(predicate)


def _is_object_or_nmod(label: str) -> bool:
    return label.startswith("nmod:") or (len(label) == 4 and label.endswith("obj"))


def _plural_objects(net: Net, predicate: Node) -> list[Node]:
    return [
        child
        for child, label in net.children[predicate]
        if net.is_plural(child)
        and _is_object_or_nmod(label)
        and label != "nmod:agent"
        and (not label.startswith("nmod:") or net.by(child, "case"))
    ]


def _number(net: Net, noun: Node) -> Iterator[SceneTuple]:
    before = [number for number in net.by(noun, "nummod") if number < noun]
    for number in (before or net.by(noun, "det:qmod"))[:1]:
        yield net.lemma(noun), net.lemma(number)
