"""Picture files as features: encoded when a metric asks for them, and kept in the cache for the next time.

The cache goes by the content of a picture, so the same picture is encoded once, whatever its name and folder.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import count
from pathlib import Path

import numpy as np

from capeval.errors import CapevalError, DataError
from capeval.io.featurecache import FeatureCache
from capeval.io.features import FeatureSource, open_features
from capeval.io.featurestore import BLOCK, Encoded, Numbers, together
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.encoder import Encoder, find_encoder, read_picture, require_pillow
from capeval.runtime.extract import Looked, content_hash, find_pictures, look_at
from capeval.types import Features, Floats, Picture


def open_pictures(
    images: PathLike | Mapping[str, PathLike] | None, features: PathLike | Features | None, run: Run | None = None
) -> Features | None:
    """What metrics see of the pictures: features that are there, or made of picture files when they are asked for."""
    if images is not None and features is not None:
        raise CapevalError("give pictures (images) or their features, not both")
    if features is not None:
        return open_features(features) if isinstance(features, str | os.PathLike) else features
    if images is None:
        return None
    return PictureFiles(find_pictures(images) if isinstance(images, str | os.PathLike) else images, run=run)


def open_picture(image: PathLike, features: PathLike | Features | None = None, run: Run | None = None) -> Picture:
    """One picture file. Its id is its name without the ending; with `features` the file itself is not read."""
    name = Path(image).stem
    found = open_pictures({name: image} if features is None else None, features, run)
    assert found is not None
    return Picture(found, name)


class PictureFiles(FeatureSource):
    """Pictures by image id, as one encoder sees them, and by `by` any other; nothing is read before it is needed."""

    def __init__(
        self, paths: Mapping[str, PathLike], *, encoder: Encoder | PathLike | None = None, run: Run | None = None
    ) -> None:
        self.source = "the pictures"
        self._paths = {str(key): Path(path) for key, path in paths.items()}
        self._run = run or Run()
        self._encoder = encoder if isinstance(encoder, Encoder) else Encoder(encoder, run)
        self._hashes: dict[str, bytes] = {}
        self.encoder = self._encoder.name
        self._cache = FeatureCache(self.encoder, self._run)
        self._views = {self.encoder: self}

    def by(self, encoder: str) -> PictureFiles:
        """As the encoder of that name sees them; as these are, where it is not known."""
        if encoder not in self._views and (other := find_encoder(encoder, self._run)):
            view = PictureFiles(self._paths, encoder=other, run=self._run)
            view._hashes, view._views = self._hashes, self._views
            self._views[encoder] = view
        return self._views.get(encoder, self)

    @property
    def ids(self) -> list[str]:
        return list(self._paths)

    @cached_property
    def dim(self) -> int:
        return self._encoder.sizes.vector

    @cached_property
    def region_count(self) -> int:
        return self._encoder.sizes.regions

    @cached_property
    def region_dim(self) -> int:
        return self._encoder.sizes.region

    @property
    def digest(self) -> str:
        return self._encoder.name.partition("/")[2]

    def contents(self, images: Sequence[str]) -> list[str]:
        return [digest.hex() for digest in self._hashes_of(self.known(images))]

    def boxes(self, images: Sequence[str]) -> Floats | None:
        boxes, known = self._encoder.boxes(), self.known(images)
        return np.repeat(boxes[None], len(known), axis=0) if len(boxes) else None

    def _read(self, kind: str, names: Sequence[str]) -> Floats:
        hashes = self._hashes_of(names)
        found = self._cache.read(kind, set(hashes))
        while missing := {digest: name for name, digest in zip(names, hashes) if digest not in found}:
            found |= self._encode(kind, missing)
        return together(found, hashes, kind, self.source)

    def _hashes_of(self, names: Sequence[str]) -> list[bytes]:
        new = [name for name in dict.fromkeys(names) if name not in self._hashes]
        with ThreadPoolExecutor(self._run.threads) as pool:
            digests = pool.map(lambda name: content_hash(read_picture(self._paths[name])), new)
            self._hashes.update(zip(new, digests))
        return [self._hashes[name] for name in names]

    def _encode(self, kind: str, pictures: Mapping[bytes, str]) -> dict[bytes, Numbers]:
        """Vectors and regions come from one pass, and both are kept.

        What another process has encoded meanwhile is taken from the cache, unless it has gone there again.
        """
        require_pillow()
        found: dict[bytes, Numbers] = {}
        ready: list[Encoded] = []
        keep = set(self._hashes.values())
        self._cache.add([], keep)  # a cache that cannot be written is told before the work

        def flush() -> None:
            if ready:
                self._cache.add(ready, keep)
                ready.clear()

        def take(picture: Looked) -> None:
            if picture.problem:
                flush()
                raise picture.problem
            if picture.hash != self._hashes[picture.key]:
                raise DataError("the picture was changed while it was read", file=str(self._paths[picture.key]))
            if picture.encoded:
                found[picture.hash] = np.atleast_2d(getattr(picture.encoded, kind))
                ready.append(picture.encoded)
            if len(ready) >= BLOCK:
                flush()
            show(next(done))

        def known(hashes: Sequence[bytes]) -> Collection[bytes]:
            return self._cache.read(kind, hashes)

        # Each process begins at another place, so that several with the same pictures share the work.
        files = [(name, self._paths[name]) for name in pictures.values()]
        start, done = random.Random().randrange(len(files)), count(1)
        with self._run.progress.bar("reading pictures", len(files), "pictures") as show:
            look_at(files[start:] + files[:start], self._encoder, self._run.threads, known, take)
        flush()
        return found | self._cache.read(kind, pictures.keys() - found.keys())
