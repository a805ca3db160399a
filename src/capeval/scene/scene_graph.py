"""Scene graphs: tuples merged into objects, attributes and relations, and how two graphs are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from capeval.text.lexicon import load_lexicon

COLUMNS = ("object", "attribute", "relation", "cardinality", "color", "size")
"""The kinds of tuples that are counted; the last three are attributes of a certain sort."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CARDINALITIES = _words("one two three four five six seven eight nine ten")
COLORS = _words(
    "black brown blue red yellow pink gray grey green dark light white cream orange purple maroon beige violet"
)
SIZES = _words(
    "baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic cubby curvy elfin "
    "emaciated endless enormous epic expansive extensive fat fleshy full-size gargantuan gaunt giant gigantic grand "
    "great heavy hefty huge hulking illimitable immeasurable immense infinitesimal lanky large lean life-size "
    "limitless little mammoth massive meager measly microscopic mini miniature minuscule minute narrow obese outsized "
    "oversize overweight paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty scraggy scrawny "
    "short sizable skeletal skimpy skinny slender slim small squat stocky stout strapping sturdy tall teensy teeny "
    "teeny-tiny teeny-weeny thick thickset thin tiny titanic towering trifling trim tubby undersized underweight "
    "unlimited vast wee whopping wide"
)

Meanings = Callable[[str], Iterable[int]]
SortOf = Callable[[str], str]


def meanings_of(words: str) -> Iterable[int]:
    """The synsets of a word or phrase."""
    lexicon, word = load_lexicon(), words.replace(" ", "_")
    if word.endswith("ful") and not lexicon.base_forms(word):  # handsful comes from handful as hands from hand
        stems = lexicon.base_forms(word.removesuffix("ful"))
        return {synset for form in (word, *(stem + "ful" for stem in stems)) for synset in lexicon.synsets(form)}
    return lexicon.meanings(word)


def sort_of(word: str) -> str:
    """Which of the counted sorts of attributes a word is; mostly none."""
    if word in CARDINALITIES:
        return "cardinality"
    if word in COLORS:
        return "color"
    return "size" if word in SIZES else ""


class Concept:
    """Words that were found to mean the same, and all their synsets."""

    __slots__ = ("synsets", "words")

    def __init__(self, word: str, synsets: Iterable[int]) -> None:
        self.words = {word: None}  # a dict, because a set forgets the order
        self.synsets = set(synsets)

    def __str__(self) -> str:
        return "/".join(self.words)

    def equals(self, other: Concept) -> bool:
        return self.words.keys() == other.words.keys() and self.synsets == other.synsets

    def resembles(self, other: Concept) -> bool:
        """Whether a word or a synset is shared."""
        return not (self.words.keys().isdisjoint(other.words) and self.synsets.isdisjoint(other.synsets))

    def similarity(self, other: Concept) -> float:
        if not self.words.keys().isdisjoint(other.words):
            return 1.0
        shared = len(self.synsets & other.synsets)
        return shared / (len(self.synsets) + len(other.synsets) - shared) if shared else 0.0

    def absorb(self, other: Concept) -> None:
        self.words.update(other.words)
        self.synsets |= other.synsets


class SceneGraph:
    """Objects, attributes as (object, attribute) and relations as (subject, relation, object)."""

    def __init__(self, tuples: Iterable[Sequence[str]] = (), meanings: Meanings = meanings_of) -> None:
        self.objects: list[Concept] = []
        self.attributes: list[tuple[Concept, Concept]] = []
        self.relations: list[tuple[Concept, Concept, Concept]] = []
        self._meanings = meanings
        for each in tuples:
            self.add(each)

    def add(self, parts: Sequence[str]) -> None:
        """Takes in `(object,)`, `(object, attribute)` or `(subject, object, relation)`."""
        if len(parts) == 1:
            self._object(parts[0])
        elif len(parts) == 2:
            self._add_attribute(self._object(parts[0]), self._concept(parts[1]))
        else:
            subject, thing = self._object(parts[0]), self._object(parts[1])
            self._add_relation(subject, self._concept(parts[2].removeprefix("be ")), thing)

    def tuples(self) -> list[tuple[Concept, ...]]:
        return [*((each,) for each in self.objects), *self.attributes, *self.relations]

    def __repr__(self) -> str:
        return f"SceneGraph({[tuple(map(str, each)) for each in self.tuples()]})"

    def _repr_svg_(self) -> str:
        from capeval.scene.picture import svg

        return svg(self)

    def _concept(self, words: str) -> Concept:
        return Concept(words, self._meanings(words))

    def _object(self, word: str) -> Concept:
        """The object that the word stands for: the same one, else the most similar, else a new one."""
        new = self._concept(word)
        for known in self.objects:
            if known.equals(new):
                return known
        best = max(self.objects, key=new.similarity, default=None)  # the first of the best
        if best is None or not best.resembles(new):
            self.objects.append(new)
            return new
        best.absorb(new)
        return best

    def _add_attribute(self, owner: Concept, new: Concept) -> None:
        if not _merge(new, [attribute for thing, attribute in self.attributes if thing is owner]):
            self.attributes.append((owner, new))

    def _add_relation(self, subject: Concept, new: Concept, thing: Concept) -> None:
        known = [relation for one, relation, other in self.relations if one is subject and other is thing]
        if not _merge(new, known):
            self.relations.append((subject, new, thing))


