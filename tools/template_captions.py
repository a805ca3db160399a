"""Writes captions as template systems do, from the words of parsed captions: material for the fast parser.

    python tools/template_captions.py PARSES.tsv... -o CAPTIONS.txt [--count 40000] [--seed 0]

Some captioning systems fill templates and string the sentences together, and tokenisation takes the full stops away:
"person is riding bicycle in the scene the scene contains trees and wet grass". People write run-on captions too. Such
captions are unlike those of COCO and Flickr, so a parser must be shown them. Verbs, nouns and phrases are drawn from
the files of parses; parse what comes out with `tools/make_silver.py`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from capeval.train.silver import Silver, read_silver

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
    kind = draw.random()
    if kind < 0.15:
        parts = draw.choices(words.captions, k=draw.choice((2, 2, 2, 3)))
    else:
        clauses = 0 if kind < 0.4 else min(9, 1 + int(draw.expovariate(0.5)))
        parts = [clause(words, draw) for _ in range(clauses)]
        if not parts or draw.random() < 0.7:
            parts.append(listing(words, draw))
    return " ".join(" ".join(parts).split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parses", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    words = collect([sentence for path in options.parses for sentence in read_silver(path)])
    draw = random.Random(options.seed)
    made: dict[str, None] = {}
    while len(made) < options.count:
        text = caption(words, draw)
        if len(text.split(" ")) <= LONGEST:
            made[text] = None
    options.output.write_text("\n".join(made) + "\n", "utf-8")


if __name__ == "__main__":
    main()
