"""Captions with their words marked: which of them the references have too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capeval.run import Run
from capeval.text.lexicon import function_words, load_lexicon
from capeval.text.stem import stem
from capeval.text.tokenize import tokenize
from capeval.types import Word


def mark(
    captions: Sequence[str], references: Sequence[Sequence[str]], run: Run | None = None
) -> list[tuple[Word, ...]]:
    """Each caption, as it was written, against its references: words that one of them has (`match`), or has in another
    form or by a synonym (`near`), and words that none has. Function words do not count; without references none does.
    """
    written = [caption.split() for caption in captions]
    distinct = list(dict.fromkeys(text for texts in (*written, *references) for text in texts))
    tokens = dict(zip(distinct, tokenize(distinct, run), strict=True))
    found = []
    for pieces, others in zip(written, references, strict=True):
        known = _Known(word for text in others for word in tokens[text])
        found.append(tuple(known.judge(piece, tokens[piece]) if others else Word(piece) for piece in pieces))
    return found


class _Known:
    """The words of some references."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = set(words)
        functions = function_words()
        self.stems: dict[str, str] = {}
        self.meanings: dict[int, str] = {}
        for word in sorted(self.words - functions):
            self.stems.setdefault(stem(word), word)
            for meaning in load_lexicon().meanings(word):
                self.meanings.setdefault(meaning, word)

    def judge(self, piece: str, tokens: Sequence[str]) -> Word:
        """What is between two spaces: mostly one word, perhaps with a comma."""
        main = [token for token in tokens if token not in function_words()]
        if not main:
            return Word(piece)
        if all(token in self.words for token in main):
            return Word(piece, "match")
        near = [token if token in self.words else self._near(token) for token in main]
        told = ", ".join(word for word in near if word)
        return Word(piece, "near", note=f"references: {told}") if all(near) else Word(piece, "miss")

    def _near(self, token: str) -> str:
        by_meaning = (self.meanings[each] for each in load_lexicon().meanings(token) if each in self.meanings)
        return self.stems.get(stem(token)) or next(by_meaning, "")
