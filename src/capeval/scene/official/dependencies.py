"""Trees to basic dependencies, as the official converter has them.

The converter is a function of the tree, and nearly a local one: in each local tree one child is the head, and each
other child hangs on the head of a sibling by a relation. Both follow from the kinds of the children (see `kinds`):
by head rules, rules for coordination, and relations counted in parser output with back-off from full contexts to bare
ones; a table holds the local trees that were seen and turn out otherwise.
Two things reach beyond a local tree: the expletive "there" makes its verb's noun a subject, and the noun before "to"
("helps another to take") belongs to the verb above.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import NamedTuple

from capeval.io.shipped import shipped
from capeval.scene.official.kinds import base, coarse, phrase_kind, token_kind, visible
from capeval.scene.official.tree import Tree

Dependency = tuple[int, int, str]
_Analysis = tuple[str, ...]

_VERB_TAGS = frozenset(["VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"])


class _Plan(NamedTuple):
    """What a local tree turns into: its kind, its head child, and (child, governing child, relation) for the rest."""

    kind: str
    head: int
    edges: tuple[tuple[int, int, str], ...]


def basic_dependencies(tree: Tree) -> list[Dependency]:
    """One (head, dependent, relation) for each word, in the order of the words; the head of the root is 0."""
    found: list[Dependency] = []
    root = _convert(tree, found)
    if root:
        found.append((0, root, "root"))
    found.sort(key=_dependent)
    return found


def _dependent(dependency: Dependency) -> int:
    return dependency[1]


def _convert(tree: Tree, found: list[Dependency]) -> int:
    """Adds the dependencies below the root; gives the root's place, 0 in a tree without words.

    A stack of open constituents instead of recursion, for trees as deep as the longest captions have.
    """
    kinds: list[str] = []
    heads: list[int] = []
    stack = [("", iter([(tree, tree.label)]), kinds, heads)]
    while True:
        label, children, kinds, heads = stack[-1]
        for child, child_label in children:
            if child.word is not None:
                kinds.append(token_kind(child.label, child.word))
                heads.append(child.index)
            else:
                stack.append((child_label, iter(local_children(child, child_label)), [], []))
                break
        else:
            stack.pop()
            if not stack:
                return heads[0] if heads else 0
            if kinds:
                plan = _plan(label, tuple(kinds))
                for place, governor, relation in plan.edges:
                    found.append((heads[governor], heads[place], relation))
                _, _, outer_kinds, outer_heads = stack[-1]
                outer_kinds.append(plan.kind)
                outer_heads.append(heads[plan.head])


def local_children(node: Tree, label: str) -> list[tuple[Tree, str]]:
    """The children of a constituent, each with its label in this place.

    Marks: "VP!" is the verb phrase of an expletive, "S^" a small clause (without verb phrase) under a verb. The noun
    phrase of "S (NP) (VP to ...)" under a verb is moved up to stand before the rest of its clause, "S^to".
    """
    children = node.children
    name = node.label
    if name == "VP":
        return _verb_phrase_children(children, label)
    if name in ("S", "SINV", "SQ") and any(_is_expletive(child) for child in children):
        return [(child, "VP!" if child.label == "VP" else child.label) for child in children]
    return [(child, child.label) for child in children]


def _is_expletive(node: Tree) -> bool:
    return node.label == "NP" and bool(node.children) and node.children[0].label == "EX"


def _verb_phrase_children(children: list[Tree], label: str) -> list[tuple[Tree, str]]:
    placed: list[tuple[Tree, str]] = []
    has_verb = any(child.label in _VERB_TAGS for child in children)
    for child in children:
        name = child.label
        if name == "S" and child.children:
            last = child.children[-1]
            if last.label != "VP":
                placed.append((child, "S^"))
                continue
            if has_verb and len(child.children) > 1 and last.children and last.children[0].label == "TO":
                first = child.children[0]
                if first.label == "NP":
                    placed.append((first, "NP"))
                    placed.append((Tree("S", child.children[1:]), "S^to"))
                    continue
        elif name == "VP" and label == "VP!" and has_verb:
            name = "VP!"
        placed.append((child, name))
    return placed


_plans: dict[tuple[str, tuple[str, ...]], _Plan] = {}
# Bounds what a long run over strange input may keep.
_MOST_PLANS = 200_000


def _plan(label: str, kinds: tuple[str, ...]) -> _Plan:
    key = (label, kinds)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = _make_plan(label, kinds)
    return plan


def _make_plan(label: str, kinds: tuple[str, ...]) -> _Plan:
    kind = phrase_kind(label.rstrip("!^"), kinds) if label != "S^to" else "S^to"
    if len(kinds) == 1:
        return _Plan(kind, 0, ())
    shown = visible(label, kinds)
    stored = tables().local.get(local_key(label, shown))
    analysis = tuple(stored.split(" ")) if stored else analysis_by_rule(label, shown, tables().relations)
    return _Plan(kind, *_read_analysis(analysis))


def _read_analysis(analysis: _Analysis) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    """("det", "H", "conj@0") says for each child its relation and, unless it hangs on the head, its governor."""
    head = analysis.index("H")
    edges = []
    for place, entry in enumerate(analysis):
        if place != head:
            relation, _, governor = entry.partition("@")
            edges.append((place, int(governor) if governor else head, relation))
    return head, tuple(edges)


# ---- local trees by rule ----

# The head child of a local tree: step by step, the first child in the direction of the step (">" from the left, "<"
# from the right) whose label is in the step; labels within one step are equals.
_HEAD_STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "NP": (
        ("<", "NN NNP NNPS NNS NX"),
        (">", "NP PRP"),
        ("<", "JJR PRN FW QP"),
        ("<", "CD"),
        ("<", "JJ JJS RB DT WDT RBR ADVP NAC"),
        ("<", "ADJP $ POS"),
    ),
    "PP": (
        (">", "NP WHNP NP-TMP NX"),
        ("<", "NN NNS"),
        (">", "PP S SBAR ADJP ADVP UCP VP SINV SBARQ FRAG X"),
        ("<", "IN RB"),
    ),
    "S": (("<", "VP"), (">", "S FRAG SBAR"), (">", "ADJP UCP"), ("<", "NP"), (">", "PP")),
    "SINV": ((">", "VP"), (">", "S SINV"), ("<", "NP ADJP")),
    "SQ": ((">", "VP"), (">", "SQ"), ("<", "ADJP"), (">", "VBZ VBP VBD MD")),
    "SBAR": ((">", "S SQ SINV"), (">", "SBAR FRAG VP NP"), (">", "WHNP WHPP WHADVP WHADJP IN DT")),
    "SBARQ": ((">", "SQ S SINV"),),
    "ADJP": (("<", "JJ JJR JJS VBN VBG VBD NN NNS"), (">", "ADJP"), ("<", "CD DT RB IN")),
    "ADVP": (("<", "RB RBR RBS JJ JJR"), (">", "ADVP NP NN"), (">", "IN RP DT")),
    "FRAG": ((">", "NP VP S FRAG ADJP ADVP"),),
    "X": (("<", "NP S ADJP PP"),),
    "WHNP": (("<", "NN NNS NNP"), (">", "WHNP NP CD JJS"), ("<", "WHPP WP WDT RB")),
    "WHPP": (("<", "WHNP NP"),),
    "NX": (("<", "NN NNS NNP NNPS"), (">", "NX NP JJ")),
    "QP": (("<", "CD"), ("<", "NP NN NNS JJ RB DT"), (">", "$")),
    "NP-TMP": (("<", "NN NNS NNP"), (">", "NP CD"), ("<", "JJ")),
    "UCP": ((">", "NP VP ADJP PP S SBAR NN NNS JJ ADVP"),),
    "PRN": (("<", "S NP PP ADJP VP"),),
    "RRC": (("<", "VP NP PP ADJP"),),
    "CONJP": (("<", "RB IN"),),
}
# Among several verbs of one phrase the first tag of this list wins.
_VERB_ORDER = ("TO", "VBD", "VBN", "MD", "VBZ", "VB", "VBG", "VBP")
_VERBLESS_STEPS = ((">", "VP"), (">", "JJ NN NNS NNP"), (">", "RB IN"))
_AUXILIARY_STEPS = ((">", "VP"),)
_COPULA_STEPS = ((">", "VP"), (">", "ADJP NP"), (">", "PP UCP"))
_NOUNS = frozenset(["NN", "NNS", "NNP", "NNPS"])
_CLAUSES = frozenset(["S", "SBAR", "VP", "FRAG", "SINV"])
_PRECONJUNCTIONS = frozenset(["DT:both", "DT:either", "DT:neither", "PDT:both", "PDT:either", "PDT:neither"])
_NOMINAL = frozenset(["NP", "NX", "WHNP"])


def analysis_by_rule(label: str, kinds: tuple[str, ...], relations: dict[str, str]) -> _Analysis:
    """The analysis of a local tree from head rules and back-off counts."""
    labels = [base(kind) for kind in kinds]
    if base(label) in _NOMINAL and "CC" in labels and not any(x in _NOMINAL for x in (*kinds, *labels[1:])):
        return _flat_coordination(label, kinds, labels, relations)
    return _by_back_off(label, kinds, _head_place(label, kinds, labels), relations)


def _by_back_off(label: str, kinds: tuple[str, ...], head: int, relations: dict[str, str]) -> _Analysis:
    places = range(len(kinds))
    return tuple("H" if place == head else _attachment(label, kinds, head, place, relations) for place in places)


def _attachment(label: str, kinds: tuple[str, ...], head: int, place: int, relations: dict[str, str]) -> str:
    """The relation of a child, with its governor if that is not the head."""
    kind = kinds[place]
    before = kinds[place - 1] if place else ""
    if kind == "PP:IN" and before == "PP" and place - 1 != head and label.startswith("VP"):
        # "with a hat on": the stray preposition is one more marker of the noun before it.
        return f"case@{place - 1}"
    two_words = kind.endswith(":mwe") and before.endswith(":mwe")
    more_than = label == "QP" and (before, kind) == ("JJR", "IN")
    if (two_words or more_than) and place - 1 != head:
        return f"mwe@{place - 1}"
    if before == "CC" and place > head + 1 and base(label) != "UCP":
        if kind in ("RB", "ADVP:RB") and place + 1 < len(kinds):
            return f"advmod@{place + 1}"
        if base(kind) != "ADVP":
            return "conj"
    if kind in _PRECONJUNCTIONS and "CC" in kinds[place:]:
        return "cc:preconj"
    if kind.endswith(":be") and kinds[head].startswith("VP:0") and kinds[head].endswith(("VBN", "/n")):
        # "are sitting and surrounded": one passive makes the whole passive.
        return "auxpass"
    relation = _relation(label, kinds, head, place, relations)
    if any(base(x) in ("CC", "CONJP") for x in kinds):
        return relation
    if place > head and label.rstrip("^") == base(kind) == base(kinds[head]) == "S":
        # Sentences side by side.
        return "parataxis"
    return "dep" if relation == "conj" else relation


def _head_place(label: str, kinds: tuple[str, ...], labels: list[str]) -> int:
    first_part = len(labels)
    for place, name in enumerate(labels):
        if name in ("CC", "CONJP") and place:
            first_part = place
            break
    if base(label).rstrip("!^") == "VP":
        return _verb_head(label, kinds, labels[:first_part])
    if first_part == 1 and labels[0] == "ADVP" and base(label) in ("UCP", "ADVP") and labels[1] == "CC":
        # An oddity of the official head rules.
        return 1
    steps = _HEAD_STEPS.get(base(label).rstrip("!^"), ())
    place = _find(labels[:first_part], steps)
    if place < 0 and labels[0] not in _CLAUSES:
        place = _find(labels, steps)
    return max(place, 0)


def _verb_head(label: str, kinds: tuple[str, ...], labels: list[str]) -> int:
    verb = next((labels.index(tag) for tag in _VERB_ORDER if tag in labels), -1)
    if verb < 0:
        return max(_find(labels, _VERBLESS_STEPS), 0)
    is_copula = kinds[verb].endswith(":be") and not label.endswith("!")
    if is_copula or kinds[verb].endswith((":be", ":have", ":do", ":get")) or labels[verb] in ("MD", "TO"):
        complement = _find(labels, _COPULA_STEPS if is_copula else _AUXILIARY_STEPS)
        if complement >= 0:
            return complement
    return verb


def _find(labels: list[str], steps: tuple[tuple[str, str], ...]) -> int:
    for direction, names in steps:
        wanted = names.split()
        places = range(len(labels)) if direction == ">" else range(len(labels) - 1, -1, -1)
        for place in places:
            if labels[place] in wanted:
                return place
    return -1


def _flat_coordination(label: str, kinds: tuple[str, ...], labels: list[str], relations: dict[str, str]) -> _Analysis:
    """Coordination without inner phrases: of modifiers ("a black and white dog") or of nouns ("a big dog and cat").

    The official converter takes it for modifiers when a single word stands before "and" (after a determiner: only if
    exactly one modifier and the noun follow), and for nouns otherwise, whatever the words mean.
    """
    conjunctions = [place for place, name in enumerate(labels) if name == "CC"]
    conjunction = conjunctions[0]
    opening = 1 if labels[0] == "DT" and conjunction == 2 else 0
    end = conjunctions[1] if len(conjunctions) > 1 else len(labels)
    rest = end - conjunction - 1
    first = labels[opening]
    before_noun = labels[end - 1] in _NOUNS and (rest == 2 if opening else rest >= 2)
    is_modifier = first not in ("NNS", "NNPS", "NP") and not (first in _NOUNS and "DT" in labels[conjunction + 1 : end])
    if conjunction - opening == 1 and before_noun and is_modifier:
        analysis = list(_noun_coordination(label, kinds, labels, conjunctions[1:], relations))
        analysis[conjunction] = f"cc@{opening}"
        analysis[conjunction + 1] = f"conj@{opening}"
        return tuple(analysis)
    return _noun_coordination(label, kinds, labels, conjunctions, relations)


def _noun_coordination(
    label: str, kinds: tuple[str, ...], labels: list[str], conjunctions: list[int], relations: dict[str, str]
) -> _Analysis:
    """Parts between conjunctions, each with its last word as head; the first one's is the head of all."""
    analysis = [""] * len(labels)
    first_head = -1
    start = 0
    for end in [*conjunctions, len(labels)]:
        if end > start:
            nouns = [place for place in range(start, end) if labels[place] in _NOUNS]
            part_head = nouns[-1] if nouns else end - 1
            inner = _by_back_off(label, kinds[start:end], part_head - start, relations)
            for place in range(start, end):
                entry = inner[place - start]
                analysis[place] = entry if first_head < 0 else f"{entry}@{part_head}"
            analysis[part_head] = "H" if first_head < 0 else "conj"
            first_head = part_head if first_head < 0 else first_head
        if end < len(labels):
            analysis[end] = "cc"
        start = end + 1
    if first_head < 0:
        analysis[0] = "H"
    return tuple(analysis)


