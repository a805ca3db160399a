"""Picture files as features: encoded when a metric asks for them, and kept in the cache for the next time.

The cache goes by the content of a picture, so the same picture is encoded once, whatever its name and folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np

from capeval.errors import CapevalError, DataError
from capeval.io.cache import ADVICE
from capeval.io.features import Features, Floats, StoredFeatures, open_features
from capeval.io.featurestore import DamagedStore, set_aside
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.encoder import DEFAULT, Encoder, read_picture
from capeval.runtime.extract import content_hash, extract, find_pictures
from capeval.types import Pictures


def open_pictures(
    images: PathLike | Mapping[str, PathLike] | None, features: PathLike | Pictures | None, run: Run | None = None
) -> Pictures | None:
    """What metrics see of the pictures: features that are there, or made of picture files when they are asked for."""
    if images is not None and features is not None:
        raise CapevalError("give pictures (images) or their features, not both")
    if features is not None:
        return open_features(features) if isinstance(features, str | os.PathLike) else features
    if images is None:
        return None
    return PictureFiles(find_pictures(images) if isinstance(images, str | os.PathLike) else images, run=run)


class PictureFiles(Features):
    """Pictures by image id; nothing is read before it is needed."""

    def __init__(self, paths: Mapping[str, PathLike], *, encoder: PathLike = DEFAULT, run: Run | None = None) -> None:
        self.source = "the pictures"
        self._paths = {str(key): Path(path) for key, path in paths.items()}
        self._encoder, self._run = Encoder(encoder, run), run or Run()
        self._hashes: dict[str, str] = {}
        self.encoder = self._encoder.name

    @property
    def ids(self) -> list[str]:
        return list(self._paths)

    @cached_property
    def dim(self) -> int:
        return self._encoder.shape[1]

    @cached_property
    def region_count(self) -> int:
        return self._encoder.shape[0]

    @property
    def digest(self) -> str:
        return self._encoder.name.partition("/")[2]

    def contents(self, images: Sequence[str]) -> list[str]:
        return self._keys(self.known(images))

    def boxes(self, images: Sequence[str]) -> Floats:
        return np.repeat(self._encoder.boxes()[None], len(self.known(images)), axis=0)

    def _read(self, column: str, names: Sequence[str]) -> Floats:
        keys = self._keys(names)
        features = self._encoded(dict(zip(keys, names)), regions=column == "regions")
        return features.regions(keys) if column == "regions" else features.vectors(keys)

    def _keys(self, names: Sequence[str]) -> list[str]:
        """What the cache calls the pictures: the hashes of their content."""
        new = [name for name in dict.fromkeys(names) if name not in self._hashes]
        with ThreadPoolExecutor(self._run.threads) as pool:
            digests = pool.map(lambda name: content_hash(read_picture(self._paths[name])).hex(), new)
            self._hashes.update(zip(new, digests))
        return [self._hashes[name] for name in names]

    def _encoded(self, names: Mapping[str, str], regions: bool) -> Features:
        """The cache's store, with at least these pictures in it."""
        store = (
            self._run.cache / "features" / f"{self.encoder.replace('/', '-')}{'-regions' if regions else ''}.features"
        )
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DataError(f"cannot be made: {problem.strerror}. {ADVICE}", file=str(store.parent)) from problem
        features = _opened(store, self._run)
        there = set() if features is None else set(features.ids)
        missing = {key: self._paths[name] for key, name in names.items() if key not in there}
        if features is None or missing:
            extract(missing, store, encoder=self._encoder, regions=regions, run=self._run, shared=True)
            features = StoredFeatures(store)
        return features


def _opened(store: Path, run: Run) -> StoredFeatures | None:
    """A damaged store makes room for a new one, but is kept: hours of work may be in it."""
    if not store.exists() or not store.stat().st_size:
        return None
    try:
        features = StoredFeatures(store)
        features.ids  # noqa: B018  (a damaged row shows when ids are read)
        return features
    except DamagedStore as problem:
        aside = set_aside(store)
        if aside is not None:
            run.progress.note(f"{problem} It was renamed to {aside.name}; a new one is made.")
        return None
