"""METEOR 1.5 (Denkowski and Lavie 2014): words aligned by form, stem, meaning and paraphrase.

As the COCO caption evaluation runs it: English, `-norm`, the parameters tuned for ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval import engine
from capeval.corpus import Corpus, Words
from capeval.engine.alignment import Match, align
from capeval.engine.meteor import (
    CHUNKS,
    captions_of,
    is_perfect,
    knowledge_of,
    precision_recall_fragmentation,
    scores,
    statistics,
)
from capeval.run import Run
from capeval.text.lexicon import function_words, load_lexicon
from capeval.text.normalize import normalize_all
from capeval.text.paraphrase import find_table, load_phrases, table_digest
from capeval.text.stem import stem
from capeval.types import Array, Bytes, Explanation, Info, Ints, Longs, Metric, Picture, Word

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
        starts, lengths, phrases, phrase_offsets, links, link_offsets = find_phrases(words, corpus.run)
        return corpus.engine.meteor_stats(
            words.tokens,
            words.offsets,
            *word_facts(words.vocabulary),
            starts,
            lengths,
            phrases,
            phrase_offsets,
            links,
            link_offsets,
            PARAMETERS,
            corpus.rows,
            corpus.threads,
        )

    def per_sample(self, stats: Array) -> Array:
        return scores(stats, PARAMETERS)[:, None]

    def summands(self, stats: Array) -> Array:
        # METEOR does not add the one chunk of a perfect caption, so that it brings no fragmentation to the total.
        summands = stats.copy()
        summands[is_perfect(stats), CHUNKS] = 0.0
        return summands

    def from_totals(self, totals: Array, rows: int | Array) -> Array:
        return scores(totals, PARAMETERS)[..., None]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        explanations = []
        for reference in references:
            found = align_tokens(candidate, reference, run)
            rows = [(" ".join(pair.candidate), " ".join(pair.reference), pair.module) for pair in found.pairs]
            header = ("candidate", "reference", "module")
            explanations.append(Explanation(" ".join(reference), found.facts(), header, rows, *found.words()))
        return explanations

    def signature_extras(self, run: Run) -> dict[str, str]:
        return {"paraphrases": table_digest(find_table(), run)[:12]}


@dataclass(frozen=True, slots=True)
class Pair:
    """Words of the candidate that are matched with words of the reference, and the module that found them."""

    module: str
    candidate: tuple[str, ...]
    candidate_start: int
    reference: tuple[str, ...]
    reference_start: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """A candidate and a reference as METEOR splits them, what is matched, and what the score comes from."""

    candidate: tuple[str, ...]
    reference: tuple[str, ...]
    pairs: tuple[Pair, ...]
    chunks: int
    precision: float
    recall: float
    fmean: float
    fragmentation: float
    score: float

    def facts(self) -> dict[str, float | str]:
        names = ("score", "precision", "recall", "fmean", "fragmentation", "chunks")
        return {name: getattr(self, name) for name in names}

    def words(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Of both, with what each word is matched with."""
        ours, theirs = ([Word(text, "miss") for text in words] for words in (self.candidate, self.reference))
        for pair in self.pairs:
            fate = "match" if pair.module == "exact" else "near"
            for words, start, here, there in (
                (ours, pair.candidate_start, pair.candidate, pair.reference),
                (theirs, pair.reference_start, pair.reference, pair.candidate),
            ):
                for place in range(start, start + len(here)):
                    words[place] = Word(words[place].text, fate, note=f"{pair.module}: {' '.join(there)}")
        return tuple(ours), tuple(theirs)


def align_tokens(candidate: Sequence[str], reference: Sequence[str], run: Run) -> Alignment:
    """The alignment of two tokenised captions."""
    texts = normalize_all([" ".join(candidate), " ".join(reference)])
    number: dict[str, int] = {}
    tokens = np.array([number.setdefault(word, len(number)) for text in texts for word in text], np.int32)
    words = Words(tokens, np.cumsum([0, *map(len, texts)], dtype=np.int64), list(number))
    starts, lengths, phrases, phrase_offsets, links, link_offsets = find_phrases(words, run)
    known = knowledge_of(*word_facts(words.vocabulary), links, link_offsets)
    ours, theirs = captions_of(words.tokens, words.offsets, starts, lengths, phrases, phrase_offsets)
    matches = align(ours, theirs, known)
    stats = np.array(statistics(ours, theirs, matches, known))
    # Without matches, what follows is 0 / 0.
    precision, recall, fragmentation = map(
        float, np.nan_to_num(precision_recall_fragmentation(stats, DELTA, MODULE_WEIGHTS))
    )
    return Alignment(
        tuple(texts[0]),
        tuple(texts[1]),
        tuple(_pair(match, *texts) for match in matches),
        int(stats[CHUNKS]),
        precision,
        recall,
        1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall) if matches else 0.0,
        fragmentation,
        float(scores(stats, PARAMETERS)),
    )


