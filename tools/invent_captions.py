"""Invents captions from the words of parsed ones: material for the fast parser where real captions are few.

    python tools/invent_captions.py templates PARSES.tsv... -o CAPTIONS.txt [--count 40000] [--seed 0]
    python tools/invent_captions.py exchange PARSES.tsv... -o CAPTIONS.txt [--words WORDS.txt]

`templates`: some captioning systems fill templates and string the sentences together, and tokenisation takes the full
stops away: "person is riding bicycle in the scene the scene contains trees and wet grass". People write run-on captions
too. Such captions are unlike those of COCO and Flickr.

`exchange`: captions in which some words gave way to others that were seen with the same tag, rare ones nearly as often
as common ones: how the official parser tags a rare word cannot be learned from the few captions that have it. WORDS has
further words, one a line, of which the parses have none.

Verbs, nouns and phrases come from the files of parses; parse what comes out with `tools/make_silver.py`.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path

from capeval.train.tasks.parser.silver import Silver, read_silver

LONGEST = 60
SUBJECTS = ("person", "person", "person", "people", "a person", "a man", "the woman", "man", "a dog")
PLACES = ("in the scene", "in the scene", "in the picture", "in the background", "at person", "")
OPENERS = (
    *("the scene contains",) * 3,
    *("the picture shows", "the image contains", "this photo has", "there is", "there are", "in the scene there are"),
)
MODALS = ("might be", "may be", "might be", "seems to be", "is")
NUMBERS = ("one", "two", "three", "four", "several", "some")


@dataclass
class Words:
    """What captions are made of, drawn as often as it occurs."""

    nouns: list[str] = field(default_factory=list)
    plurals: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    prepositions: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    """Nouns with what belongs to them, without their article."""
    captions: list[str] = field(default_factory=list)
    """Short ones, whole."""


def collect(sentences: Sequence[Silver]) -> Words:
    words = Words()
    lists = {"NN": words.nouns, "NNS": words.plurals, "VBG": words.verbs, "IN": words.prepositions}
    for sentence in sentences:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            if tag in lists:
                lists[tag].append(word)
        words.phrases += phrases(sentence)
        if len(sentence.words) <= 12:
            words.captions.append(" ".join(sentence.words))
    return words


def phrases(sentence: Silver, longest: int = 5) -> list[str]:
    """Of two to `longest` words: a noun and all below it, if that is one piece of the sentence."""
    below: list[set[int]] = [{place} for place in range(len(sentence.words) + 1)]
    for place in range(1, len(sentence.words) + 1):
        above, steps = sentence.heads[place - 1], 0
        while above and steps < len(sentence.words):
            below[above].add(place)
            above, steps = sentence.heads[above - 1], steps + 1
    found = []
    for place, tag in enumerate(sentence.tags, 1):
        if not tag.startswith("NN"):
            continue
        piece = [each for each in sorted(below[place]) if sentence.labels[each - 1] != "case" or each > place]
        if piece[-1] - piece[0] + 1 != len(piece):
            continue
        if sentence.tags[piece[0] - 1] in ("DT", "PRP$"):
            piece = piece[1:]
        if 2 <= len(piece) <= longest:
            found.append(" ".join(sentence.words[each - 1] for each in piece))
    return found


def clause(words: Words, draw: random.Random) -> str:
    """person is riding bicycle in the scene"""
    verb, place = draw.choice(words.verbs), draw.choice(PLACES)
    thing = draw.choice(words.nouns) if draw.random() < 0.75 else ""
    kind = draw.random()
    if kind < 0.25:
        return f"a {draw.choice(('person', 'person', 'man', 'child'))} {draw.choice(MODALS)} {verb} {thing} {place}"
    if kind < 0.37:
        return f"{draw.choice(NUMBERS)} more {draw.choice(('persons', draw.choice(words.plurals)))} {place}"
    if kind < 0.5:
        where = f"{draw.choice(words.prepositions)} {draw.choice(('', 'the'))} {draw.choice(words.nouns)}"
        return f"{draw.choice(SUBJECTS)} is {verb} {thing} {where}"
    if kind < 0.55:
        return f"{draw.choice(words.nouns)} is {verb} {thing} {place}"
    return f"{draw.choice(SUBJECTS)} is {verb} {thing} {place}"


def listing(words: Words, draw: random.Random) -> str:
    """the scene contains trees and wet grass"""
    pools = (words.phrases, words.nouns, words.plurals)
    things = [draw.choice(draw.choices(pools, (4, 3, 3))[0]) for _ in range(draw.randint(1, 6))]
    return f"{draw.choice(OPENERS)} {' and '.join(things)}"


def caption(words: Words, draw: random.Random) -> str:
    """As template systems write them."""
    kind = draw.random()
    if kind < 0.15:
        parts = draw.choices(words.captions, k=draw.choice((2, 2, 2, 3)))
    else:
        clauses = 0 if kind < 0.4 else min(9, 1 + int(draw.expovariate(0.5)))
        parts = [clause(words, draw) for _ in range(clauses)]
        if not parts or draw.random() < 0.7:
            parts.append(listing(words, draw))
    return " ".join(" ".join(parts).split())


class Exchange:
    """Captions with some of their words exchanged for others of the same tag."""

    TAGS = ("NN", "NNS", "NNP", "JJ", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "IN", "RB", "RP", "CD")
    SELDOM = ("IN", "RB", "RP", "CD")
    NEW_WORDS = 0.12  # the share of words that the parses have not

    def __init__(self, sentences: Sequence[Silver], words: Sequence[str]) -> None:
        self.sentences = [each for each in sentences if 6 <= len(each.words) <= 18]
        counts: dict[str, Counter[str]] = {tag: Counter() for tag in self.TAGS}
        for sentence in sentences:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                if tag in counts:
                    counts[tag][word] += 1
        self.seen = {tag: list(found) for tag, found in counts.items()}
        self.chances = {tag: list(accumulate(n**0.3 for n in found.values())) for tag, found in counts.items()}
        known = {word for found in self.seen.values() for word in found}
        self.new: dict[str, list[str]] = {}
        for word in dict.fromkeys(words):
            if word not in known:
                for tag in tags_by_ending(word):
                    self.new.setdefault(tag, []).append(word)

    def caption(self, draw: random.Random) -> str:
        sentence, share = draw.choice(self.sentences), draw.choice((0.15, 0.3, 0.5))
        words = []
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            exchanged = tag in self.TAGS and draw.random() < (0.06 if tag in self.SELDOM else share)
            words.append(self._other(tag, draw) if exchanged else word)
        return " ".join(words)

    def _other(self, tag: str, draw: random.Random) -> str:
        if tag in self.new and draw.random() < self.NEW_WORDS:
            return draw.choice(self.new[tag])
        return draw.choices(self.seen[tag], cum_weights=self.chances[tag])[0]


def tags_by_ending(word: str) -> tuple[str, ...]:
    """Where a word that was never parsed may stand."""
    for ending, tag in (("ing", "VBG"), ("ed", "VBN"), ("ly", "RB")):
        if word.endswith(ending):
            return (tag,)
    return ("NNS",) if word.endswith("s") and not word.endswith("ss") else ("NN", "JJ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("templates", "exchange"))
    parser.add_argument("parses", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--words", type=Path, help="further words for `exchange`")
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sentences = [sentence for path in options.parses for sentence in read_silver(path)]
    invent: Callable[[random.Random], str]
    if options.kind == "templates":
        words = collect(sentences)
        invent = partial(caption, words)
    else:
        invent = Exchange(sentences, options.words.read_text("utf-8").split() if options.words else []).caption
    draw = random.Random(options.seed)
    known = {" ".join(sentence.words) for sentence in sentences}
    made: dict[str, None] = {}
    for _ in range(4 * options.count):  # a few words do not make many captions
        text = invent(draw)
        if text not in known and len(text.split(" ")) <= LONGEST:
            made[text] = None
        if len(made) == options.count:
            break
    options.output.write_text("\n".join(made) + "\n", "utf-8")
    print(f"{len(made):,} captions")


if __name__ == "__main__":
    main()
