"""What a larger encoder makes of captions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DataError
from capeval.io.files import writing
from capeval.runtime.arrays import named_arrays
from capeval.train.facts import digest_of

Words = Sequence[str]
_IN_A_ROW = 4


class Teacher:
    """Captions and their vectors; in the file those of a picture follow each other."""

    def __init__(self, path: Path) -> None:
        given = named_arrays(path, ("captions", "vectors"))
        texts = given["captions"].astype(np.uint8).tobytes().decode("utf-8", "replace").split("\n")
        vectors = given["vectors"].astype(np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or len(texts) < _IN_A_ROW:
            raise DataError(f"{len(texts)} captions and vectors of the shape {vectors.shape}", file=str(path))
        self.captions: list[Words] = [text.split(" ") for text in texts]
        self._vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
        self._number = {text: number for number, text in enumerate(texts)}
        self.digest = digest_of(given["captions"], given["vectors"])

    def draw(self, count: int, random: np.random.Generator) -> list[Words]:
        begins = random.integers(len(self.captions) - _IN_A_ROW + 1, size=-(-count // _IN_A_ROW))
        return [self.captions[begin + place] for begin in begins.tolist() for place in range(_IN_A_ROW)][:count]

    def of(self, texts: Sequence[Words]) -> tuple[list[int], Any]:
        """Which of the captions it knows, and their vectors."""
        found = [(place, self._number.get(" ".join(words), -1)) for place, words in enumerate(texts)]
        known = [(place, number) for place, number in found if number >= 0]
        return [place for place, _ in known], self._vectors[[number for _, number in known]]


def write_teacher(path: Path, captions: Sequence[str], vectors: Any) -> None:
    """`captions`: tokenised, words between spaces; each stands there once."""
    text = np.frombuffer("\n".join(captions).encode(), np.uint8)
    with writing(path) as stream:
        np.savez(stream, captions=text, vectors=np.asarray(vectors, np.float16))
