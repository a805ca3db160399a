"""Scene graphs of captions: their tuples merged by the meanings of WordNet, shown, and explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from capeval.engine.scene import Concept, ConceptGraph, Meanings, alike
from capeval.scene.words import CARDINALITIES, COLORS, SIZES
from capeval.text.lexicon import load_lexicon


def meanings_of(words: str) -> Iterable[int]:
    """The synsets of a word or phrase."""
    lexicon, word = load_lexicon(), words.replace(" ", "_")
    if word.endswith("ful") and not lexicon.base_forms(word):  # handsful comes from handful as hands from hand
        stems = lexicon.base_forms(word.removesuffix("ful"))
        return {synset for form in (word, *(stem + "ful" for stem in stems)) for synset in lexicon.synsets(form)}
    return lexicon.meanings(word)


def kind_of_attribute(word: str) -> str:
    """Which of the counted kinds of attributes a word is; mostly none."""
    if word in CARDINALITIES:
        return "cardinality"
    if word in COLORS:
        return "color"
    return "size" if word in SIZES else ""


class SceneGraph(ConceptGraph):
    """Objects, attributes as (object, attribute) and relations as (subject, relation, object)."""

    def __init__(self, tuples: Iterable[Sequence[str]] = (), meanings: Meanings = meanings_of) -> None:
        super().__init__(tuples, meanings)

    def __repr__(self) -> str:
        return f"SceneGraph({[tuple(map(str, each)) for each in self.tuples()]})"

    def _repr_svg_(self) -> str:
        from capeval.scene.picture import svg

        return svg(self)


@dataclass(frozen=True)
class TupleComparison:
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


def explain(candidate: Iterable[Sequence[str]], references: Iterable[Sequence[str]]) -> TupleComparison:
    """What the tuples of a candidate and those of all its references have in common, and what not."""
    ours, theirs = SceneGraph(candidate).tuples(), SceneGraph(references).tuples()
    is_matched = [any(alike(each, other) for other in theirs) for each in ours]
    is_found = [any(alike(each, other) for other in ours) for each in theirs]
    precision, recall = (sum(is_matched) / len(graph) if graph else 0.0 for graph in (ours, theirs))
    return TupleComparison(
        [_text(each) for each, matched in zip(ours, is_matched) if matched],
        [_text(each) for each, matched in zip(ours, is_matched) if not matched],
        [_text(each) for each, found in zip(theirs, is_found) if not found],
        precision,
        recall,
        2 * precision * recall / (precision + recall) if precision else 0.0,
    )


def _text(parts: tuple[Concept, ...]) -> tuple[str, ...]:
    return tuple(map(str, parts))
