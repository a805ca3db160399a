"""METEOR's own tokenizer for English, which runs over text that a tokenizer has already split.

White space, digits and lower-case letters are meant here as Java's regular expressions mean them: ASCII only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from capeval.text.lexicon import nonbreaking_prefixes

_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e\u0400-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
_ALNUM = "0-9" + _LETTERS

_SYMBOL = re.compile(rf"[^{_ALNUM} \t\n\v\f\r.'`,\-‘’]")
_DOTS = re.compile(r"\.{2,}")
_COMMAS = [re.compile(p) for p in (r"([^0-9]),([^0-9])", r"([0-9]),([^0-9])", r"([^0-9]),([0-9])")]
_SINGLE_QUOTE = re.compile("[`‘’]")
_DOUBLE_QUOTE = re.compile("[“”]|''")
_HYPHEN = re.compile(rf"([{_ALNUM}.])-([{_ALNUM}])")
_APOSTROPHES = [
    (re.compile(rf"([^{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([^{_LETTERS}0-9])'([{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([{_LETTERS}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'(s)"), r"\1 '\2"),
]
_TOKEN = re.compile(r"[^ \t\n\r\f]+")
_WIDE_SPACE = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_LETTER = re.compile(f"[{_LETTERS}]")
_CONTROL = "".join(map(chr, range(33)))


def normalize(text: str) -> list[str]:
    """The lower-case words METEOR compares."""
    return normalize_all([text])[0]


def normalize_all(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text. All go through the rules as one, a line each: no rule reaches over the line break."""
    if not texts:
        return []
    text = "\n".join([f" {text} ".replace("\n", " ") for text in texts])
    text = _SYMBOL.sub(r" \g<0> ", text)
    text = _DOTS.sub(r" \g<0> ", text)
    for comma in _COMMAS:
        text = comma.sub(r"\1 , \2", text)
    text = _SINGLE_QUOTE.sub("'", text)
    text = _DOUBLE_QUOTE.sub(' " ', text)
    text = text.replace("–", "-").replace("--", "-")
    text = _HYPHEN.sub(r"\1 \2", text)
    for apostrophe, replacement in _APOSTROPHES:
        text = apostrophe.sub(replacement, text)
    return [_words(line) for line in text.split("\n")]


def _words(line: str) -> list[str]:
    if "." in line:
        tokens = _TOKEN.findall(line)
        following = [*tokens[1:], ""]
        line = " ".join([_split_final_dot(token, after) for token, after in zip(tokens, following)])
    if not line.isascii():
        line = _WIDE_SPACE.sub(" ", line)
    return _TOKEN.findall(line.strip(_CONTROL).lower())


def _split_final_dot(token: str, following: str) -> str:
    """A last dot becomes a token unless it belongs to the word before it."""
    if not token.endswith(".") or not token.strip("."):
        return token
    word = token[:-1]
    if "." in word and _LETTER.search(word):
        return token.replace(".", "")  # U.S. becomes US
    always, before_number = nonbreaking_prefixes()
    if word in always or "a" <= following[:1] <= "z":
        return token
    if word in before_number and "0" <= following[:1] <= "9":
        return token
    return f"{word} ."
