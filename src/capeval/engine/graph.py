"""Basic dependencies to the enhanced graph ("collapsed, CC processed"), by rule: what the C++ twin must compute.

Prepositions and conjunctions go into the relations (`nmod:in_front_of`, `conj:and`), multi-word prepositions become one
`case` with `mwe` children, and what governs or is governed by a conjunct is shared with the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from capeval.engine.graph_types import Basic, Edge, Graph, Token, WordLists, node_of

_SUBJECTS = frozenset(["nsubj", "nsubjpass"])
_ANY_SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj", "csubjpass", "expl"])
_WITH_PREPOSITION = frozenset(["nmod", "advcl", "acl"])
_MARKERS = ("case", "mark")
_KEPT = frozenset(["root", "acl:relcl", "ccomp", "advcl"])

_Edge = tuple[str, str, str, bool]


class _Work:
    """The tree while it is changed: heads and relations by place, 0 being the root's head."""

    __slots__ = ("children", "heads", "lists", "relations", "tags", "words")

    def __init__(self, tokens: Sequence[Token], basic: Sequence[Basic], lists: WordLists) -> None:
        self.lists = lists
        size = len(tokens) + 1
        self.words = ["", *(token[0].lower() for token in tokens)]
        self.tags = ["", *(token[1] for token in tokens)]
        self.heads = [-1] * size
        self.relations = [""] * size
        self.children: list[list[int]] = [[] for _ in range(size)]
        for head, dependent, relation in basic:
            self.heads[dependent] = head
            self.relations[dependent] = relation
            self.children[head].append(dependent)

    def move(self, place: int, head: int, relation: str) -> None:
        self.children[self.heads[place]].remove(place)
        self.heads[place] = head
        self.relations[place] = relation
        self.children[head].append(place)


def enhanced_graph(tokens: Sequence[Token], basic: Sequence[Basic], lists: WordLists) -> Graph:
    """The graph of a sentence from its tokens and its basic tree; edges by dependent, then head."""
    work = _Work(tokens, basic, lists)
    _join_prepositions(work)
    edges = _labelled_edges(work)
    roots = tuple(str(place) for place in work.children[0])
    return Graph(tuple(tokens), roots, tuple(_ordered(edges)))


def _ordered(edges: list[_Edge]) -> list[Edge]:
    edges.sort(key=lambda edge: (node_of(edge[1]), node_of(edge[0]), edge[2]))
    return [Edge(*edge) for edge in edges]


# ---- multi-word prepositions ----


def _join_prepositions(work: _Work) -> None:
    words = work.words
    for last in range(2, len(words)):
        if words[last] not in work.lists.preposition_ends:
            continue
        two = f"{words[last - 1]} {words[last]}"
        if last > 2 and f"{words[last - 2]} {two}" in work.lists.prepositions_of_three:
            _join_three(work, last - 2)
        else:
            _join_two(work, last - 1, two)


def _join_three(work: _Work, first: int) -> None:
    """ "in front of": the noun in the middle gives its place to the noun that follows."""
    middle, last = first + 1, first + 2
    noun = work.heads[last]
    if work.relations[last] not in _MARKERS or work.heads[noun] != middle or work.heads[first] != middle:
        return
    if work.relations[first] != "case" or work.relations[noun] not in ("nmod", "acl", "advcl"):
        return
    _take_place(work, middle, noun, "acl" if work.relations[noun] == "acl" else work.relations[middle])
    work.move(first, noun, "mark" if work.relations[noun] == "acl" else "case")
    work.move(middle, first, "mwe")
    work.move(last, first, "mwe")


def _join_two(work: _Work, first: int, phrase: str) -> None:
    """ "next to": both words are markers of one noun, or the first governs the noun and gives it its place."""
    last = first + 1
    noun = work.heads[last]
    if work.relations[last] != "case":
        return
    if work.heads[first] == noun:
        joined = (
            phrase in work.lists.prepositions_beside
            and work.relations[first] in ("case", "advmod")
            and not work.children[first]
        )
    else:
        joined = (
            phrase in work.lists.prepositions_above and work.heads[noun] == first and work.relations[noun] == "nmod"
        )
        if joined:
            _take_place(work, first, noun, _relation_above(work, first))
    if joined:
        work.move(first, noun, "case")
        work.move(last, first, "mwe")


def _relation_above(work: _Work, first: int) -> str:
    """Clauses keep their relation; whatever else the first word was, its noun becomes a modifier."""
    relation = work.relations[first]
    if relation == "conj":
        return relation if any(work.relations[child] == "cop" for child in work.children[first]) else "nmod"
    return relation if relation in _KEPT else "nmod"


def _take_place(work: _Work, old: int, new: int, relation: str) -> None:
    """`new` goes where `old` hangs, and takes all its dependents."""
    work.move(new, work.heads[old], relation)
    for child in list(work.children[old]):
        work.move(child, new, work.relations[child])


# ---- relations ----


