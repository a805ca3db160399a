"""Features of pictures to train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from capeval.errors import DataError
from capeval.io.features import open_features
from capeval.io.files import PathLike
from capeval.train.data import Captions
from capeval.types import Floats


class PictureVectors(Protocol):
    """Features to train on: those of a file, of several, or of pictures."""

    @property
    def dim(self) -> int: ...

    @property
    def encoder(self) -> str: ...

    def vectors(self, images: Sequence[str]) -> Floats:
        """[n, dim]"""


class Pool:
    """Several files of features as one; where two have a picture, the first counts."""

    def __init__(self, files: Sequence[PathLike]) -> None:
        if not files:
            raise DataError("pictures are needed", remedy="training_features")
        self._parts: list[Any] = [open_features(file) for file in files]
        for what in ("dim", "encoder"):
            values = {str(file): getattr(part, what) for file, part in zip(files, self._parts)}
            if len(set(values.values())) > 1:
                raise DataError(f"the files of features do not fit together: {what} is {values}")
        self.dim: int = self._parts[0].dim
        self.encoder: str = self._parts[0].encoder

    def __contains__(self, image: object) -> bool:
        return any(image in part for part in self._parts)

    def vectors(self, images: Sequence[str]) -> Floats:
        """[n, dim]; DataError for a picture that is in no file."""
        if len(self._parts) == 1:
            return np.asarray(self._parts[0].vectors(images))
        found = np.empty((len(images), self.dim), np.float32)
        left = list(range(len(images)))
        for part in self._parts:
            here = [place for place in left if images[place] in part]
            if here:
                found[here] = part.vectors([images[place] for place in here])
                left = [place for place in left if images[place] not in part]
        if left:
            missing = list(dict.fromkeys(images[place] for place in left))
            raise DataError(f"{len(missing)} pictures without features.", ids=missing)
        return found


def with_pictures(given: Mapping[str, tuple[str, ...]], pictures: Pool) -> Captions:
    """Only the captions whose picture there is."""
    return {image: texts for image, texts in given.items() if image in pictures}
