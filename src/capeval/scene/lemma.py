"""Lemmas as the official tool has them: a function of a word and its tag.

Verbs and plural nouns change by their ending. What an ending changes is learned, from whole words over endings with a
piece of the stem to bare suffixes; the first of these that the table has says how much to cut and what to add.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from capeval.engine.graph_types import Token
from capeval.io.shipped import shipped

_OTHERS = {
    ("an", "DT"): "a",
    ("n't", "RB"): "not",
    ("ca", "MD"): "can",
    ("wo", "MD"): "will",
    ("'d", "MD"): "would",
    ("'ll", "MD"): "will",
    ("me", "PRP"): "I",
    ("us", "PRP"): "we",
    ("him", "PRP"): "he",
    ("her", "PRP"): "she",
    ("them", "PRP"): "they",
    ("my", "PRP$"): "my",
    ("our", "PRP$"): "we",
    ("your", "PRP$"): "you",
    ("his", "PRP$"): "he",
    ("her", "PRP$"): "she",
    ("their", "PRP$"): "they",
}
# Irregular forms that a table learned from captions may lack: the base, then its forms.
_IRREGULAR_TEXT = """
    arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun, bend
    bent, bid bade bidden, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring
    brought, build built, burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep
    crept, deal dealt, die died dies dying, dig dug, draw drew drawn, drink drank drunk, drive drove driven, eat ate
    eaten, fall fell fallen, feed fed, feel felt, fight fought, flee fled, fling flung, fly flew flown, forbid
    forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, give gave given, go
    went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, kneel knelt, know knew
    known, lead led, leave left, lend lent, light lit, lose lost, make made, mean meant, meet met, pay paid, ride
    rode ridden, ring rang rung, rise rose risen, run ran, say said, see seen, seek sought, sell sold, send sent,
    shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk,
    sit sat, sleep slept, slide slid, sling slung, speak spoke spoken, spend spent, spin spun, spring sprang sprung,
    stand stood, steal stole stolen, stick stuck, sting stung, stride strode, strike struck, swear swore sworn,
    sweep swept, swim swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told, think
    thought, throw threw thrown, tie tied ties tying, lie lying, understand understood, wake woke woken, wear wore
    worn, weave wove woven, weep wept, win won, wring wrung, write wrote written, discuss discusses discussed
    discussing, dress dresses dressed dressing
"""
_IRREGULAR_VERBS = {
    form: base for base, *forms in (entry.split() for entry in _IRREGULAR_TEXT.split(",")) for form in forms
}
# The official lemmatiser takes these names of brackets apart by mistake when they are tagged as verbs or plurals.
_BRACKETS = frozenset(["-lrb-", "-rrb-", "-lsb-", "-rsb-", "-lcb-", "-rcb-"])
_VERB_TAGS = frozenset(["VB", "VBD", "VBG", "VBN", "VBP", "VBZ"])


@lru_cache(maxsize=1 << 16)
def token(word: str, tag: str) -> Token:
    """The word with its tag and lemma; made once, since captions have few words and many tokens."""
    return Token(word, tag, lemma(word, tag))


def lemma(word: str, tag: str) -> str:
    """The base form of a word with this tag."""
    lower = word.lower()
    group = "verbs" if tag in _VERB_TAGS else "plurals" if tag == "NNS" else ""
    if not group:
        return _OTHERS.get((lower, tag), word if tag.startswith("NNP") else lower)
    if lower in _BRACKETS:
        return f"{lower}_{tag}"
    if group == "verbs" and lower in _IRREGULAR_VERBS:
        return _IRREGULAR_VERBS[lower]
    return _by_ending(lower, group)


class Endings(NamedTuple):
    """`changes`: what keys of words (see `ending_keys`) say; `known`: base forms that were seen."""

    changes: dict[str, str]
    known: frozenset[str]


@cache
def _endings(group: str) -> Endings:
    packed = shipped("parse", "lemmas.json.gz").read_bytes()
    stored = json.loads(gzip.decompress(packed))[group]
    return Endings(stored["changes"], frozenset(stored["known"].split(" ")))


def _by_ending(word: str, group: str) -> str:
    endings = _endings(group)
    for key in ending_keys(word):
        change = endings.changes.get(key)
        if change is not None:
            found = apply_change(word, change)
            if key.startswith("^") or found in endings.known:
                return found
            # A guess that is no word gives way to another base form that is one.
            return next((other for other in _other_bases(word) if other in endings.known), found)
    return word


def ending_keys(word: str) -> Iterator[str]:
    """By what a word may be looked up, from the most telling to the least.

    The word itself; its suffix with the last letters of the stem; with the last letter and where vowels ("V") and
    consonants ("C") stand before it; the suffix alone. A doubled last letter is marked.
    """
    yield "^" + word
    for suffix in ("men", "ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(suffix) and len(word) > len(suffix) + 1:
            stem = word[: -len(suffix)]
            letters, shape = "^" + stem, "^^^" + "".join("V" if letter in "aeiou" else "C" for letter in stem)
            doubled = "2" if stem[-1:] == stem[-2:-1] else ""
            if len(letters) >= 4:
                yield f"{suffix}|{letters[-4:]}"
            yield f"{suffix}|{letters[-3:]}"
            yield f"{suffix}|{shape[-4:-1]}{stem[-1]}{doubled}"
            yield f"{suffix}|{shape[-3:-1]}{stem[-1]}{doubled}"
            yield f"{suffix}|{shape[-3:]}{doubled}"
            yield f"{suffix}|"
            return
    yield word[-1:]


def _other_bases(word: str) -> Iterator[str]:
    if word.endswith(("ies", "ied")):
        yield word[:-3] + "y"
        yield word[:-1]
    elif word.endswith(("ing", "ed")):
        stem = word[: -3 if word.endswith("g") else -2]
        yield stem
        yield stem + "e"
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1]
    elif word.endswith("s"):
        yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]


def apply_change(word: str, change: str) -> str:
    """ "3e" cuts three letters and adds an e."""
    cut = int(change[0])
    if cut >= len(word):
        return change[1:] or word
    return word[: len(word) - cut] + change[1:]