def _labelled_edges(work: _Work) -> list[_Edge]:
    relations = list(work.relations)
    conjuncts = []
    for place, relation in enumerate(relations):
        if relation in _WITH_PREPOSITION:
            relations[place] = _with_preposition(work, place, relation)
        elif relation == "conj":
            conjuncts.append(place)
    for place in conjuncts:
        relations[place] = _with_conjunction(work, place)
    names = [str(place) for place in range(len(relations))]
    edges = [(names[head], names[place], relations[place], False) for place, head in enumerate(work.heads) if head > 0]
    for place in conjuncts:
        _share(work, relations, place, edges)
    return edges


def _with_preposition(work: _Work, place: int, relation: str) -> str:
    markers = [child for child in work.children[place] if work.relations[child] == "case"]
    if not markers:
        return relation
    name = _preposition(work, markers)
    if name == "by" and relation == "nmod" and _is_passive(work, work.heads[place]):
        name = "agent"
    return f"{relation}:{name}"


def _preposition(work: _Work, markers: list[int]) -> str:
    """Of several markers a multi-word one counts, or else the last."""
    longest = max(markers, key=lambda marker: (bool(work.children[marker]), marker))
    inner = [child for child in work.children[longest] if work.relations[child] == "mwe"]
    return "_".join(work.words[word] for word in sorted([longest, *inner]))


def _is_passive(work: _Work, verb: int) -> bool:
    return any(work.relations[child] == "auxpass" for child in work.children[verb])


def _with_conjunction(work: _Work, place: int) -> str:
    conjunctions = [c for c in work.children[work.heads[place]] if work.relations[c] == "cc"]
    before = [c for c in conjunctions if c < place]
    chosen = max(before) if before else conjunctions[0] if conjunctions else 0
    return f"conj:{_conjunction(work, chosen)}" if chosen else "conj"


def _conjunction(work: _Work, place: int) -> str:
    inner = [work.words[child] for child in work.children[place]]
    phrase = " ".join([work.words[place], *inner])
    return work.lists.conjunctions.get(phrase, work.words[place])


# ---- sharing over conjuncts ----


def _share(work: _Work, relations: list[str], place: int, edges: list[_Edge]) -> None:
    first = work.heads[place]
    if relations[place] == "conj":
        return
    if relations[first] == "case":
        _share_prepositions(work, relations, place, edges)
        return
    if relations[first].startswith("nmod:") and _has_own_preposition(work, place):
        _share_by_copy(work, relations, place, edges)
        return
    name = str(place)
    if work.heads[first] > 0:
        edges.append((str(work.heads[first]), name, relations[first], True))
    if work.tags[place][0] in "VJ":
        _share_subject(work, place, edges)


def _share_subject(work: _Work, place: int, edges: list[_Edge]) -> None:
    if any(work.relations[child] in _ANY_SUBJECTS for child in work.children[place]):
        return
    first = work.heads[place]
    for child in work.children[first]:
        if work.relations[child] in _SUBJECTS:
            edges.append((str(place), str(child), _shared_subject(work, child, place), True))


def _shared_subject(work: _Work, subject: int, place: int) -> str:
    """The passive of the conjunct counts; a participle also takes over that of the first ("is seen and heard")."""
    if _is_passive(work, place):
        return "nsubjpass"
    return work.relations[subject] if work.tags[place] in work.lists.participles else "nsubj"


def _has_own_preposition(work: _Work, place: int) -> bool:
    return any(work.relations[child] == "case" and work.tags[child] != "POS" for child in work.children[place])


def _share_by_copy(work: _Work, relations: list[str], place: int, edges: list[_Edge]) -> None:
    """ "sits on a chair and by a table": the verb is copied to govern the second phrase."""
    first = work.heads[place]
    verb = work.heads[first]
    copy = _copy(work, relations, verb, relations[place], edges)
    edges.remove((str(first), str(place), relations[place], False))
    edges.append((copy, str(place), _with_preposition(work, place, "nmod"), False))
    for child in work.children[first]:
        if work.relations[child] == "cc" and (str(first), str(child), "cc", False) in edges:
            edges.remove((str(first), str(child), "cc", False))
            edges.append((str(verb), str(child), "cc", False))


def _share_prepositions(work: _Work, relations: list[str], place: int, edges: list[_Edge]) -> None:
    """ "stacked on and near a rack": the verb is copied to govern the noun by the second preposition."""
    noun = work.heads[work.heads[place]]
    verb = work.heads[noun]
    if verb > 0 and work.relations[noun] == "nmod":
        copy = _copy(work, relations, verb, relations[place], edges)
        edges.append((copy, str(noun), f"nmod:{work.words[place]}", True))


def _copy(work: _Work, relations: list[str], verb: int, relation: str, edges: list[_Edge]) -> str:
    """A new copy of a word, joined to it as a conjunct, with its head and its subjects."""
    name = str(verb)
    number = 1 + sum(head == name and dependent.startswith(f"{name}'") for head, dependent, _, _ in edges)
    copy = f"{name}'{number}"
    edges.append((name, copy, relation, False))
    if work.heads[verb] > 0:
        edges.append((str(work.heads[verb]), copy, relations[verb], True))
    for child in work.children[verb]:
        if work.relations[child] in _SUBJECTS:
            edges.append((copy, str(child), work.relations[child], True))
    return copy
