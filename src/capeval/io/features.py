"""Picture features by image id, wherever they come from: our own store, or .npy, .npz and .h5 files."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DataError, MissingExtra, UnsuitableFeatures, without_pickle_advice
from capeval.io.cache import remembered, sha256_of
from capeval.io.featurestore import Store, is_store, together
from capeval.io.files import PathLike
from capeval.run import cache_dir
from capeval.types import Features, Floats

_COCO = re.compile(r"(?:COCO_[A-Za-z]+[0-9]+_)?([0-9]+)")
_NAMES = ("ids", "vectors", "regions", "boxes")


class Names:
    """Which stored name an image id means.

    The name itself, else without an extension such as `.jpg`, else by number: `42`, `000000000042` and
    `COCO_val2014_000000000042` are one picture where only one name has that number.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    @cached_property
    def _by_number(self) -> dict[int, str | None]:
        found: dict[int, str | None] = {}
        for name in self._names:
            if (number := _number(name)) is not None:
                found[number] = None if number in found else name
        return found

    def find(self, image: str) -> str | None:
        if image in self._names:
            return image
        for name in (image, Path(image).stem if image else ""):
            if name in self._names:
                return name
            if (number := _number(name)) is not None and (same := self._by_number.get(number)):
                return same
        return None


def _number(name: str) -> int | None:
    match = _COCO.fullmatch(name)
    return int(match[1]) if match and len(match[1]) <= 18 else None


class FeatureSource(Features, ABC):
    """What all features have in common: images are asked for by id, which is looked up among the stored names."""

    source: str
    encoder: str = ""
    """Who made them, as `lite0/7878a0d1b80f`; empty for features that a user brings."""

    @property
    @abstractmethod
    def ids(self) -> list[str]: ...

    @property
    @abstractmethod
    def dim(self) -> int:
        """Numbers in the vector of a picture."""

    @property
    @abstractmethod
    def region_count(self) -> int:
        """Regions a picture, the most if they differ; 0 where there are none."""

    @property
    @abstractmethod
    def region_dim(self) -> int:
        """Numbers in the vector of a region; 0 where there are none."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Tells these features from others."""

    @abstractmethod
    def contents(self, images: Sequence[str]) -> list[str]:
        """For each image a text that is another one where its picture, or its features, are others."""

    @abstractmethod
    def _read(self, kind: str, names: Sequence[str]) -> Floats: ...

    @cached_property
    def names(self) -> Names:
        return Names(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, image: object) -> bool:
        return isinstance(image, str) and self.names.find(image) is not None

    def by(self, encoder: str) -> Features:
        """The same pictures as another encoder sees them, where that can be told; else these features."""
        return self

    def vectors(self, images: Sequence[str]) -> Floats:
        """One vector for each image, [n, dim]."""
        return self._checked("vector", images)

    def regions(self, images: Sequence[str]) -> Floats:
        """The regions of each image, [n, regions, region_dim], of which all must have the same number.

        They are large: ask for some images at a time.
        """
        if not self.region_count:
            raise UnsuitableFeatures("there are no regions; `capeval features` can make them", file=self.source)
        return self._checked("regions", images)

    def boxes(self, images: Sequence[str]) -> Floats | None:
        """The place of each region, [n, regions, 4], or None where it is not known."""
        raise NotImplementedError

    def known(self, images: Sequence[str]) -> list[str]:
        """The stored name of each image; images without features are an error."""
        found = [self.names.find(image) for image in images]
        missing = list(dict.fromkeys(image for image, name in zip(images, found) if name is None))
        if missing:
            raise DataError(f"{len(missing)} images have no features here.", file=self.source, ids=missing)
        return [name for name in found if name is not None]

    def _checked(self, kind: str, images: Sequence[str]) -> Floats:
        if not images:
            return np.empty((0, self.dim) if kind == "vector" else (0, self.region_count, self.region_dim), np.float32)
        values = self._read(kind, self.known(images))
        if not np.isfinite(values).all():
            bad = [image for image, each in zip(images, values) if not np.isfinite(each).all()]
            raise DataError("features that are not finite numbers.", file=self.source, ids=bad)
        return values


