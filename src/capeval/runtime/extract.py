"""Extracting features: from picture files into a store, with all cores, and on from where an earlier run stopped."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capeval.errors import CapevalError, DataError
from capeval.io.features import Floats, StoredFeatures
from capeval.io.featurestore import BLOCK, HASH_BYTES, Layout, StoreWriter, is_store
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.runtime.encoder import BATCH, Encoder, prepare, read_picture, require_pillow

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


class _Batch(NamedTuple):
    ids: list[str]
    hashes: list[bytes]
    vectors: Floats
    regions: npt.NDArray[np.float16] | None
    known: int
    bad: list[DataError]


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
    encoder: Encoder | PathLike = "lite0",
    regions: bool = False,
    on_error: str = "fail",
    run: Run | None = None,
    shared: bool = False,
) -> Extracted:
    """Adds the features of pictures, given by id, to a store; those it has already, with the same content, are kept.

    A new store appears under its name when it is complete; until then it is `NAME.part`, from which the next call goes
    on. A store that is there grows in place. A `shared` one, in the cache, always does, and is waited for where another
    process is writing to it.
    """
    if on_error not in ("fail", "skip"):
        raise CapevalError(f"on_error is {on_error!r}; it must be fail or skip")
    require_pillow()
    run = run or Run()
    network = encoder if isinstance(encoder, Encoder) else Encoder(encoder, run)
    target = Path(output)
    if target.exists() and not is_store(target):
        raise DataError("this file is not a feature store and is not overwritten", file=str(target))
    path = target if shared or target.exists() else target.with_name(f"{target.name}.part")
    cells, dim = network.shape
    grid = tuple(tuple(box) for box in network.boxes().tolist()) if regions else ()
    with StoreWriter(path, Layout(network.name, dim, cells if regions else 0, grid), wait=shared) as writer:
        # Only after the lock is held: another process might have added rows.
        there = StoredFeatures(path).hashes
        worker = _Worker(network, regions, there)
        with warnings.catch_warnings(), run.progress.bar("reading pictures", len(pictures), "pictures") as show:
            remedy = "" if shared else "skip_pictures"
            warnings.simplefilter("ignore")  # Pillow's remarks about odd files; bad ones are errors of our own
            done = _write(worker.run(list(pictures.items()), run.threads), writer, on_error, remedy, show)
    if path != target and done.added + done.there:
        os.replace(path, target)
    return done


class _Worker:
    """Reads, decodes and encodes a few pictures; runs in several threads at once."""

    def __init__(self, encoder: Encoder, regions: bool, there: Mapping[str, bytes]) -> None:
        self.encoder, self.wants_regions, self.there = encoder, regions, there

    def run(self, pictures: Sequence[tuple[str, PathLike]], threads: int) -> Iterator[_Batch]:
        """Batches in the order of the pictures; a few are worked on ahead of what is taken."""
        parts = (pictures[start : start + BATCH] for start in range(0, len(pictures), BATCH))
        pool = ThreadPoolExecutor(threads)
        waiting: deque[Future[_Batch]] = deque()
        try:
            for part in parts:
                waiting.append(pool.submit(self.encode, part))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def encode(self, part: Sequence[tuple[str, PathLike]]) -> _Batch:
        ids, hashes, pixels, bad, known = [], [], [], [], 0
        for key, path in part:
            try:
                data = read_picture(path)
                digest = content_hash(data)
                if self.there.get(key) == digest:
                    known += 1
                    continue
                pixels.append(prepare(data, self.encoder.side, str(path)))
            except DataError as problem:
                bad.append(problem)
                continue
            ids.append(key)
            hashes.append(digest)
        vectors, regions = np.empty((0, self.encoder.shape[1]), np.float32), None
        if pixels:
            vectors, found = self.encoder.encode(np.stack(pixels))
            regions = found.astype(np.float16) if self.wants_regions else None  # half the memory while it waits
        return _Batch(ids, hashes, vectors, regions, known, bad)


def _write(
    batches: Iterable[_Batch], writer: StoreWriter, on_error: str, remedy: str, show: Callable[[int], None]
) -> Extracted:
    added, there, bad, ready = 0, 0, [], _Ready(writer)
    with closing(batches) as several:  # type: ignore[type-var]
        for batch in several:
            if batch.bad and on_error == "fail":
                ready.flush()
                raise DataError(str(batch.bad[0]), remedy=remedy)
            bad += [str(problem) for problem in batch.bad]
            added, there = added + len(batch.ids), there + batch.known
            ready.put(batch)
            show(added + there + len(bad))
    ready.flush()
    return Extracted(added, there, bad)


class _Ready:
    """Collects batches, so that the disk is asked once a block."""

    def __init__(self, writer: StoreWriter) -> None:
        self.writer, self.batches = writer, list[_Batch]()

    def put(self, batch: _Batch) -> None:
        if batch.ids:
            self.batches.append(batch)
        if sum(len(each.ids) for each in self.batches) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        if not self.batches:
            return
        several, self.batches = self.batches, []
        regions = [each.regions for each in several if each.regions is not None]
        self.writer.add(
            [key for each in several for key in each.ids],
            [digest for each in several for digest in each.hashes],
            np.concatenate([each.vectors for each in several]),
            np.concatenate(regions) if regions else None,
        )
