"""How likely a word is under each tag: counts from the training trees, and signatures for words never seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from capeval.types import Array, Floats, Ints, Longs

LOWEST_SCORE = -100.0  # at or below, the tag counts as impossible
OPEN_CLASS_COUNT = 50.0  # a tag that took more new words than this may take any new word
_MONTHS_AND_DAYS = re.compile(
    "january|february|april|june|july|august|september|october|november|december|"
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)  # March and May are other words too
# Verbs whose British spelling doubles the l.
_DOUBLED = (
    "bevel|cancel|carol|channel|chisel|counsel|dial|duel|enamel|equal|fuel|funnel|grovel|initial|jewel|label|level|"
    "libel|marshal|marvel|model|panel|pedal|quarrel|rival|shovel|signal|snorkel|spiral|stencil|swivel|total|travel|"
    "trowel|tunnel|unravel"
)
_SPELLINGS = (
    (re.compile(r"^grey"), "gray"),
    (re.compile(r"our(s|ed|ing|ful|fully|ite|ites|less|hood|hoods|able|er|ers|ly)?$"), r"or\1"),
    (re.compile(rf"({_DOUBLED})l(ed|ing|er|ers)$"), r"\1\2"),
    (re.compile(r"([bt])re(s?)$"), r"\1er\2"),
)


class TagCounts(NamedTuple):
    """Of words (or signatures) and tags: `tags[offsets[w]:offsets[w + 1]]` are the tags of word w, with counts."""

    words: dict[str, int]
    offsets: Longs
    tags: Ints
    counts: Array
    word_totals: Array
    tag_totals: Array
    total: float

    def of_word(self, word: str) -> float:
        """How often the word was seen."""
        number = self.words.get(word)
        return 0.0 if number is None else float(self.word_totals[number])

    def by_tag(self, word: str) -> Array:
        """How often the word was seen with each tag."""
        row = np.zeros(len(self.tag_totals))
        number = self.words.get(word)
        if number is not None:
            begin, end = self.offsets[number], self.offsets[number + 1]
            row[self.tags[begin:end]] = self.counts[begin:end]
        return row


@dataclass(frozen=True)
class TagLexicon:
    """Scores of tags for words; tags are numbers here."""

    seen: TagCounts
    unseen: TagCounts
    """New words in the later part of the training trees, by signature."""
    smoothing: float
    smoothed_below: float
    """Words seen more often than this keep to the tags they were seen with."""

    def scores(self, word: str, is_first: bool) -> tuple[Ints, Floats]:
        """The tags that the word may have, and log P(word | tag) of each."""
        new_word_shares = self.unseen.tag_totals / self.unseen.total
        of_word = self.seen.of_word(word)
        if of_word > 0:
            pairs = self.seen.by_tag(word)
            if of_word > self.smoothed_below:
                of_tag = pairs / of_word
            else:
                of_tag = (pairs + self.smoothing * new_word_shares) / (of_word + self.smoothing)
        else:
            sign = signature(word, is_first)
            of_tag = (self.unseen.by_tag(sign) + new_word_shares) / (self.unseen.of_word(sign) + 1)
            of_tag[self.unseen.tag_totals <= OPEN_CLASS_COUNT] = 0
            of_word = 1.0
        # In this order the sums round as in the official parser.
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(of_tag * (of_word / self.seen.total) / (self.seen.tag_totals / self.seen.total))
        scores = scores.astype(np.float32)
        possible = np.flatnonzero(scores > LOWEST_SCORE)
        return possible.astype(np.int32), scores[possible]

    def known_as(self, word: str) -> str:
        """The spelling under which the lexicon has a word: American, and months and days with a capital.

        The training text is American, and the official parser respells words before it looks them up.
        """
        if self.seen.of_word(word) > 0:
            return word
        if _MONTHS_AND_DAYS.fullmatch(word):
            return word.capitalize()
        for pattern, replacement in _SPELLINGS:
            other = pattern.sub(replacement, word)
            if other != word and self.seen.of_word(other) > 0:
                return other
        return word


def signature(word: str, is_first: bool) -> str:
    """The class of a word that was never seen: capitals, digits, dashes and the last letter."""
    sign = "UNK"
    has_lower = any(c.islower() for c in word)
    if word[:1].isupper() or word[:1].istitle():
        sign += "-INIT" if has_lower and is_first else "-UC" if has_lower else "-ALLC"
    elif has_lower:
        sign += "-LC"
    if "-" in word:
        sign += "-DASH"
    if any(c.isdigit() for c in word):
        return sign + ("-NUM" if all(c.isdigit() for c in word) else "-DIG")
    return sign + word[-1] if len(word) > 3 else sign
