"""One word changed: a similar one against a wrong one, for objects, actions and properties (Jiang et al. 2019)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from capeval.errors import DataError
from capeval.perturb.choices import Choice
from capeval.perturb.synonyms import FAR, thesaurus
from capeval.perturb.words import SIMILAR_COLOURS, SIMILAR_COUNTS, with_articles
from capeval.run import Run
from capeval.scene import Graph, Token, parse_captions
from capeval.text.lexicon import function_words
from capeval.text.tokenize import tokenize
from capeval.types import Dataset

COMPONENTS = {
    "object": "a noun",
    "action": "a verb",
    "count": "a number",
    "colour": "a colour",
    "state": "another adjective",
}
PROPERTIES = ("count", "colour", "state")
_TAGS = {"object": ("NN", "NNS"), "action": ("VBG", "VBZ", "VBP", "VBD", "VBN"), "state": ("JJ",)}
_NO_ACTIONS = frozenset(["be", "have", "do", "get", "wear"])
_LISTS = {"colour": SIMILAR_COLOURS, "count": SIMILAR_COUNTS}
_FEW = 20


class _Change(NamedTuple):
    place: int
    similar: str
    wrong: str


def changed_words(base: Dataset, *, seed: int = 0, parser: str = "official", run: Run | None = None) -> list[Choice]:
    """For each caption and component one choice, where a word can be changed; the similar caption is the right one.

    Similar is a synonym; wrong is the synonym of another word of the same class, whose vector is far, that no
    reference has and that is about as frequent. The same seed gives the same captions.
    """
    graphs = parse_captions(base.candidates, parser, run)
    maker = _Maker(base, graphs, np.random.default_rng(seed), run)
    found = []
    for row, graph in enumerate(graphs):
        words = [token.word for token in graph.tokens]
        for component in COMPONENTS:
            change = maker.change(component, row, graph)
            if change is None:
                continue
            similar, wrong = (
                " ".join(with_articles([*words[: change.place], *text.split(" "), *words[change.place + 1 :]]))
                for text in (change.similar, change.wrong)
            )
            references = base.reference_sets[base.group[row]]
            found.append(
                Choice(f"{component}/{base.ids[row]}", base.images[row], similar, wrong, references, component)
            )
    if not found:
        raise DataError("no caption has a word that could be changed")
    return found


class _Maker:
    """Finds a word of a caption that can be changed, a similar one and a wrong one for it."""

    def __init__(self, base: Dataset, graphs: Sequence[Graph], rng: np.random.Generator, run: Run | None) -> None:
        self._base, self._rng, self._thesaurus = base, rng, thesaurus()
        self._mentioned = [
            {word for words in tokenize(references, run) for word in words} for references in base.reference_sets
        ]
        self._images_with = Counter(word for words in self._mentioned for word in words)
        tokens = Counter((token.tag, token.word) for graph in graphs for token in graph.tokens if _is_content(token))
        self._by_tag: dict[str, list[str]] = {}
        for tag in sorted({tag for tag, _ in tokens}):
            mine = sorted(word for its, word in tokens if its == tag)
            often = [word for word in mine if tokens[tag, word] > 1]  # a word tagged so once may be tagged wrong
            known = (self._thesaurus.synonyms(word)[:1] for word in (often if len(often) >= _FEW else mine))
            self._by_tag[tag] = sorted({other for synonyms in known for other in synonyms})

    def change(self, component: str, row: int, graph: Graph) -> _Change | None:
        """The first word that can be changed, of all in random order."""
        words = {token.word for token in graph.tokens}
        known = self._mentioned[self._base.group[row]] | words
        for place in self._rng.permutation(len(graph.tokens)).tolist():
            token = graph.tokens[place]
            if component in _LISTS:
                found = self._listed(token.word, _LISTS[component], known)
            else:
                found = self._by_meaning(component, token, words, known)
            if found:
                return _Change(place, *found)
        return None

    def _listed(self, word: str, similar: Mapping[str, str], known: set[str]) -> tuple[str, str] | None:
        """A wrong colour is named as rarely as a similar one, by what stands for another colour."""
        if word not in similar:
            return None
        wrong = [text for other, text in similar.items() if other not in known and text not in (*known, similar[word])]
        return (similar[word], wrong[int(self._rng.integers(len(wrong)))]) if wrong else None

    def _by_meaning(self, component: str, token: Token, words: set[str], known: set[str]) -> tuple[str, str] | None:
        if token.tag not in _TAGS[component] or not _is_content(token):
            return None
        similar = [other for other in self._thesaurus.synonyms(token.word) if other not in words]
        if not similar:
            return None
        # Our own list has synonyms that neither the vectors nor WordNet know as such.
        wrong = self._far_word(token, self._images_with[similar[0]], known.union(similar))
        return None if wrong is None else (similar[0], wrong)

    def _far_word(self, token: Token, frequency: int, known: set[str]) -> str | None:
        """The synonym of another word, about as frequent as the similar one: how rare a word is shall not decide."""
        pool = self._by_tag[token.tag]
        shuffled: list[str] = [pool[place] for place in self._rng.permutation(len(pool)).tolist()]
        others = [word for word in shuffled if word not in known and _same_form(word, token.word)]
        others.sort(key=lambda word: abs(math.log((1 + self._images_with[word]) / (1 + frequency))))
        for begin in range(0, len(others), _FEW):
            some = others[begin : begin + _FEW]
            for other, nearness in zip(some, self._thesaurus.nearness(token.word, some)):
                if nearness < FAR and not self._thesaurus.share_meaning(token.word, other):
                    return other
        return None


def _is_content(token: Token) -> bool:
    """A word that stands for an object, an action or a state of one."""
    return (
        len(token.word) > 2
        and token.word.isalpha()
        and token.word not in function_words()
        and token.word not in SIMILAR_COLOURS
        and token.word not in SIMILAR_COUNTS
        and token.lemma not in _NO_ACTIONS
    )


def _same_form(word: str, other: str) -> bool:
    """Whether both are walking, or both walked; a tag alone may be wrong."""
    return all(word.endswith(ending) == other.endswith(ending) for ending in ("ing", "ed", "s"))