class StoredFeatures(FeatureSource):
    """What `capeval features` wrote."""

    def __init__(self, path: PathLike) -> None:
        self.source, self._store = str(path), Store(path)
        encoders = self._store.encoders()
        if len(encoders) > 1:
            raise DataError(f"there are features of several encoders: {', '.join(encoders)}", file=self.source)
        self.encoder = "".join(encoders)

    @cached_property
    def hashes(self) -> dict[str, bytes]:
        """The hash of each picture's file."""
        return self._store.images()

    @property
    def ids(self) -> list[str]:
        return list(self.hashes)

    @cached_property
    def dim(self) -> int:
        return max((width for _, width in self._store.sizes(self.encoder, "vector")), default=0)

    @cached_property
    def region_count(self) -> int:
        return max((height for height, _ in self._store.sizes(self.encoder, "regions")), default=0)

    @cached_property
    def region_dim(self) -> int:
        return max((width for _, width in self._store.sizes(self.encoder, "regions")), default=0)

    @cached_property
    def digest(self) -> str:
        # The encoder and the pictures decide every number.
        pictures = "".join(f"{key}\n{value.hex()}\n" for key, value in sorted(self.hashes.items()))
        return hashlib.sha256(f"{self.encoder}\n{self.region_count}\n{pictures}".encode()).hexdigest()

    def contents(self, images: Sequence[str]) -> list[str]:
        return [self.hashes[name].hex() for name in self.known(images)]

    def _read(self, kind: str, names: Sequence[str]) -> Floats:
        hashes = [self.hashes[name] for name in names]
        found = self._store.read(self.encoder, kind, hashes)
        missing = [name for name, digest in zip(names, hashes) if digest not in found]
        if missing:
            raise DataError(f"{len(missing)} images have no {kind} here.", file=self.source, ids=missing)
        return together(found, hashes, kind, self.source)

    def boxes(self, images: Sequence[str]) -> Floats | None:
        known = self.known(images)
        return self._read("boxes", known) if known and self._store.sizes(self.encoder, "boxes") else None


class ArrayFeatures(FeatureSource):
    """Features that a user brings: arrays with one row for each id."""

    def __init__(
        self, source: PathLike, ids: Sequence[str], arrays: Mapping[str, Any], cache: Path | None = None
    ) -> None:
        self._cache = cache or cache_dir()
        self.source, self._ids, self._arrays = str(source), list(ids), dict(arrays)
        self._place = {key: row for row, key in enumerate(self._ids)}
        self._check()

    def _check(self) -> None:
        if len(self._place) != len(self._ids):
            twice = list(dict.fromkeys(key for row, key in enumerate(self._ids) if self._place[key] != row))
            raise DataError("ids that appear more than once.", file=self.source, ids=twice)
        if not {"vectors", "regions"} & set(self._arrays):
            raise DataError("there is no array `vectors` [n, d] or `regions` [n, r, d]", file=self.source)
        for name, array in self._arrays.items():
            wanted = 2 if name == "vectors" else 3
            if array.ndim != wanted or 0 in array.shape[1:] or array.dtype.kind not in "fiu":
                raise DataError(
                    f"{name} must be numbers in {wanted} dimensions, not {array.dtype} {array.shape}", file=self.source
                )
            if len(array) != len(self._ids):
                raise DataError(f"{name} has {len(array)} rows for {len(self._ids)} ids", file=self.source)
        regions, boxes = self._arrays.get("regions"), self._arrays.get("boxes")
        if boxes is not None and (regions is None or boxes.shape[1:] != (regions.shape[1], 4)):
            raise DataError("boxes must be [n, regions, 4], beside regions", file=self.source)

    @property
    def ids(self) -> list[str]:
        return self._ids

    @property
    def dim(self) -> int:
        array = self._arrays["vectors"] if "vectors" in self._arrays else self._arrays["regions"]
        return int(array.shape[-1])

    @property
    def region_count(self) -> int:
        return int(self._arrays["regions"].shape[1]) if "regions" in self._arrays else 0

    @property
    def region_dim(self) -> int:
        return int(self._arrays["regions"].shape[2]) if "regions" in self._arrays else 0

    @cached_property
    def digest(self) -> str:
        # The ids of a .npy file lie in another one.
        ids = "\n".join(self._ids).encode()
        return hashlib.sha256(
            remembered(Path(self.source), "sha256", sha256_of, self._cache).encode() + ids
        ).hexdigest()

    def contents(self, images: Sequence[str]) -> list[str]:
        # The file as a whole: features of half a gigabyte are not read again for their hashes.
        return [f"{self.digest}/{name}" for name in self.known(images)]

    def _rows(self, name: str, names: Sequence[str]) -> Floats:
        rows = np.array([self._place[key] for key in names], np.intp)
        # HDF5 reads only rising rows, each once.
        distinct, back = np.unique(rows, return_inverse=True)
        return np.asarray(self._arrays[name][distinct], np.float32)[back]

    def _read(self, kind: str, names: Sequence[str]) -> Floats:
        if kind == "regions":
            return self._rows("regions", names)
        if "vectors" in self._arrays:
            return self._rows("vectors", names)
        means = [self._rows("regions", names[i : i + 256]).mean(axis=1) for i in range(0, len(names), 256)]
        return np.concatenate(means) if means else np.empty((0, self.dim), np.float32)

    def boxes(self, images: Sequence[str]) -> Floats | None:
        return self._rows("boxes", self.known(images)) if "boxes" in self._arrays else None


