"""METEOR 1.5 (Denkowski and Lavie 2014): words aligned by form, stem, meaning and paraphrase.

As the COCO caption evaluation runs it: English, `-norm`, the parameters tuned for ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.engine.alignment import CHUNKS, is_perfect, scores
from capeval.text.corpus import Corpus, Longs, Words
from capeval.text.lexicon import function_words, load_lexicon
from capeval.text.normalize import normalize
from capeval.text.paraphrase import find_table, load_phrases, table_digest
from capeval.text.stem import stem
from capeval.types import Array, Info, Ints, Metric

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
MODULES = ("exact", "stem", "synonym", "paraphrase")
MODULE_WEIGHTS = (1.0, 0.6, 0.8, 0.6)
PARAMETERS = np.array([ALPHA, BETA, GAMMA, DELTA, *MODULE_WEIGHTS])

_PLAIN = re.compile("[a-z0-9]+")


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR 1.5 with its published parameters."""

    info: ClassVar[Info] = Info(
        name="meteor",
        names=("meteor",),
        summary="aligned words (same, stem, synonym, paraphrase), recall above precision, in few chunks",
        citation="Denkowski and Lavie 2014, Meteor Universal: Language Specific Translation Evaluation for Any Target "
        "Language (WMT)",
    )

    def stats(self, corpus: Corpus) -> Array:
        """Lengths, matched words by module and kind, and chunks, against the best reference."""
        words = normalized_words(corpus.pieces)
        phrases = find_phrases(words, corpus)
        result: Array = corpus.engine.meteor_stats(
            words.tokens,
            words.offsets,
            *word_facts(words.vocabulary),
            *phrases,
            PARAMETERS,
            *corpus.rows,
            threads=corpus.threads,
        )
        return result

    def per_sample(self, stats: Array) -> Array:
        return scores(stats, PARAMETERS)[:, None]

    def summands(self, stats: Array) -> Array:
        # METEOR does not add the one chunk of a perfect caption, so that it brings no fragmentation to the total.
        summands = stats.copy()
        summands[is_perfect(stats), CHUNKS] = 0.0
        return summands

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        return scores(totals, PARAMETERS)[..., None]

    def signature_extras(self) -> dict[str, str]:
        return {"paraphrases": table_digest(find_table())[:12]}


class WordFacts(NamedTuple):
    """What the engine knows of each distinct word."""

    keys: Ints
    stems: Ints
    is_function: npt.NDArray[np.uint8]
    synsets: Ints
    synset_offsets: Longs


def find_phrases(words: Words, corpus: Corpus) -> tuple[Ints, Ints, Ints, Longs, Ints, Longs]:
    """Where phrases of the paraphrase table occur, and which of them are paraphrases of each other."""
    table = load_phrases(find_table())
    numbers = table.numbers_of(words.vocabulary)
    found: tuple[Ints, Ints, Ints, Longs, Ints, Longs] = corpus.engine.find_phrases(
        words.tokens, words.offsets, numbers, *table[1:], threads=corpus.threads
    )
    return found


def word_facts(vocabulary: list[str]) -> WordFacts:
    lexicon, functions = load_lexicon(), function_words()
    meanings = [sorted(lexicon.meanings(word)) for word in vocabulary]
    return WordFacts(
        _numbers(vocabulary),
        _numbers(map(stem, vocabulary)),
        np.array([word in functions for word in vocabulary], np.uint8),
        np.array([synset for synsets in meanings for synset in synsets], np.int32),
        np.cumsum([0, *map(len, meanings)], dtype=np.int64),
    )


def normalized_words(pieces: Words) -> Words:
    """The captions as METEOR splits them. Captions of plain words, which are most, stay as they are."""
    vocabulary = pieces.vocabulary
    is_special = np.array([not _PLAIN.fullmatch(word) for word in vocabulary], bool)
    number = {word: i for i, word in enumerate(vocabulary)}
    special_before = np.concatenate([[0], np.cumsum(is_special[pieces.tokens] if len(pieces.tokens) else [])])
    has_special = np.diff(special_before[pieces.offsets]) > 0
    captions: list[Ints] = [np.zeros(0, np.int32)]
    for (first, last), special in zip(pairwise(pieces.offsets.tolist()), has_special.tolist()):
        tokens = pieces.tokens[first:last]
        if special:
            words = normalize(" ".join(vocabulary[token] for token in tokens.tolist()))
            tokens = np.array([number.setdefault(word, len(number)) for word in words], np.int32)
        captions.append(tokens)
    offsets = np.cumsum([len(caption) for caption in captions], dtype=np.int64)
    return Words(np.concatenate(captions), offsets, list(number))


def _numbers(texts: Iterable[str]) -> Ints:
    """A number for each text; METEOR compares Java's hash codes, so texts of equal hash get the same number."""
    number: dict[int, int] = {}
    return np.array([number.setdefault(_java_hash(text), len(number)) for text in texts], np.int32)


def _java_hash(text: str) -> int:
    units = text.encode("ascii") if text.isascii() else memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return value