def _merge(new: Concept, known: list[Concept]) -> bool:
    """Whether one of the known concepts could take the new one in.

    Where several could, the official tool takes any: it walks a hash set whose order changes from run to run. Of the
    three official outputs known to depend on it, two are those of taking the last one, as is done here.
    """
    if any(each.equals(new) for each in known):
        return True
    for each in reversed(known):
        if each.resembles(new):
            each.absorb(new)
            return True
    return False


class Counts(NamedTuple):
    """Tuples of one kind: matched ones of the candidate, all of the candidate, all of the references."""

    matched: int
    candidate: int
    reference: int


def compare(candidate: SceneGraph, reference: SceneGraph, sort_of: SortOf = sort_of) -> list[Counts]:
    """The counts of each kind, in the order of `COLUMNS`. A tuple of the references may serve several times."""
    counts = [
        _count([(each,) for each in candidate.objects], [(each,) for each in reference.objects]),
        _count(candidate.attributes, reference.attributes),
        _count(candidate.relations, reference.relations),
    ]
    for sort in COLUMNS[3:]:
        counts.append(_count(_of_sort(candidate, sort, sort_of), _of_sort(reference, sort, sort_of)))
    return counts


def _of_sort(graph: SceneGraph, sort: str, sort_of: SortOf) -> list[tuple[Concept, Concept]]:
    """Attributes of one sort. One that was merged from several words is of none."""
    return [each for each in graph.attributes if len(each[1].words) == 1 and sort_of(str(each[1])) == sort]


def _count(candidate: Sequence[tuple[Concept, ...]], reference: Sequence[tuple[Concept, ...]]) -> Counts:
    matched = sum(any(_alike(each, other) for other in reference) for each in candidate)
    return Counts(matched, len(candidate), len(reference))


def _alike(one: tuple[Concept, ...], other: tuple[Concept, ...]) -> bool:
    return len(one) == len(other) and all(a.resembles(b) for a, b in zip(one, other))


@dataclass(frozen=True)
class Comparison:
    """Tuples as text, each part the words of a concept joined by "/"; relations as (subject, relation, object)."""

    matched: list[tuple[str, ...]]
    """Of the candidate, with a counterpart in the references."""
    wrong: list[tuple[str, ...]]
    """Of the candidate, without one."""
    missing: list[tuple[str, ...]]
    """Of the references, unlike all of the candidate's."""
    precision: float
    recall: float
    f: float


def explain(candidate: Iterable[Sequence[str]], references: Iterable[Sequence[str]]) -> Comparison:
    """What the tuples of a candidate and those of all its references have in common, and what not."""
    ours, theirs = SceneGraph(candidate).tuples(), SceneGraph(references).tuples()
    is_matched = [any(_alike(each, other) for other in theirs) for each in ours]
    is_found = [any(_alike(each, other) for other in ours) for each in theirs]
    precision, recall = (sum(is_matched) / len(graph) if graph else 0.0 for graph in (ours, theirs))
    return Comparison(
        [_text(each) for each, matched in zip(ours, is_matched) if matched],
        [_text(each) for each, matched in zip(ours, is_matched) if not matched],
        [_text(each) for each, found in zip(theirs, is_found) if not found],
        precision,
        recall,
        2 * precision * recall / (precision + recall) if precision else 0.0,
    )


def _text(parts: tuple[Concept, ...]) -> tuple[str, ...]:
    return tuple(map(str, parts))
