"""Where in a picture a caption lies, and each of its words: what `capeval ground` draws."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.errors import CheckpointError, DataError, MissingPictures
from capeval.io.features import Names, open_features
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.encoder import Pixels, decode, read_picture
from capeval.runtime.pictures import PictureFiles
from capeval.runtime.scan import Scan, open_scan
from capeval.text.tokenize import tokenize
from capeval.types import Array, Features, Floats

CHECKPOINT = "scan"
"""The model that comes with capeval."""


@dataclass(frozen=True)
class GroundedCaption:
    """A caption on the regions of a picture."""

    text: str
    tokens: tuple[str, ...]
    known: tuple[bool, ...]
    """Of each of `words`, whether the model knows it; all that it does not know are one word to it."""
    vector: Array
    """[regions]: the cosine of each region with the words that it attends to. The mean is how well caption and picture
    match."""
    similarity: Array
    """[regions, words]: the cosine of each region, seen without the rest of the picture, with each word."""

    @property
    def words(self) -> tuple[str, ...]:
        """Those that the model reads: it cuts long captions."""
        return self.tokens[: len(self.known)]

    @property
    def left_out(self) -> int:
        """How many words at the end the model does not read."""
        return len(self.tokens) - len(self.known)


@dataclass(frozen=True)
class Grounded:
    """A candidate, and perhaps references, on one picture."""

    image: str
    pixels: Pixels
    boxes: Floats
    """[regions, 4]"""
    candidate: GroundedCaption
    references: tuple[GroundedCaption, ...] = ()

    @property
    def captions(self) -> tuple[GroundedCaption, ...]:
        return (self.candidate, *self.references)

    def reference_mean(self) -> Array:
        """What TIGEr compares the candidate with: a reference that is the candidate itself counts only if it is the
        only one."""
        others = [each.vector for each in self.references if each.tokens != self.candidate.tokens]
        return np.asarray(np.mean(others or [each.vector for each in self.references], axis=0))


class Grounder:
    """Grounds captions in pictures with one model.

    `images` has the picture files by id. Regions come from `features`, else from the encoder that the model knows.
    """

    def __init__(
        self,
        images: Mapping[str, PathLike],
        *,
        checkpoint: str = CHECKPOINT,
        features: PathLike | Features | None = None,
        run: Run | None = None,
    ) -> None:
        self.run = run or Run()
        self.scan = open_scan(checkpoint, self.run)
        if self.scan.direction != "i2t":
            raise CheckpointError(
                f"{self.scan.checkpoint.folder}: in this model words look at regions. Heat maps need one whose regions "
                "look at words (direction i2t), such as TIGEr has"
            )
        self._images, self._names = dict(images), Names(images)
        self._features = self._opened(features)

    def __contains__(self, image: str) -> bool:
        """Whether there is a picture of that id."""
        return self._names.find(image) is not None

    def reads(self, caption: str) -> bool:
        """Whether the model knows a word of a caption, among those that it reads."""
        return any(map(self.scan.knows, tokenize([caption], self.run)[0][: self.scan.words]))

    def ground(self, image: str, caption: str, references: Sequence[str] = ()) -> Grounded:
        """DataError for a picture that cannot be read, and for a caption of which the model knows no word."""
        name = self._names.find(image)
        if name is None:
            raise MissingPictures("there is no picture.", ids=[image])
        pixels = decode(read_picture(self._images[name]), str(self._images[name]))
        (boxes,) = self._boxes(image)
        (regions,) = self.scan.look(self._features, [image], self.run.threads)
        (alone,) = self.scan.look(self._features, [image], self.run.threads, alone=True)
        candidate, *others = ground_captions(self.scan, regions, [caption, *references], self.run, alone)
        return Grounded(image, pixels, boxes, candidate, tuple(others))

    def _opened(self, features: PathLike | Features | None) -> Features:
        wanted = str(self.scan.checkpoint.facts.get("encoder", ""))
        if features is None and not wanted:
            raise DataError(
                "this model was trained on features that somebody brought, so capeval cannot make them of the picture",
                file=str(self.scan.checkpoint.folder),
                remedy="own_features",
            )
        if features is None:
            found: Features = PictureFiles(self._images, encoder=wanted.partition("/")[0], run=self.run)
        else:
            found = open_features(features) if isinstance(features, str | os.PathLike) else features
        self.scan.checkpoint.check_encoder(found.encoder)
        return found

    def _boxes(self, image: str) -> Floats:
        boxes = self._features.boxes([image])
        if boxes is None:
            raise DataError("it is not known where the regions are: the features have no boxes", ids=[image])
        is_inside = np.isfinite(boxes).all() and boxes.min() >= -0.01 and boxes.max() <= 1.01
        if not is_inside or (boxes[..., :2] >= boxes[..., 2:]).any():
            raise DataError(
                "a box is x0, y0, x1, y1 from 0 to 1, in parts of the picture's width and height; these are not",
                ids=[image],
            )
        return np.clip(boxes, 0, 1)


def ground_captions(
    scan: Scan, mapped: Floats, texts: Sequence[str], run: Run | None = None, alone: Floats | None = None
) -> list[GroundedCaption]:
    """Captions on the mapped regions [regions, width] of one picture; words on those that are seen `alone`."""
    run = run or Run()
    tokens = tokenize(texts, run)
    read = scan.read(tokens, run.threads)
    found = []
    for number, (text, words) in enumerate(zip(texts, tokens, strict=True)):
        vectors = read.of(number)
        if not len(vectors):
            why = "the model knows none of its words" if words else "it has no words"
            raise DataError(f"the caption {text!r} cannot be grounded: {why}")
        known = tuple(scan.knows(word) for word in words[: len(vectors)])
        grounding = scan.ground(mapped, vectors)
        similarity = grounding.similarity if alone is None else scan.ground(alone, vectors).similarity
        found.append(GroundedCaption(text, tuple(words), known, grounding.vector, similarity))
    return found
