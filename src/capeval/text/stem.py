"""The Snowball English stemmer ("Porter2", http://snowballstem.org), as it stood when METEOR 1.5 was published.

Newer releases of Snowball changed the algorithm and give other stems for some words: METEOR cannot use them, and a
score that depended on which release is installed could not be repeated.
Regions R1 and R2 are the parts of the word after the first, and the second, non-vowel that follows a vowel.
"""

from __future__ import annotations

from functools import lru_cache

VOWELS = frozenset("aeiouy")
DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
LI_ENDINGS = frozenset("cdeghkmnrt")
LONG_PREFIXES = ("gener", "commun", "arsen")  # R1 begins after these, else "general" and "generic" would meet

SPECIAL = {
    "skis": "ski",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
} | {word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")}
FINISHED_AFTER_PLURAL = frozenset(("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"))

# Longest first within each step: only the longest suffix a word has is looked at.
DERIVED = {
    "ization": "ize",
    "ational": "ate",
    "fulness": "ful",
    "ousness": "ous",
    "iveness": "ive",
    "tional": "tion",
    "biliti": "ble",
    "lessli": "less",
    "entli": "ent",
    "ation": "ate",
    "alism": "al",
    "aliti": "al",
    "ousli": "ous",
    "iviti": "ive",
    "fulli": "ful",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "izer": "ize",
    "ator": "ate",
    "alli": "al",
    "bli": "ble",
    "ogi": "og",
    "li": "",
}
ADJECTIVAL = {
    "ational": "ate",
    "tional": "tion",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ative": "",
    "ical": "ic",
    "ness": "",
    "ful": "",
}
REMAINING = (
    "ement",
    "ance",
    "ence",
    "able",
    "ible",
    "ment",
    "ant",
    "ent",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "ion",
    "al",
    "er",
    "ic",
)


# Most words have none of a step's suffixes, and one test with a tuple says so.
ANY_TENSE = ("ed", "ing", "edly", "ingly")
ANY_DERIVED = tuple(DERIVED)
ANY_ADJECTIVAL = tuple(ADJECTIVAL)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if word in SPECIAL:
        return SPECIAL[word]
    if len(word) < 3:
        return word
    word = _mark_consonant_y(word.removeprefix("'"))
    r1, r2 = _regions(word)
    word = _without_plural(_without_possessive(word))
    if word not in FINISHED_AFTER_PLURAL:
        word = _without_tense(word, r1)
        word = _final_y_to_i(word)
        word = _replace_derived(word, r1)
        word = _replace_adjectival(word, r1, r2)
        word = _without_remaining(word, r2)
        word = _without_final_e_or_l(word, r1, r2)
    return word.replace("Y", "y")


def _mark_consonant_y(word: str) -> str:
    """A `y` at the beginning or after a vowel is a consonant, written `Y`."""
    if "y" not in word:
        return word
    letters = list(word)
    for i, letter in enumerate(letters):
        if letter == "y" and (i == 0 or letters[i - 1] in VOWELS):
            letters[i] = "Y"
    return "".join(letters)


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin."""
    prefix = next((prefix for prefix in LONG_PREFIXES if word.startswith(prefix)), None)
    r1 = _after_vowel_and_consonant(word, 0) if prefix is None else len(prefix)
    return r1, _after_vowel_and_consonant(word, r1)


def _after_vowel_and_consonant(word: str, start: int) -> int:
    for i in range(start + 1, len(word)):
        if word[i] not in VOWELS and word[i - 1] in VOWELS:
            return i + 1
    return len(word)


def _has_vowel(text: str) -> bool:
    return not VOWELS.isdisjoint(text)


def _ends_in_short_syllable(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x, Y; or a vowel and a consonant that are the whole word."""
    if len(word) < 2 or word[-1] in VOWELS or word[-2] not in VOWELS:
        return False
    return len(word) == 2 or (word[-3] not in VOWELS and word[-1] not in "wxY")


def _without_possessive(word: str) -> str:
    if not word.endswith(("'", "'s")):
        return word
    return word.removesuffix(next(suffix for suffix in ("'s'", "'s", "'") if word.endswith(suffix)))


def _without_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _has_vowel(word[:-2]):
        return word[:-1]
    return word


def _without_tense(word: str, r1: int) -> str:
    if not word.endswith(ANY_TENSE):
        return word
    suffix = next(s for s in ("eedly", "ingly", "edly", "eed", "ing", "ed") if word.endswith(s))
    rest = word.removesuffix(suffix)
    if suffix.startswith("ee"):
        return rest + "ee" if len(rest) >= r1 else word
    if not _has_vowel(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-2:] in DOUBLES:
        return rest[:-1]
    return rest + "e" if len(rest) == r1 and _ends_in_short_syllable(rest) else rest


def _final_y_to_i(word: str) -> str:
    is_plain = len(word) > 2 and word[-1] in "yY" and word[-2] not in VOWELS
    return word[:-1] + "i" if is_plain else word


def _replace_derived(word: str, r1: int) -> str:
    if not word.endswith(ANY_DERIVED):
        return word
    suffix = next(suffix for suffix in DERIVED if word.endswith(suffix))
    if len(word) - len(suffix) < r1:
        return word
    rest = word.removesuffix(suffix)
    if suffix == "ogi" and not rest.endswith("l"):
        return word
    if suffix == "li" and rest[-1:] not in LI_ENDINGS:
        return word
    return rest + DERIVED[suffix]


def _replace_adjectival(word: str, r1: int, r2: int) -> str:
    if not word.endswith(ANY_ADJECTIVAL):
        return word
    suffix = next(suffix for suffix in ADJECTIVAL if word.endswith(suffix))
    if len(word) - len(suffix) < (r2 if suffix == "ative" else r1):
        return word
    return word.removesuffix(suffix) + ADJECTIVAL[suffix]


def _without_remaining(word: str, r2: int) -> str:
    if not word.endswith(REMAINING):
        return word
    suffix = next(suffix for suffix in REMAINING if word.endswith(suffix))
    if len(word) - len(suffix) < r2:
        return word
    rest = word.removesuffix(suffix)
    return word if suffix == "ion" and not rest.endswith(("s", "t")) else rest


def _without_final_e_or_l(word: str, r1: int, r2: int) -> str:
    rest = word[:-1]
    if word.endswith("e"):
        removed = len(rest) >= r2 or (len(rest) >= r1 and not _ends_in_short_syllable(rest))
    else:
        removed = word.endswith("ll") and len(rest) >= r2
    return rest if removed else word
