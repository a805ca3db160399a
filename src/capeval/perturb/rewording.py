"""Other words for the same: synonyms, redundancy, word order (Kilickaya et al. 2017, table 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.perturb.synonyms import thesaurus
from capeval.perturb.words import PLACE_PREPOSITIONS, REDUNDANT, with_articles
from capeval.run import Run
from capeval.text.lexicon import function_words
from capeval.text.tokenize import tokenize

REWORDINGS = {
    "synonyms": "up to three words replaced by their nearest synonyms",
    "redundancy": "a phrase added that says nothing",
    "word order": "the last part, from a preposition on, moved to the front",
}
_REPLACED = 3


def reworded(captions: Sequence[str], *, seed: int = 0, run: Run | None = None) -> dict[str, list[str | None]]:
    """The captions in each way of `REWORDINGS`; None where a caption cannot be changed so."""
    rng = np.random.default_rng(seed)
    words = tokenize(captions, run)
    phrases = [REDUNDANT[place] for place in rng.integers(len(REDUNDANT), size=len(words)).tolist()]
    return {
        "synonyms": [with_synonyms(each) for each in words],
        "redundancy": [" ".join([*each, phrase]) if each else None for each, phrase in zip(words, phrases)],
        "word order": [reordered(each) for each in words],
    }


def with_synonyms(words: Sequence[str]) -> str | None:
    """The first few content words that have a near synonym, replaced by it; None if there is none."""
    result, count = list(words), 0
    for place, word in enumerate(words):
        if count < _REPLACED and len(word) > 2 and word not in function_words():
            others = [other for other in thesaurus().synonyms(word) if other not in result]
            if others:
                result[place], count = others[0], count + 1
    return " ".join(with_articles(result)) if count else None


def reordered(words: Sequence[str]) -> str | None:
    """What follows the first preposition of place goes to the front; None if there is none after the beginning."""
    for place in range(2, len(words) - 1):
        if words[place] in PLACE_PREPOSITIONS:
            return " ".join([*words[place:], *words[:place]])
    return None