def open_features(path: PathLike, cache: Path | None = None) -> FeatureSource:
    """Features by image id from a store, or from .npy, .npz or .h5 (see docs/tasks/features.md)."""
    ending = Path(path).suffix.lower()
    if not Path(path).is_file():
        raise DataError("there is no such file", file=str(path))
    if is_store(path) or ending not in (".npy", ".npz", ".h5", ".hdf5"):
        return StoredFeatures(path)
    found = _read_npy(path) if ending == ".npy" else _read_npz(path) if ending == ".npz" else _read_h5(path)
    if "ids" not in found:
        raise DataError("there is no array `ids` that says which image each row belongs to", file=str(path))
    return ArrayFeatures(path, _ids(found.pop("ids"), str(path)), found, cache)


def _read_npy(path: PathLike) -> dict[str, Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as problem:
        raise DataError(
            f"this is not a readable .npy file of numbers: {without_pickle_advice(problem)}", file=str(path)
        ) from problem
    found: dict[str, Any] = {"vectors" if array.ndim == 2 else "regions": array}
    for beside in (Path(path).with_suffix(".ids.txt"), Path(path).with_suffix(".ids.json")):
        if beside.is_file():
            try:
                text = beside.read_text(encoding="utf-8")
                found["ids"] = text.split("\n") if beside.suffix == ".txt" else json.loads(text)
            except ValueError as problem:
                raise DataError(f"the ids cannot be read: {problem}", file=str(beside)) from problem
            if beside.suffix == ".txt" and found["ids"][-1] == "":
                found["ids"].pop()
            return found
    name = Path(path).stem
    raise DataError(f"the ids are missing: put them, one a line, into {name}.ids.txt beside the array", file=str(path))


def _read_npz(path: PathLike) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in _NAMES if name in archive.files}
    except Exception as problem:  # zipfile and zlib errors beside NumPy's own
        raise DataError(
            f"this is not a readable .npz file: {without_pickle_advice(problem)}. Save ids as strings",
            file=str(path),
        ) from problem


def _read_h5(path: PathLike) -> dict[str, Any]:
    try:
        h5py = import_module("h5py")
    except ImportError:
        raise MissingExtra("Reading .h5 features", "h5") from None
    try:
        file = h5py.File(path, "r")
    except OSError as problem:
        raise DataError(f"this is not a readable HDF5 file: {problem}", file=str(path)) from problem
    found = {name: file[name] for name in _NAMES if isinstance(file.get(name), h5py.Dataset)}
    if "ids" in found:
        found["ids"] = found["ids"][()]
    return found


def _ids(values: Any, source: str) -> list[str]:
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(listed, list) or not all(isinstance(each, str | bytes | int) for each in listed):
        raise DataError("ids must be a list of strings or whole numbers", file=source)
    try:
        return [each.decode() if isinstance(each, bytes) else str(each) for each in listed]
    except UnicodeDecodeError:
        raise DataError("ids are not UTF-8", file=source) from None
