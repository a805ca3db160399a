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
from capeval.runtime.encoder import Encoder, find_encoder, picture_name, read_picture, require_pillow
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
        self,
        paths: Mapping[str, PathLike | bytes],
        *,
        encoder: Encoder | PathLike | None = None,
        run: Run | None = None,
    ) -> None:
        self.source = "the pictures"
        self._paths = {str(key): path if isinstance(path, bytes) else Path(path) for key, path in paths.items()}
        self._run = run or Run()
        self._encoder = encoder if isinstance(encoder, Encoder) else Encoder(encoder, run)
        self._networks = {self._encoder.name: self._encoder}
        self._hashes: dict[str, bytes] = {}
        self.encoder = self._encoder.name
        self._cache = FeatureCache(self.encoder, self._run)
        self._views = {self.encoder: self}

    def by(self, encoder: str) -> PictureFiles:
        """As the encoder of that name sees them; as these are, where it is not known."""
        other = self._networks.get(encoder) or find_encoder(encoder, self._run)
        if encoder not in self._views and other:
            view = PictureFiles(self._paths, encoder=other, run=self._run)
            self._networks[encoder] = other
            view._hashes, view._views, view._networks = self._hashes, self._views, self._networks
            self._views[encoder] = view
        return self._views.get(encoder, self)

    def over(self, paths: Mapping[str, PathLike | bytes]) -> PictureFiles:
        """Other pictures, as the same encoders see them."""
        other = PictureFiles(paths, encoder=self._encoder, run=self._run)
        other._networks = self._networks
        return other

    def unreadable(self, encoder: str = "") -> dict[str, str]:
        """Which pictures cannot be read, and why. Those that can are encoded, and in the cache, afterwards."""
        seen, bad = self.by(encoder), dict[str, str]()
        for name in self.ids:
            try:
                seen._hashes_of([name])
            except DataError as problem:
                bad[name] = str(problem)
        hashes = {digest: name for name, digest in seen._hashes.items()}
        if missing := {digest: hashes[digest] for digest in hashes.keys() - seen._cache.read("vector", set(hashes))}:
            seen._encode("vector", missing, bad)
        same = {seen._hashes[name]: why for name, why in bad.items() if name in seen._hashes}
        return bad | {name: same[digest] for name, digest in seen._hashes.items() if digest in same}

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

    def _encode(
        self, kind: str, pictures: Mapping[bytes, str], bad: dict[str, str] | None = None
    ) -> dict[bytes, Numbers]:
        """Vectors and regions come from one pass, and both are kept. Pictures that are no pictures go into `bad`, or,
        without that, are an error.

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
            if picture.problem and bad is not None:
                bad[picture.key] = str(picture.problem)
                return
            if picture.problem:
                flush()
                raise picture.problem
            if picture.hash != self._hashes[picture.key]:
                raise DataError(
                    "the picture was changed while it was read", file=picture_name(self._paths[picture.key])
                )
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