# ---- learned tables ----


class Tables(NamedTuple):
    """`local`: analyses of local trees that the rules get wrong; `relations`: back-off from contexts to relations."""

    local: dict[str, str]
    relations: dict[str, str]


@cache
def tables() -> Tables:
    """The tables that `tools/parse/learn_tables.py` counted."""
    packed = shipped("parse", "dependencies.json.gz").read_bytes()
    stored = json.loads(gzip.decompress(packed))
    return Tables(stored["local"], stored["relations"])


def local_key(label: str, kinds: tuple[str, ...]) -> str:
    return f"{label}|{' '.join(kinds)}"


def relation_keys(label: str, kinds: tuple[str, ...], head: int, place: int) -> list[str]:
    """Contexts of a child, from the fullest to the barest."""
    side = "<" if place < head else ">"
    before = base(kinds[place - 1]) if place else ""
    after = base(kinds[place + 1]) if place + 1 < len(kinds) else ""
    child, governor = kinds[place], kinds[head]
    plain_child, plain_governor = coarse((child, governor))
    # An object on the way, or another one to come, makes the difference between complements and adjuncts.
    object_between = "o" if any(base(kind) == "NP" for kind in kinds[head + 1 : place]) else ""
    object_after = "n" if any(base(kind) == "NP" for kind in kinds[place + 1 :]) else ""
    joined = "CC" if before == "CC" else ""
    context = f"{object_between}{object_after}"
    bare_label = label.rstrip("!^")
    return [
        f"1 {label} {governor} {side} {child} {before} {after} {context}",
        f"2 {label} {plain_governor} {side} {plain_child} {before} {after} {context}",
        f"3 {label} {plain_governor} {side} {plain_child} {joined} {context}",
        f"4 {bare_label} {base(governor)} {side} {plain_child} {joined} {context}",
        f"5 {bare_label} {side} {plain_child} {joined} {context}",
        f"6 {bare_label} {side} {plain_child}",
        f"7 {bare_label} {base(governor)} {side} {base(child)} {joined}",
        f"8 {bare_label} {side} {base(child)} {joined}",
        f"9 {side} {base(child)}",
    ]


def _relation(label: str, kinds: tuple[str, ...], head: int, place: int, relations: dict[str, str]) -> str:
    for key in relation_keys(label, kinds, head, place):
        relation = relations.get(key)
        if relation is not None:
            return relation
    return "dep"
