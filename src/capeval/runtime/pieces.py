"""Captions as numbers of word pieces, as sentence encoders read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError, MissingExtra

Ids = npt.NDArray[np.int64]
_LARGEST = 1 << 24


class Pieces:
    """Word pieces with a begin and an end. Captions are tokenised words; only their letters count."""

    def __init__(self, path: Path, most: int) -> None:
        """`path`: a tokenizer.json, `most`: pieces of a caption, begin and end included; the rest is cut off."""
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra("Reading captions with a sentence encoder", "learned") from None
        if path.stat().st_size > _LARGEST:
            raise CheckpointError(f"{path}: too large to be the file of a tokenizer")
        try:
            self._tokenizer: Any = Tokenizer.from_str(path.read_text("utf-8"))
        except Exception as problem:  # the library raises bare exceptions
            raise CheckpointError(f"{path}: this is no tokenizer: {problem}") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(most)
        self.most = most
        self.size = int(self._tokenizer.get_vocab_size())
        begin, *_, end = self._tokenizer.encode("a").ids
        self.ends = (int(begin), int(end))
        """What every caption begins and ends with."""

    def encode(self, texts: Sequence[Sequence[str]]) -> tuple[Ids, Ids]:
        """Numbers [n, longest], zeros after the end, and lengths."""
        found = [each.ids for each in self._tokenizer.encode_batch([" ".join(words) for words in texts])]
        lengths = np.array([len(ids) for ids in found], np.int64)
        numbers = np.zeros((len(found), int(lengths.max(initial=0))), np.int64)
        for row, ids in enumerate(found):
            numbers[row, : len(ids)] = ids
        return numbers, lengths

    def spelled(self, words: Sequence[str]) -> list[str]:
        """The pieces of one caption without begin and end, as letters; what goes on with a word begins with ##."""
        pieces: list[str] = self._tokenizer.encode(" ".join(words)).tokens[1:-1]
        return pieces