def _pair(match: Match, candidate: list[str], reference: list[str]) -> Pair:
    ours = candidate[match.candidate_start : match.candidate_start + match.candidate_length]
    theirs = reference[match.start : match.start + match.length]
    return Pair(MODULES[match.module], tuple(ours), match.candidate_start, tuple(theirs), match.start)


class WordFacts(NamedTuple):
    """What the engine knows of each distinct word."""

    keys: Ints
    stems: Ints
    is_function: Bytes
    synsets: Ints
    synset_offsets: Longs


def find_phrases(words: Words, run: Run) -> tuple[Ints, Ints, Ints, Longs, Ints, Longs]:
    """Where phrases of the paraphrase table occur, and which of them are paraphrases of each other."""
    table = load_phrases(find_table(), run)
    numbers = table.numbers_of(words.vocabulary)
    return engine.load(run.engine).find_phrases(words.tokens, words.offsets, numbers, *table[1:], threads=run.threads)


def word_facts(vocabulary: list[str]) -> WordFacts:
    functions = function_words()
    return WordFacts(
        _numbers(vocabulary),
        _numbers(map(stem, vocabulary)),
        np.array([word in functions for word in vocabulary], np.uint8),
        *_shared_synsets(vocabulary),
    )


def _shared_synsets(vocabulary: list[str]) -> tuple[Ints, Longs]:
    """The synsets of each word, renumbered, and where they begin; without those that no two words share."""
    lexicon = load_lexicon()
    meanings = [lexicon.meanings(word) for word in vocabulary]
    synsets = np.array([synset for each in meanings for synset in each], np.int32)
    # np.unique would do the same, and load a lot of code.
    order = np.argsort(synsets, kind="stable")
    is_new = np.diff(synsets[order], prepend=np.int32(-1)) != 0
    number = np.empty(len(synsets), np.int64)
    number[order] = np.cumsum(is_new) - 1
    is_shared = np.bincount(number) > 1
    kept = is_shared[number]
    offsets = np.cumsum([0, *map(len, meanings)], dtype=np.int64)
    new_number = np.cumsum(is_shared, dtype=np.int32) - np.int32(1)
    return new_number[number[kept]], np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)


def normalized_words(pieces: Words) -> Words:
    """The captions as METEOR splits them. Captions of plain words, which are most, stay as they are."""
    tokens, offsets, vocabulary = pieces
    is_special = np.array([not _PLAIN.fullmatch(word) for word in vocabulary], bool)
    caption_of_token = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    has_special = np.zeros(len(offsets) - 1, bool)
    has_special[caption_of_token[is_special[tokens]]] = True
    special = np.flatnonzero(has_special)
    texts = [" ".join([vocabulary[token] for token in tokens[offsets[c] : offsets[c + 1]].tolist()]) for c in special]
    number = {word: i for i, word in enumerate(vocabulary)}
    normalized = [[number.setdefault(word, len(number)) for word in words] for words in normalize_all(texts)]

    lengths = np.diff(offsets)
    lengths[special] = [len(words) for words in normalized]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)])
    caption_of_word = np.repeat(np.arange(len(lengths)), lengths)
    words = np.empty(new_offsets[-1], np.int32)
    words[~has_special[caption_of_word]] = tokens[~has_special[caption_of_token]]
    words[has_special[caption_of_word]] = [word for words in normalized for word in words]
    return Words(words, new_offsets, list(number))


def _numbers(texts: Iterable[str]) -> Ints:
    """A number for each text; METEOR compares Java's hash codes, so texts of equal hash get the same number."""
    number: dict[int, int] = {}
    hashes = java_hashes(list(texts)).tolist()
    return np.array([number.setdefault(value, len(number)) for value in hashes], np.int32)


def java_hashes(texts: list[str]) -> npt.NDArray[np.uint32]:
    """Java's String.hashCode of each text: 31 * (hash so far) + next UTF-16 unit, for all texts at once."""
    spellings = [text.encode("utf-16-le", "surrogatepass") for text in texts]
    units = np.frombuffer(b"".join(spellings), "<u2").astype(np.uint32)
    lengths = np.array([len(spelling) // 2 for spelling in spellings], np.int64)
    starts = np.cumsum(lengths) - lengths
    values = np.zeros(len(texts), np.uint32)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        values[longer] = values[longer] * np.uint32(31) + units[starts[longer] + place]
    return values
