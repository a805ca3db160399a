"""Official parses to learn from, and how near the fast parser comes to them."""

from __future__ import annotations

import hashlib
import lzma
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capeval.errors import DataError
from capeval.scene import SceneTuple, enhanced_graph, tuples_of_graph
from capeval.scene.fast.parser import FastParser
from capeval.scene.lemma import token

SILVER = "silver/parses.tsv.xz"
"""Where the parses lie in the folder of the data sets."""
HELD_OUT = 50
"""One caption in so many is for validation; which ones, its letters decide."""


@dataclass(frozen=True)
class Silver:
    """One parsed sentence; heads from 1, the root's 0."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]

    def tuples(self) -> list[SceneTuple]:
        tokens = [token(word, tag) for word, tag in zip(self.words, self.tags, strict=True)]
        arcs = zip(self.heads, self.labels, strict=True)
        return tuples_of_graph(enhanced_graph(tokens, [(head, i, label) for i, (head, label) in enumerate(arcs, 1)]))


def read_silver(path: Path) -> Iterator[Silver]:
    """Sentences of a tab-separated file: words, tags, lemmas, heads, labels; what else a line has is not needed."""
    opened = lzma.open if path.suffix == ".xz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield _sentence(line.rstrip("\n"), str(path), number)
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as problem:
        raise DataError(f"cannot be read: {problem}", file=str(path)) from None


def _sentence(line: str, path: str, number: int) -> Silver:
    try:
        words, tags, _, heads, labels = (tuple(field.split(" ")) for field in line.split("\t")[:5])
        sentence = Silver(words, tags, tuple(map(int, heads)), labels)
        sizes = {len(words), len(tags), len(heads), len(labels)}
        if len(sizes) != 1 or not all(0 <= head <= len(words) for head in sentence.heads):
            raise ValueError("words, tags, heads and labels do not fit each other")
    except ValueError as problem:
        raise DataError(f"not a parsed sentence: {problem}", file=path, line=number) from None
    return sentence


def is_held_out(words: Sequence[str]) -> bool:
    digest = hashlib.blake2b(" ".join(words).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % HELD_OUT == 0


def agreement(parser: FastParser, sentences: Sequence[Silver], wanted: Sequence[list[SceneTuple]]) -> dict[str, float]:
    """Shares of tokens with the right tag, and head and label; of captions with the right tuples; F1 of tuples."""
    tokens = tags = arcs = identical = 0
    hits = ours = theirs = 0
    captions = [" ".join(sentence.words) for sentence in sentences]
    for parse, silver, official in zip(parser.parses(captions), sentences, wanted, strict=True):
        found = tuples_of_graph(parse.graph())
        tokens += len(silver.words)
        tags += sum(token.tag == tag for token, tag in zip(parse.tokens, silver.tags, strict=True))
        gold = {(head, i, label) for i, (head, label) in enumerate(zip(silver.heads, silver.labels, strict=True), 1)}
        arcs += len(gold & set(parse.basic))
        identical += sorted(found) == sorted(official)
        hits += common(found, official)
        ours, theirs = ours + len(found), theirs + len(official)
    return {
        "identical": identical / max(1, len(captions)),
        "f1": 2 * hits / max(1, ours + theirs),
        "tags": tags / max(1, tokens),
        "las": arcs / max(1, tokens),
    }


def common(ours: Sequence[SceneTuple], theirs: Sequence[SceneTuple]) -> int:
    """How many tuples two captions share; one that stands twice in both counts twice."""
    return (Counter(ours) & Counter(theirs)).total()
