"""Extracting features: from picture files into a store, with all cores, and on from where an earlier run stopped."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from capeval.errors import CapevalError, DataError
from capeval.io.featurestore import BLOCK, HASH_BYTES, Encoded, Store, is_store
from capeval.io.files import PathLike
from capeval.io.locks import lock_file, locked
from capeval.run import Run
from capeval.runtime.encoder import BATCH, Encoder, picture_name, prepare, read_picture, require_pillow

ENDINGS = {
    ".avif", ".bmp", ".gif", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp",
}  # fmt: skip


class Extracted(NamedTuple):
    """What an extraction did."""

    added: int
    there: int
    """Pictures that the store had already."""
    bad: list[str]
    """What is wrong with each picture that was left out, with its file's name."""


class Looked(NamedTuple):
    """What became of one picture."""

    key: str
    hash: bytes = b""
    encoded: Encoded | None = None
    """None for a picture that was known, or is bad."""
    problem: DataError | None = None


def find_pictures(folder: PathLike) -> dict[str, Path]:
    """The picture files below a folder by their stem, in order of their names; hidden ones are passed over."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError("there is no such folder of pictures", file=str(folder))
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if name.startswith(".") or path.suffix.lower() not in ENDINGS:
                continue
            if (other := found.setdefault(path.stem, path)) is not path:
                raise DataError(f"two pictures have the id {path.stem!r}: {other} and {path}. Move or rename one")
    if not found:
        raise DataError(f"there are no pictures ({' '.join(sorted(ENDINGS))})", file=str(folder))
    return dict(sorted(found.items()))


def content_hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest()


def extract(
    pictures: Mapping[str, PathLike],
    output: PathLike,
    *,
    encoder: Encoder | PathLike | None = None,
    regions: bool = False,
    on_error: str = "fail",
    run: Run | None = None,
) -> Extracted:
    """Adds the features of pictures, given by id, to a store; those it has already, with the same content, are kept.

    A new store appears under its name when it is complete; until then it is `NAME.part`, from which the next call goes
    on. A store that is there grows in place.
    """
    if on_error not in ("fail", "skip"):
        raise CapevalError(f"on_error is {on_error!r}; it must be fail or skip")
    require_pillow()
    run = run or Run()
    network = encoder if isinstance(encoder, Encoder) else Encoder(encoder, run)
    target = Path(output)
    if target.exists() and not is_store(target):
        raise DataError("this file is not a feature store and is not overwritten", file=str(target))
    with _alone_with(target):
        path = target if target.exists() else target.with_name(f"{target.name}.part")
        writer = _Writer(Store(path), network, regions)
        with run.progress.bar("reading pictures", len(pictures), "pictures") as show:
            done = writer.write(pictures, run.threads, on_error, show)
        if path != target and done.added + done.there:
            os.replace(path, target)
    return done


@contextmanager
def _alone_with(target: Path) -> Iterator[None]:
    """Two that write the same store would do the work twice. No lock file is left beside the user's store."""
    with locked(target, wait=False):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes it later, by itself
                lock_file(target).unlink()


class _Writer:
    """Adds pictures to a store that has features of the same kind, or none."""

    def __init__(self, store: Store, encoder: Encoder, regions: bool) -> None:
        self.store, self.encoder, self.regions = store, encoder, regions
        store.add(encoder.name, [])  # begins a new one
        _refuse_other(store, encoder.name, regions)
        self.images = store.images()
        self.known = store.hashes(encoder.name, "regions" if regions else "vector")
        boxes = encoder.boxes() if regions else np.empty((0, 4))
        self.boxes = boxes if len(boxes) else None
        self.ready: list[Looked] = []

    def write(
        self, pictures: Mapping[str, PathLike], threads: int, on_error: str, show: Callable[[int], None]
    ) -> Extracted:
        added, there, bad = 0, 0, list[str]()

        def take(picture: Looked) -> None:
            nonlocal added, there
            if picture.problem and on_error == "fail":
                self.flush()
                raise DataError(str(picture.problem), remedy="skip_pictures")
            if picture.problem:
                bad.append(str(picture.problem))
            elif self.images.get(picture.key) == picture.hash:
                there += 1
            else:
                added += 1
                self.put(picture)
            show(added + there + len(bad))

        look_at(list(pictures.items()), self.encoder, threads, self.known.intersection, take)
        self.flush()
        return Extracted(added, there, bad)

    def put(self, picture: Looked) -> None:
        self.ready.append(picture)
        if len(self.ready) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        images = {each.key: each.hash for each in self.ready}
        new = (each.encoded for each in self.ready if each.encoded)
        kept = [each._replace(boxes=self.boxes) if self.regions else each._replace(regions=None) for each in new]
        self.store.add(self.encoder.name, kept, images)
        self.ready = []


def _refuse_other(store: Store, encoder: str, regions: bool) -> None:
    others = [name for name in store.encoders() if name != encoder]
    if others:
        message = f"the store was made by encoder {others[0]}, not by {encoder}. Write to another file"
        raise DataError(message, file=str(store.path))
    if store.sizes(encoder, "vector") and bool(store.sizes(encoder, "regions")) != regions:
        has = "no regions" if regions else "regions"
        message = f"the store has {has}, which is not what is asked for. Write to another file"
        raise DataError(message, file=str(store.path))


def look_at(
    pictures: Sequence[tuple[str, PathLike | bytes]],
    encoder: Encoder,
    threads: int,
    known: Callable[[Sequence[bytes]], Collection[bytes]],
    take: Callable[[Looked], None],
) -> None:
    """Reads, decodes and encodes pictures in several threads, and hands them on in their order.

    Those whose hashes `known` gives back are not encoded. `take` is called in this thread.
    """
    parts = (pictures[start : start + BATCH] for start in range(0, len(pictures), BATCH))
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[list[Looked]]] = deque()

    def take_next() -> None:
        for each in waiting.popleft().result():
            take(each)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks about odd files; bad ones are errors of our own
        try:
            for part in parts:
                waiting.append(pool.submit(_look_at_some, part, encoder, known))
                if len(waiting) > 2 * threads:  # no further ahead: pictures that wait take memory
                    take_next()
            while waiting:
                take_next()
        finally:
            pool.shutdown(cancel_futures=True)


def _look_at_some(
    pictures: Sequence[tuple[str, PathLike | bytes]],
    encoder: Encoder,
    known: Callable[[Sequence[bytes]], Collection[bytes]],
) -> list[Looked]:
    found = {key: Looked(key) for key, _ in pictures}
    files: dict[str, bytes] = {}
    for key, path in pictures:
        try:
            files[key] = read_picture(path)
            found[key] = Looked(key, content_hash(files[key]))
        except DataError as problem:
            found[key] = Looked(key, problem=problem)
    there = known([found[key].hash for key in files])
    pixels = {}
    for key, path in pictures:
        if key in files and found[key].hash not in there:
            try:
                pixels[key] = prepare(files[key], encoder.side, picture_name(path))
            except DataError as problem:
                found[key] = Looked(key, problem=problem)
    if pixels:
        vectors, regions = encoder.encode(np.stack(list(pixels.values())))
        for key, vector, own in zip(pixels, vectors, regions):
            halfs = Encoded(found[key].hash, vector.astype(np.float16), own.astype(np.float16))
            found[key] = found[key]._replace(encoded=halfs)
    return list(found.values())
