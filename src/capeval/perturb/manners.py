"""Captions in other manners that are sound all the same: several sentences, and inventories of early systems."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from capeval.perturb.words import SIMILAR_COLOURS
from capeval.perturb.worse import Tagged

_OPENINGS = ("this is a photograph of", "this is a picture of", "this picture shows", "there is", "here we see")
_PLACES = ("near", "by", "beside", "above", "below", "on", "in", "against", "behind", "under", "next to")
_TAGS = {
    "this": "DT", "a": "DT", "an": "DT", "the": "DT", "is": "VBZ", "shows": "VBZ", "see": "VBP", "we": "PRP",
    "here": "RB", "there": "EX", "photograph": "NN", "picture": "NN", "next": "JJ", "and": "CC", "one": "CD",
}  # fmt: skip
"""Of words that are not the caption's own; all others are prepositions."""
_MOST = 4


def in_a_row(captions: Sequence[Tagged]) -> Tagged:
    """Sentences one after the other; captions have no full stops."""
    return Tagged([word for each in captions for word in each.words], [tag for each in captions for tag in each.tags])


def inventory(caption: Tagged, random: np.random.Generator) -> Tagged | None:
    """What a system says that fills in a form: the caption's things counted, then where they are.

    In the manner of Kulkarni et al. 2011 (one person and one bus, the red bus is near the person) or of Mitchell et al.
    2012 (a person with a bus by a road); None for a caption without two things.
    """
    nouns = list(dict.fromkeys(word for word, tag in zip(*caption) if tag == "NN" and word.isalpha()))
    if len(nouns) < 2:
        return None
    things = [nouns[place] for place in random.permutation(len(nouns))[:_MOST].tolist()]
    if random.random() < 0.3:
        words = _noun(things[0], random)
        for thing in things[1:]:
            link = "with" if random.random() < 0.4 else _drawn(_PLACES, random)
            words += [*link.split(), *_noun(thing, random)]
        return _tagged(words, things)
    words = _drawn(_OPENINGS, random).split()
    for place, thing in enumerate(things):
        words += [*(["and"] if place == len(things) - 1 else []), "one", thing]
    for one, other in pairwise(things):
        if random.random() < 0.7:
            words += ["the", *_coloured(one, random), "is", *_drawn(_PLACES, random).split()]
            words += ["the", *_coloured(other, random)]
    return _tagged(words, things)


def _noun(thing: str, random: np.random.Generator) -> list[str]:
    coloured = _coloured(thing, random)
    return ["an" if coloured[0][0] in "aeiou" else "a", *coloured]


def _coloured(thing: str, random: np.random.Generator) -> list[str]:
    return [_drawn(sorted(SIMILAR_COLOURS), random), thing] if random.random() < 0.5 else [thing]


def _drawn(texts: Sequence[str], random: np.random.Generator) -> str:
    return texts[int(random.integers(len(texts)))]


def _tagged(words: list[str], things: Sequence[str]) -> Tagged:
    tags = ["NN" if word in things else "JJ" if word in SIMILAR_COLOURS else _TAGS.get(word, "IN") for word in words]
    return Tagged(words, tags)
