"""Features of pictures to train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from capeval.errors import DataError, counted
from capeval.io.features import open_features
from capeval.io.files import PathLike
from capeval.train.data import Captions, captions
from capeval.types import Floats, Longs


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
        self.region_dim: int = max(part.region_dim for part in self._parts)
        self.encoder: str = self._parts[0].encoder

    def __contains__(self, image: object) -> bool:
        return any(image in part for part in self._parts)

    def vectors(self, images: Sequence[str]) -> Floats:
        """[n, dim]; DataError for a picture that is in no file."""
        return self._gathered("vectors", images)

    def regions(self, images: Sequence[str]) -> Floats:
        """[n, regions, region_dim]. They are large: ask for some pictures at a time."""
        return self._gathered("regions", images)

    def boxes(self, images: Sequence[str]) -> Floats | None:
        """[n, regions, 4]: where each region is; None where a file does not say it."""
        return self._gathered("boxes", images) if self._has_boxes else None

    @cached_property
    def _has_boxes(self) -> bool:
        return all(part.boxes(part.ids[:1]) is not None for part in self._parts)

    def _gathered(self, kind: str, images: Sequence[str]) -> Floats:
        """Features of one kind, of which all pictures must have the same number."""
        if len(self._parts) == 1 or not images:
            return np.asarray(getattr(self._parts[0], kind)(images))
        whole: Floats | None = None
        left = list(range(len(images)))
        for part in self._parts:
            if here := [place for place in left if images[place] in part]:
                values = getattr(part, kind)([images[place] for place in here])
                whole = np.empty((len(images), *values.shape[1:]), np.float32) if whole is None else whole
                if values.shape[1:] != whole.shape[1:]:
                    sizes = f"{whole.shape[1:]} and {values.shape[1:]}"
                    raise DataError(f"the files of features do not fit together: the sizes of {kind} are {sizes}")
                whole[here] = values
                left = [place for place in left if images[place] not in part]
        if left or whole is None:
            missing = list(dict.fromkeys(images[place] for place in left))
            raise DataError(f"{counted(len(missing), 'picture')} without features.", ids=missing)
        return whole


def with_pictures(given: Mapping[str, tuple[str, ...]], pictures: Pool) -> Captions:
    """Only the captions whose picture there is."""
    return {image: texts for image, texts in given.items() if image in pictures}


class Pictured(NamedTuple):
    """Captions of pictures that there are features of."""

    train: Captions
    validation: Captions
    sources: list[Longs]
    """The places in `train` of the pictures of each source."""


def pictured(sources: Sequence[str], validation: Sequence[str], pictures: Pool, data: PathLike | None) -> Pictured:
    """The training captions of some sources, and the validation captions of some."""
    found = [with_pictures(captions(source, "train", data), pictures) for source in sources]
    train = {image: several for each in found for image, several in each.items()}
    kept = {
        image: several
        for source in validation
        for image, several in with_pictures(captions(source, "val", data), pictures).items()
        if image not in train  # a user's file has no splits
    }
    if not train or not kept:
        raise DataError(f"no picture to {'validate' if train else 'train'} with: the features have none of them")
    place = {image: number for number, image in enumerate(train)}
    return Pictured(train, kept, [np.array([place[image] for image in each]) for each in found if each])
