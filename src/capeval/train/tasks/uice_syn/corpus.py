"""A corpus of sentences in somebody's style: a sentence a line, or running text, plain or gzip."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.text.tokenize import tokenize
from capeval.text.vocabulary import Vocabulary
from capeval.train.data import captions
from capeval.train.tasks.uice_syn.config import Config

Sentence = list[str]

# Speech is marked before sentences are split, since it may hold several.
_SPEECH = "\0"
_QUOTED = re.compile('“[^“”]*(?:”|$)|"[^"]*(?:"|$)|[^“”]*”')
_END = re.compile(r"(?<=[.!?…])[)\]\0]*\s+(?=[A-Z0-9(\[\0])")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Prof|Rev|Col|Capt|Gen|Lt|Hon|vs|[A-Z])\.$")
# A wrapped text has blank lines between its paragraphs.
_BLANK = 0.02


@dataclass(frozen=True)
class SentenceCorpus:
    """Tokenised sentences, each once, and what was left out."""

    sentences: list[Sentence]
    vocabulary: Vocabulary
    counts: dict[str, int]

    def told(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in self.counts.items())


def read_corpus(
    files: Sequence[Path], config: Config, data: Path | None = None, known: Vocabulary | None = None
) -> SentenceCorpus:
    """The sentences of all files and data sets; DataError where none is left.

    `known`: the words of a style that is trained on; else those of the corpus are taken.
    """
    if not files and not config.captions:
        raise DataError("a corpus is needed: sentences that people wrote", remedy="training_corpus")
    texts = [list(sentences_of(file, config.form)) for file in files]
    texts += [
        [text for several in captions(name, "train", data).values() for text in several] for name in config.captions
    ]
    counts = dict.fromkeys(("sentences", "speech", "short", "long", "of rare words", "repeated", "kept"), 0)
    counts["sentences"] = sum(map(len, texts))
    parts = [_fitting(each, config, counts) for each in texts]
    limits = _even(config.lines, [len(part) for part in parts])
    drawn = [_some(part, limit) for part, limit in zip(parts, limits)]
    counts["not drawn"] = sum(map(len, parts)) - sum(map(len, drawn))
    known = known or Vocabulary.of((sentence for part in drawn for sentence in part), config.vocabulary)
    kept = [sentence for part in drawn for sentence in part if _rare_share(sentence, known) <= config.rare]
    counts["of rare words"] = sum(map(len, drawn)) - len(kept)
    counts["kept"] = len(kept)
    if len(kept) < 2:
        raise DataError(f"no corpus to learn from is left: {', '.join(f'{n} {what}' for what, n in counts.items())}")
    return SentenceCorpus(kept, known, counts)


def sentences_of(file: Path, form: str = "auto") -> Iterator[str]:
    """The sentences of a file, speech among them as a NUL in place of what was said."""
    try:
        text = utf8_without_bom(read_bytes(file), str(file)).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error.reason}", file=str(file)) from None
    lines = html.unescape(text.replace(_SPEECH, " ")).splitlines()
    if form == "auto":
        blank = sum(not line.strip() for line in lines)
        form = "text" if blank > _BLANK * len(lines) else "lines"
    if form == "lines":
        yield from (_QUOTED.sub(_SPEECH, line.strip()) for line in lines if line.strip())
        return
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        yield from split_sentences(" ".join(paragraph.split()))


def split_sentences(paragraph: str) -> Iterator[str]:
    """The sentences of running text; what is said in quotation marks becomes a NUL."""
    given = _QUOTED.sub(_SPEECH, paragraph)
    begin = 0
    for end in _END.finditer(given):
        sentence = given[begin : end.start()]
        if not _ABBREVIATION.search(sentence):
            yield sentence.strip()
            begin = end.end()
    if rest := given[begin:].strip():
        yield rest


def _fitting(texts: Sequence[str], config: Config, counts: dict[str, int]) -> list[Sentence]:
    """Tokenised sentences that are no speech, of a fitting length, each once; what is left out is counted."""
    spoken = [text for text in texts if _SPEECH in text]
    counts["speech"] += len(spoken)
    kept: dict[tuple[str, ...], None] = {}
    for sentence in tokenize([text for text in texts if _SPEECH not in text]):
        if len(sentence) < config.shortest:
            counts["short"] += 1
        elif len(sentence) > config.longest:
            counts["long"] += 1
        elif tuple(sentence) in kept:
            counts["repeated"] += 1
        else:
            kept[tuple(sentence)] = None
    return [list(sentence) for sentence in kept]


def _even(limit: int, sizes: Sequence[int]) -> list[int]:
    """How many of each part, `limit` in all: the same of each, but for those that have fewer."""
    if not limit or sum(sizes) <= limit:
        return list(sizes)
    found, left, parts = [0] * len(sizes), limit, len(sizes)
    for place in np.argsort(sizes, kind="stable").tolist():
        found[place] = min(sizes[place], left // parts)
        left, parts = left - found[place], parts - 1
    return found


def _some(sentences: list[Sentence], count: int) -> list[Sentence]:
    if count >= len(sentences):
        return sentences
    picked = np.random.default_rng(0).permutation(len(sentences))[:count]
    return [sentences[place] for place in np.sort(picked).tolist()]


def _rare_share(sentence: Sentence, known: Vocabulary) -> float:
    return sum(not known.has(word) for word in sentence) / len(sentence)
