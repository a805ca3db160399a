"""From captions to tokens.

`ptb` gives what the COCO evaluation's Penn Treebank tokenizer gives after its punctuation is removed; `none` splits
at white space. Unlike the official pipeline, a caption's tokens never depend on its neighbours in the file, and no
character in a caption can shift the captions after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from capeval import engine
from capeval.errors import DataError, UnknownName
from capeval.run import Run
from capeval.text.scanner import KINDS, Scanner, ptb_scanner, space_scanner
from capeval.types import Ints, Longs

TOKENIZERS = ("ptb", "none")
TOKENISED = "tokens"
"""For callers that tokenised already, with a space between tokens. What other white space there is stays within a
token, two spaces have an empty token between them, and an empty caption is one empty token."""

# What the official pipeline removes. It compares after lower-casing, so the names of brackets, in capitals on its
# list, stay in the text as "-lrb-" and so on; we keep them too.
_REMOVED = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])

_LINE_BREAKS = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


def tokenize(texts: Sequence[str], run: Run | None = None) -> list[list[str]]:
    """The tokens of each text."""
    tokens, offsets, vocabulary = encode(texts, run)
    words = [vocabulary[token] for token in tokens]
    return [words[begin:end] for begin, end in pairwise(offsets)]


def encode(texts: Sequence[str], run: Run | None = None) -> tuple[Ints, Longs, list[str]]:
    """Tokens of all texts as numbers, the offset of each text's first token, and the vocabulary."""
    run = run or Run()
    if run.tokenizer == TOKENISED:
        return _split_at_spaces(texts, run)
    scanner, finish = _tokenizer(run.tokenizer)
    # Printable text, which nearly all is, needs no cleaning.
    clean = [text if text.isprintable() else _cleaned(text) for text in texts]
    pieces, offsets, kinds, spellings = engine.load(run.engine).scan(clean, *scanner, threads=run.threads)
    vocabulary: dict[str, int] = {}
    # Many spellings end as one word ("A", "a"), and punctuation ends as none (-1).
    number = np.empty(len(kinds), np.int32)
    for i, (kind, spelling) in enumerate(zip(kinds, spellings, strict=True)):
        word = finish(kind, spelling)
        number[i] = -1 if word is None else vocabulary.setdefault(word, len(vocabulary))
    tokens = number[pieces]
    if run.tokenizer == "ptb":
        _strip_last(tokens, offsets, vocabulary)
    kept = tokens >= 0
    if not kept.all():
        before = np.concatenate([[0], np.cumsum(kept)])
        tokens, offsets = tokens[kept], before[offsets]
    return tokens, offsets, list(vocabulary)


def _split_at_spaces(texts: Sequence[str], run: Run) -> tuple[Ints, Longs, list[str]]:
    # Of usual captions the quicker tokenizer makes the same.
    if all(text.isprintable() and text and text.strip() == text and "  " not in text for text in texts):
        return encode(texts, replace(run, tokenizer="none"))
    number: dict[str, int] = {}
    captions = [_whole(text).split(" ") for text in texts]
    tokens = np.array([number.setdefault(word, len(number)) for words in captions for word in words], np.int32)
    return tokens, np.cumsum([0, *map(len, captions)], dtype=np.int64), list(number)


def _cleaned(text: str) -> str:
    return _LINE_BREAKS.sub(" ", _whole(text))


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise DataError(f"half a character (a lone surrogate) in the caption {text!r}") from problem
    return text


def _strip_last(tokens: Ints, offsets: Longs, vocabulary: dict[str, int]) -> None:
    """The official pipeline strips each line: a URL that swallowed a wide space loses it, but only at the end."""
    stripped = {number: word.rstrip() for word, number in vocabulary.items() if word[-1:].isspace()}
    if not stripped:
        return
    for last in offsets[1:][np.diff(offsets) > 0] - 1:
        if tokens[last] in stripped:
            tokens[last] = vocabulary.setdefault(stripped[tokens[last]], len(vocabulary))


def _tokenizer(name: str) -> tuple[Scanner, Callable[[int, str], str | None]]:
    if name == "ptb":
        return ptb_scanner(), _ptb_word
    if name == "none":
        return space_scanner(), lambda kind, spelling: spelling
    raise UnknownName("tokenizer", name, TOKENIZERS)


def _ptb_word(kind: int, spelling: str) -> str | None:
    """The token that a piece of text becomes, or None if it is removed."""
    word = _lower(_FINISH[kind](spelling))
    return None if word in _REMOVED else word


def _lower(text: str) -> str:
    """Lower case as Java has it: a sigma is final if cased letters precede it in the token and none follow."""
    if "\u03a3" not in text:
        return text.lower()
    place = text.rindex("\u03a3")
    final = text[:place].lower() != text[:place].upper() and text[place + 1 :].lower() == text[place + 1 :].upper()
    return (
        text[:place].lower().replace("\u03c2", "\u03c3") + ("\u03c2" if final else "\u03c3") + text[place + 1 :].lower()
    )


def _without_soft_hyphens(text: str) -> str:
    return text.replace("\xad", "") or "-"


def _quotes(text: str, left: bool) -> str:
    single, double = ("`", "``") if left else ("'", "''")
    for pattern, mark in (
        (r"&apos;|'", single),
        (r'"|&quot;', double),
        ("[\x91\u2018\u201b\u2039]", "`"),
        ("[\x92\u2019\u203a]", "'"),
        ("[\x93\u201c\xab]", "``"),
        ("[\x94\u201d\xbb]", "''"),
    ):
        text = re.sub(pattern, mark, text)
    return text


def _brackets(text: str) -> str:
    return text.replace("(", "-LRB-").replace(")", "-RRB-")


_BRACKET_NAMES = {"(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-"}
_FRACTIONS = {"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"}
_CURRENCY = {"\xa2": "cents", "\xa3": "#", "\x80": "$", "\xa4": "$", "\u20a0": "$", "\u20ac": "$"}

_FINISH_BY_NAME: dict[str, Callable[[str], str]] = {
    "skip": lambda text: text,
    "plain": lambda text: text,
    "soft": _without_soft_hyphens,
    "quote": lambda text: _quotes(text, left=False),
    "left_quote": lambda text: _quotes(text, left=True),
    "nbsp": lambda text: text.replace(" ", "\xa0"),
    "phone": lambda text: _brackets(text.replace(" ", "\xa0")),
    "brackets": _brackets,
    "bracket": _BRACKET_NAMES.__getitem__,
    "dash": lambda text: "--",
    "dashes": lambda text: "--" if 3 <= len(text) <= 4 else text,
    "ellipsis": lambda text: "...",
    "ampersand": lambda text: re.sub("&amp;", "&", text, flags=re.IGNORECASE),
    "vulgar_fraction": lambda text: _FRACTIONS.get(text, text),
    "currency": lambda text: _CURRENCY.get(text, text),
    "acronym": lambda text: text[:-1] if len(text) == 2 else text,
    "less": lambda text: "<",
    "greater": lambda text: ">",
}
_FINISH = [_FINISH_BY_NAME[name] for name in KINDS]
