"""Words and tags that the rules of SPICE speak of, in one place: both engines are given them."""

from __future__ import annotations

from capeval.engine.graph_types import WordLists


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.split(","))


# Attributes that are counted by kind.
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

_BESIDE = _phrases("""
    according to, across from, along with, alongside of, as for, as from, as of, as per, aside from, based on,
    because of, compared to, compared with, contrary to, depending on, due to, except for, exclusive of, followed by,
    inside of, instead of, irrespective of, near to, next to, off of, out of, outside of, owing to, preliminary to,
    preparatory to, previous to, prior to, pursuant to, regardless of, subsequent to, such as, thanks to, together with
""")
_ABOVE = _phrases("apart from, away from, close by, close to, far from, near to, next to, out of, outside of")
_OF_THREE = _phrases("""
    by means of, in accordance with, in addition to, in case of, in front of, in lieu of, in place of, in spite of,
    on behalf of, on top of, with respect to
""")

LISTS = WordLists(
    nouns=_words("NN NNS NNP NNPS"),
    plural_nouns=_words("NNS NNPS"),
    participles=_words("VBN VBG VBD"),
    counted_by_article=_words(
        "lot assortment number couple bunch handful litany sheaf slew dozen series variety multitude wad clutch wave "
        "mountain array spate string ton range plethora heap sort form kind type version bit pair triple total"
    ),
    counted_alone=_words(
        "lots many several plenty tons dozens multitudes mountains loads pairs tens hundreds thousands millions "
        "billions trillions"
    ),
    counted_before_article=_words(
        "some all both neither everyone nobody one two three four five six seven eight nine ten hundred thousand "
        "million billion trillion"
    ),
    singular_pronouns=_words(
        "i me myself mine my yourself he him himself his she her herself hers it itself its one oneself one's"
    ),
    prepositions_beside=_BESIDE,
    prepositions_above=_ABOVE,
    prepositions_of_three=_OF_THREE,
    preposition_ends=frozenset(phrase.split()[-1] for phrase in _BESIDE | _ABOVE | _OF_THREE),
    conjunctions={
        "as well as": "and",
        "rather than": "negcc",
        "instead of": "negcc",
        "but not": "negcc",
        "but rather": "negcc",
    },
)
