"""Synonyms in the form of the word they stand for: our own list first, then WordNet where it is safe."""

from __future__ import annotations

from functools import cache

import numpy as np

from capeval.io.shipped import shipped
from capeval.perturb.words import SYNONYMS
from capeval.text.lexicon import Lexicon, load_lexicon
from capeval.text.vectors import load_vectors
from capeval.text.vectortable import Vectors

# WordNet knows a dog as a frank and a cad. Words that are used alike and share most of their meanings are safe.
NEAR = 0.45
SAFE = 0.8
FAR = 0.3
"""Of the cosine of two vectors; `SAFE` of the cosine and the share of common meanings together."""
VECTORS = "glove-100d"


class Thesaurus:
    """Words by synset, the lexicon's table turned round."""

    def __init__(self, lexicon: Lexicon, vectors: Vectors) -> None:
        self._lexicon, self._vectors = lexicon, vectors
        with np.load(shipped("meteor", "wordnet.npz")) as tables:
            self._words = tables["words"].tobytes().decode().split("\n")
            owner = np.repeat(np.arange(len(self._words)), tables["synset_counts"])
            order = np.argsort(tables["synsets"], kind="stable")
            self._owner, self._synsets = owner[order], tables["synsets"][order]
        self._known: dict[str, list[str]] = {}

    def synonyms(self, word: str) -> list[str]:
        """Single words that share a meaning with the word and are used like it, the nearest first."""
        if word not in self._known:
            self._known[word] = self._find(word)
        return self._known[word]

    def share_meaning(self, word: str, other: str) -> bool:
        return not set(self._lexicon.meanings(word)).isdisjoint(self._lexicon.meanings(other))

    def nearness(self, word: str, others: list[str]) -> list[float]:
        """The cosine of the word's vector with each of the others'; NaN where either is unknown."""
        rows = self._vectors.rows_of([word, *others])
        vectors = self._vectors.take(np.maximum(rows, 0))
        with np.errstate(invalid="ignore"):
            cosines = vectors[1:] @ vectors[0] / (np.linalg.norm(vectors[1:], axis=1) * np.linalg.norm(vectors[0]))
        return [float(c) if rows[0] >= 0 and row >= 0 else float("nan") for c, row in zip(cosines, rows[1:].tolist())]

    def _find(self, word: str) -> list[str]:
        bases, ending = self._bases(word)
        listed = [SYNONYMS[word]] if word in SYNONYMS else []
        if not listed:
            listed = [form for base in bases if base in SYNONYMS for form in self._inflected(SYNONYMS[base], ending)]
        found: dict[str, None] = {}
        for base in bases:
            for synset in self._lexicon.synsets(base):
                low, high = np.searchsorted(self._synsets, [synset, synset + 1]).tolist()
                for other in (self._words[place] for place in self._owner[low:high].tolist()):
                    if other != base and other.isalpha() and other.isascii() and other.islower():
                        found.update(dict.fromkeys(self._inflected(other, ending)))
        others = [other for other in found if other not in (word, *listed)]
        near = [(cosine, other) for cosine, other in zip(self.nearness(word, others), others) if cosine >= NEAR]
        rated = sorted((-cosine - self._common(word, other), other) for cosine, other in near)
        return listed + [other for rating, other in rated if -rating >= SAFE]

    def _common(self, word: str, other: str) -> float:
        """The share of their meanings that two words have in common."""
        mine, its = set(self._lexicon.meanings(word)), set(self._lexicon.meanings(other))
        return len(mine & its) / max(1, len(mine | its))

    def _bases(self, word: str) -> tuple[list[str], str]:
        """What the word is a form of, and the ending that makes the form; nothing for irregular forms."""
        bases = [base for base in self._lexicon.base_forms(word) if base != word]
        if not bases or word in ("glasses", "shorts"):
            return ([word] if word in self._lexicon else []), ""
        for ending in ("ing", "ed", "s"):
            if word.endswith(ending):
                return [base for base in bases if base[:2] == word[:2]], ending
        return [], ""

    def _inflected(self, base: str, ending: str) -> list[str]:
        """The form of a word with the ending, where the lexicon leads back from it."""
        stem = base.removesuffix("e") if ending in ("ing", "ed") else base
        forms = [stem + ending, base + base[-1] + ending]
        if ending == "s":
            forms = [base[:-1] + "ies" if base.endswith("y") else base + "s", base + "es"]
        if ending == "ed" and base.endswith("y"):
            forms.insert(0, base[:-1] + "ied")
        known = self._vectors.rows_of(forms) >= 0
        usable = [form for form, is_known in zip(forms, known) if is_known and base in self._lexicon.base_forms(form)]
        return usable[:1] if ending else [base]


@cache
def thesaurus() -> Thesaurus:
    return Thesaurus(load_lexicon(), load_vectors(VECTORS))
