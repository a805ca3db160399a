"""What the network sees of a word: its own vector if it is known, its spelling, and its GloVe vector."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from capeval.text.vectors import load_vectors
from capeval.types import Floats

BUCKETS = 4096
GLOVE = "glove-100d"
GLOVE_NORM = 3.0


def spelling_features(word: str) -> list[int]:
    """Beginning, endings and shape of a word, each as the number of a bucket."""
    long = len(word) > 3
    shape = [
        "d" if any(letter.isdigit() for letter in word) else "",
        "-" if "-" in word else "",
        "a" if any(letter.isalpha() for letter in word) else "",
        "4" if long else str(len(word)),
    ]
    pieces = [
        "s4" + word[-4:],
        "s3" + word[-3:],
        "s2" + word[-2:],
        "s1" + word[-1:] + ("L" if long else ""),
        "p3" + word[:3],
        "z" + "".join(shape),
    ]
    return [zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS for piece in pieces]


def glove_vectors(words: Sequence[str]) -> Floats:
    """The vectors of the words, all of one length; zeros for a word that has none."""
    table = load_vectors(GLOVE)
    # Halves of surrogate pairs cannot be looked up, and no vector has them.
    rows = np.asarray(table.rows_of([word.encode("utf-8", "replace").decode() for word in words]))
    vectors = np.zeros((len(words), 100), np.float32)
    known = rows >= 0
    found = table.take(rows[known])
    vectors[known] = found * (GLOVE_NORM / np.maximum(1e-6, np.linalg.norm(found, axis=1, keepdims=True)))
    return vectors
