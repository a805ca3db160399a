"""SCAN on ONNX Runtime: words and regions of pictures in one space, and how regions attend to words.

The attention needs dot products alone. With regions v, words w (all of length 1) and the weights A of a region's words,
the attended words are a = sum_j A_j w_j, so v.a = sum_j A_j v.w_j and |a|^2 = sum_jk A_j A_k w_j.w_k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import CheckpointError
from capeval.run import Run
from capeval.runtime.batches import Rows, filled, for_each, of_one_length
from capeval.runtime.checkpoint import Arrays, Checkpoint, open_checkpoint
from capeval.runtime.session import open_session
from capeval.text.vocabulary import UNK, Vocabulary
from capeval.types import Array, Features, Floats, Longs

MODEL, WORDS, REGIONS, VOCABULARY = "scan", "words.onnx", "regions.onnx", "vocabulary.txt"
PICTURES = "pictures"
"""Input of the network of regions: the vectors of their pictures, where it sees regions with them."""
Direction = Literal["i2t", "t2i"]

# Rows of a run. Every run has exactly so many, filled up if need be: no number depends on what is computed with it.
_CAPTIONS = 32
_PICTURES = 8
# Numbers that the attention of a block of pairs may have, so that it stays in the processor's cache.
_NUMBERS = 1 << 15
# Attended words no longer than this have no direction: they are the sum of words that cancel out.
_SHORTEST = 1e-6


class Words(NamedTuple):
    """Captions as vectors of their words: caption c has `vectors[offsets[c]:offsets[c + 1]]`."""

    vectors: Floats
    offsets: Longs

    def of(self, caption: int) -> Floats:
        return self.vectors[self.offsets[caption] : self.offsets[caption + 1]]


class Grounding(NamedTuple):
    """How one caption lies on one picture, for those who look: regions (i2t), or words (t2i)."""

    vector: Array
    """For each who looks, the cosine with what it attends to."""
    attention: Array
    """[lookers, looked at]: the weights; each row adds up to 1."""
    similarity: Array
    """[lookers, looked at]: the cosines."""


class Scan:
    """A trained SCAN, ready to ground captions in pictures."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        config = checkpoint.config
        if not {"words", "direction", "temperature", "width"} <= config.keys():
            raise CheckpointError(
                f"{checkpoint.folder}: its config.json does not say `words`, `direction`, `temperature` and `width`"
            )
        if config["direction"] not in ("i2t", "t2i"):
            raise CheckpointError(f"{checkpoint.folder}: the direction is i2t or t2i, not {config['direction']!r}")
        self.words, self.width = int(config["words"]), int(config["width"])
        self.direction: Direction = config["direction"]
        self.temperature = float(config["temperature"])
        self.vocabulary = Vocabulary.load(checkpoint.path(VOCABULARY))
        # Threads run different blocks; a session with several of its own would round differently.
        self._words, self._regions = (checkpoint.session(name, threads=1) for name in (WORDS, REGIONS))
        widths = {each.name: int(each.shape[-1]) for each in self._regions.get_inputs()}
        self.region_width, self.picture_width = widths["regions"], widths.get(PICTURES, 0)
        """Widths of what the model sees: of a region's vector, and of its picture's beside it (0: not asked for)."""
        checkpoint.check_probe(lambda inputs: _outputs(self._words, self._regions, config, inputs))

    def knows(self, word: str) -> bool:
        return self.vocabulary[word] > UNK

    def read(self, texts: Sequence[Sequence[str]], threads: int = 1) -> Words:
        """The words of tokenised captions as vectors.

        A caption of more than `self.words` words is cut. One of which no word is known has no vectors.
        """
        tokens, lengths = self.vocabulary.encode(texts, self.words, eos=False)
        lengths = np.where((tokens > UNK).any(axis=1), lengths, 0)
        found = Words(np.empty((int(lengths.sum()), self.width), np.float32), _offsets(lengths))

        def block(rows: Rows) -> None:
            length = int(lengths[rows[0]])
            (read,) = self._words.run(None, {"tokens": tokens[filled(rows, _CAPTIONS), :length]})
            found.vectors[found.offsets[rows, None] + np.arange(length)] = read[: len(rows)]

        has_words = [rows for rows in of_one_length(lengths, lambda _: _CAPTIONS) if lengths[rows[0]]]
        for_each(block, has_words, threads)
        return found

    def look(self, features: Features, images: Sequence[str], threads: int = 1, *, alone: bool = False) -> Floats:
        """The regions of pictures in the space of the words, [n, r, width].

        `alone`: without their picture, also where the model sees them with it. They say more of what is there, and
        match captions less well.
        """
        regions = features.regions(images)
        self.checkpoint.check_width("regions", self.region_width, regions.shape[2])
        vectors = features.vectors(images) if self.picture_width else None
        if vectors is not None and alone:
            vectors = np.zeros_like(vectors)
        if vectors is not None:
            self.checkpoint.check_width("vectors", self.picture_width, vectors.shape[1])
        return self.map_regions(regions, vectors, threads)

    def map_regions(self, regions: Floats, vectors: Floats | None = None, threads: int = 1) -> Floats:
        """Regions [n, r, region_width], of pictures [n, picture_width], in the space of the words, [n, r, width]."""
        found = np.empty((*regions.shape[:2], self.width), np.float32)

        def block(start: int) -> None:
            rows = np.arange(start, min(start + _PICTURES, len(regions)))
            given = {"regions": regions[filled(rows, _PICTURES)]}
            if vectors is not None and self.picture_width:
                given[PICTURES] = vectors[filled(rows, _PICTURES)]
            (mapped,) = self._regions.run(None, given)
            found[rows] = mapped[: len(rows)]

        for_each(block, range(0, len(regions), _PICTURES), threads)
        return found

    def ground(self, mapped: Floats, words: Floats) -> Grounding:
        """One caption [m, width], which has words, and one picture [r, width]."""
        lookers, seen = (mapped, words) if self.direction == "i2t" else (words, mapped)
        return _ground(lookers, seen, self.temperature)

    def grounding(
        self,
        mapped: Floats,
        picture: npt.NDArray[np.integer[Any]],
        words: Words,
        caption: npt.NDArray[np.integer[Any]],
        threads: int = 1,
    ) -> Floats:
        """The grounding vector [r] of each pair of picture `mapped[picture[i]]` and caption `words.of(caption[i])`.

        The same numbers as `ground` gives, in single precision. A caption without words has zeros.
        """
        if self.direction != "i2t":
            raise CheckpointError(f"{self.checkpoint.folder}: this model's words look at regions, not regions at words")
        regions = mapped.shape[1]
        lengths = np.diff(words.offsets)[caption]
        found = np.zeros((len(picture), regions), np.float32)

        def block(rows: Rows) -> None:
            length = int(lengths[rows[0]])
            cosines = np.empty((len(rows), length, regions), np.float32)
            gram = np.empty((len(rows), length, length), np.float32)
            # A product for each pair, since one for several would round otherwise.
            for row, (which, start) in enumerate(zip(picture[rows], words.offsets[caption[rows]])):
                read = words.vectors[start : start + length]
                np.matmul(read, mapped[which].T, out=cosines[row])
                np.matmul(read, read.T, out=gram[row])
            found[rows] = _attend(cosines, gram, self.temperature)[0]

        blocks = of_one_length(lengths, lambda length: max(1, _NUMBERS // (max(1, length) * regions)))
        for_each(block, [rows for rows in blocks if lengths[rows[0]]], threads)
        return found


def open_scan(source: str, run: Run | None = None) -> Scan:
    """The SCAN in a checkpoint folder, or one that has a name; opened once in a process."""
    return _open_scan(source, (run or Run()).cache)


def open_trained_scan(source: str, run: Run | None = None) -> Checkpoint:
    """What is known of a SCAN, without opening its networks."""
    return _open_trained(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _open_scan(source: str, cache: Path) -> Scan:
    return Scan(_open_trained(source, cache))


@lru_cache(maxsize=4)
def _open_trained(source: str, cache: Path) -> Checkpoint:
    return open_checkpoint(source, MODEL, Run(cache=cache))


def probe_outputs(folder: Path, config: Mapping[str, Any], inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """What networks that have just been exported make of tokens [n, t] and regions [n, r, d]."""
    return _outputs(open_session(folder / WORDS), open_session(folder / REGIONS), config, inputs)


def _outputs(words: Any, regions: Any, config: Mapping[str, Any], inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """As a probe has them; caption i is grounded in picture i."""
    (read,) = words.run(None, {"tokens": inputs["tokens"]})
    (mapped,) = regions.run(None, {name: inputs[name] for name in ("regions", PICTURES) if name in inputs})
    lookers, seen = (mapped, read) if config["direction"] == "i2t" else (read, mapped)
    vectors = [_ground(*pair, float(config["temperature"])).vector for pair in zip(lookers, seen)]
    return {"words": read, "mapped": mapped, "grounding": np.stack(vectors)}


def _ground(lookers: Floats, seen: Floats, temperature: float) -> Grounding:
    cosines, gram = seen @ lookers.T, seen @ seen.T
    vector, attention = _attend(cosines[None], gram[None], temperature)
    return Grounding(vector[0], attention[0].T, cosines.T.astype(np.float64))


def _attend(cosines: Floats, gram: Floats, temperature: float) -> tuple[Array, Array]:
    """Grounding vectors [n, lookers] and weights [n, seen, lookers], of cosines [n, seen, lookers] and of those between
    what is seen, [n, seen, seen].
    """
    exact = cosines.astype(np.float64)
    similarity = np.maximum(exact, 0)
    length = np.sqrt((similarity**2).sum(axis=2, keepdims=True))
    similarity /= np.where(length > 0, length, 1)
    weights = np.exp(temperature * (similarity - similarity.max(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    along = (weights * exact).sum(axis=1)
    squared = (weights * (gram.astype(np.float64) @ weights)).sum(axis=1)
    attended = np.sqrt(np.maximum(squared, 0))
    has_direction = attended > _SHORTEST
    return np.where(has_direction, along / np.where(has_direction, attended, 1), 0), weights


def _offsets(lengths: npt.NDArray[np.int64]) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
