"""The words that a learned model knows, as numbers.

A vocabulary is a text file, a word a line, the most frequent first. Four numbers come before them: padding, the begin
and the end of a caption, and any word that is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from capeval.errors import DataError
from capeval.io.files import PathLike, read_bytes
from capeval.run import Run
from capeval.text.tokenize import encode, tokenize

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")

Ids = npt.NDArray[np.int64]


class Vocabulary:
    """Words by number and numbers by word."""

    def __init__(self, words: Sequence[str]) -> None:
        """`words` without the specials, each once."""
        self.spellings = (*SPECIALS, *words)
        self._number = {word: number for number, word in enumerate(self.spellings)}
        if len(self._number) != len(self.spellings):
            raise ValueError("a word occurs twice in the vocabulary")

    @classmethod
    def of(cls, captions: Iterable[str | Sequence[str]], limit: int = 10_000, minimum: int = 1) -> Vocabulary:
        """The most frequent words of texts or of lists of tokens: at most `limit`, each at least `minimum` times."""
        given = list(captions)
        tokens = tokenize([each for each in given if isinstance(each, str)])
        counts = Counter(chain.from_iterable(tokens))
        counts.update(chain.from_iterable(each for each in given if not isinstance(each, str)))
        # A caption may spell a special or hold a white space inside a token (telephone numbers); neither is a word.
        usable = (item for item in counts.items() if item[1] >= minimum and _is_word(item[0]))
        ranked = sorted(usable, key=lambda item: (-item[1], item[0]))
        return cls([word for word, _ in ranked[:limit]])

    def __len__(self) -> int:
        return len(self.spellings)

    def __getitem__(self, word: str) -> int:
        """The number of a word; UNK for one that is not known."""
        return self._number.get(word, UNK)

    def has(self, word: str) -> bool:
        return self[word] > UNK

    def encode(
        self, captions: Sequence[Sequence[str]], length: int, bos: bool = False, eos: bool = True
    ) -> tuple[Ids, Ids]:
        """Lists of tokens as numbers; see `encode_texts`."""
        flat = np.fromiter((self[word] for word in chain.from_iterable(captions)), np.int64)
        offsets = np.concatenate([[0], np.cumsum([len(tokens) for tokens in captions], dtype=np.int64)])
        return _padded(flat, offsets, length, bos, eos)

    def encode_texts(
        self, texts: Sequence[str], length: int, bos: bool = False, eos: bool = True, run: Run | None = None
    ) -> tuple[Ids, Ids]:
        """Numbers [n, length + bos + eos], padded, and how many of each row count.

        A caption of more than `length` words is cut; its end still follows.
        """
        tokens, offsets, words = encode(texts, run)
        numbers = np.array([self[word] for word in words] or [UNK], np.int64)
        return _padded(numbers[tokens], offsets, length, bos, eos)

    def words(self, ids: Iterable[int]) -> list[str]:
        """The words up to the end of the caption, without specials."""
        found = []
        for number in ids:
            if number == EOS:
                break
            if number > UNK:
                found.append(self.spellings[number])
        return found

    def to_bytes(self) -> bytes:
        return "".join(f"{word}\n" for word in self.spellings[len(SPECIALS) :]).encode()

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "vocabulary") -> Vocabulary:
        try:
            words = data.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise DataError(f"not UTF-8: {error.reason}", file=source) from None
        if data and not data.endswith(b"\n"):
            raise DataError("the last line is cut", file=source)
        bad = next((line for line, word in enumerate(words, 1) if not _is_word(word)), None)
        if bad:
            raise DataError(f"{words[bad - 1]!r} is not a word", file=source, line=bad)
        try:
            return cls(words)
        except ValueError as error:
            raise DataError(str(error), file=source) from None

    @classmethod
    def load(cls, path: PathLike) -> Vocabulary:
        return cls.from_bytes(read_bytes(path), str(Path(path)))


def initial_vectors(vocabulary: Vocabulary, source: str = "glove-100d", seed: int = 0) -> npt.NDArray[np.float32]:
    """A vector for each number: of its word where `source` has it, else random with the same spread; zero for PAD."""
    from capeval.text.vectors import load_vectors

    table = load_vectors(source)
    rows = table.rows_of(vocabulary.spellings)
    known = table.take(rows[rows >= 0])
    spread = float(known.std()) if known.size else 0.1
    random = np.random.default_rng(seed)
    vectors = (spread * random.standard_normal((len(vocabulary), table.dimensions))).astype(np.float32)
    vectors[rows >= 0] = known
    vectors[PAD] = 0
    return vectors


def _is_word(text: str) -> bool:
    return bool(text) and text not in SPECIALS and not any(letter.isspace() for letter in text)


def _padded(tokens: Ids, offsets: npt.NDArray[np.int64], length: int, bos: bool, eos: bool) -> tuple[Ids, Ids]:
    if length < 1:
        raise ValueError("captions need room for one word at least")
    counts = np.minimum(np.diff(offsets), length)
    ids = np.full((len(counts), length + bos + eos), PAD, np.int64)
    column = np.arange(length)
    is_word = column < counts[:, None]
    ids[:, bos : bos + length][is_word] = tokens[(offsets[:-1, None] + column)[is_word]]
    if bos:
        ids[:, 0] = BOS
    if eos:
        ids[np.arange(len(counts)), counts + bos] = EOS
    return ids, counts + bos + eos
