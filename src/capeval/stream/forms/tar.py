"""Shards as tar files of samples (webdataset): `KEY.jpg`, `KEY.txt`, `KEY.json` are one sample.

Its columns are the parts by their ending and the fields of its JSON object. Scores are one more, `KEY.scores.json`.
"""

from __future__ import annotations

import copy
import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any, NamedTuple, cast

import msgspec

from capeval.errors import DataError
from capeval.runtime.extract import ENDINGS
from capeval.stream.folder import Writing
from capeval.stream.forms.base import BLOCK_BYTES, BLOCK_ROWS, defined, opened, refuse_repeated
from capeval.stream.forms.packing import packed
from capeval.types import Array, Flags

_LARGEST_PART = 1 << 28
SCORES = "scores.json"


class Part(NamedTuple):
    info: tarfile.TarInfo
    data: bytes


class Sample:
    def __init__(self, key: str) -> None:
        self.key = key
        self.parts: dict[str, Part] = {}
        self.fields: dict[str, Any] = {}
        self.problem = ""

    def decode(self) -> None:
        self.fields = {"__key__": self.key}
        for ending, part in self.parts.items():
            if ending == "json":
                self._add_object(part.data)
        for ending, part in self.parts.items():
            if ending in ("txt", "caption", "text"):
                self.fields[ending] = part.data.decode("utf-8", "replace").rstrip("\n")
            elif f".{ending}" in ENDINGS:
                self.fields[ending] = part.data

    def _add_object(self, data: bytes) -> None:
        try:
            found = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            self.problem = f"broken JSON: {problem}"
            return
        if isinstance(found, dict):
            self.fields |= {key: value for key, value in found.items() if key not in self.fields}


class TarRows:
    def __init__(self, samples: list[Sample], begin: int) -> None:
        self.samples, self.begin = samples, begin
        self.broken = {i: each.problem for i, each in enumerate(samples) if each.problem}

    def __len__(self) -> int:
        return len(self.samples)

    def column(self, name: str) -> Sequence[Any]:
        return [each.fields.get(name) for each in self.samples]


class TarReader:
    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self.path = path
        self._blocks = self._read(stream)
        first = next(self._blocks, None)
        self._first = [first] if first else []
        fields = [each.fields for each in first.samples] if first else []
        self.header: list[str] = list(dict.fromkeys(chain.from_iterable(fields)))
        self.binary = frozenset(name for each in fields for name, value in each.items() if isinstance(value, bytes))

    def blocks(self) -> Iterator[TarRows]:
        return chain(self._first, self._blocks)

    def _read(self, stream: IO[bytes]) -> Iterator[TarRows]:
        ready, size, begin = list[Sample](), 0, 0
        for sample in samples(stream, self.path):
            sample.decode()
            ready.append(sample)
            size += sum(len(part.data) for part in sample.parts.values())
            if len(ready) >= BLOCK_ROWS or size >= BLOCK_BYTES:
                yield TarRows(ready, begin)
                ready, size, begin = [], 0, begin + len(ready)
        if ready:
            yield TarRows(ready, begin)

    def writer(self, stream: Writing, labels: Sequence[str]) -> TarWriter:
        refuse_repeated(self.header, labels, self.path)
        return TarWriter(packed(stream, self.path))


class _Tail:
    """Remembers how a stream ends: a tar file with a block of zeros, which `tarfile` does not miss."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._last = stream, b""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._last = (self._last + data)[-tarfile.BLOCKSIZE :] if data else self._last
        return data

    def zeros(self) -> bool:
        while self.read(1 << 20):
            pass
        return self._last == bytes(tarfile.BLOCKSIZE)


def samples(stream: IO[bytes], path: str) -> Iterator[Sample]:
    """Parts of one sample stand together."""
    current: Sample | None = None
    ending_with = _Tail(stream)
    try:
        with tarfile.open(
            fileobj=cast(IO[bytes], ending_with), mode="r|", encoding="utf-8", errors="surrogateescape"
        ) as archive:
            for info in archive:
                if not info.isfile():
                    continue
                if info.size > _LARGEST_PART:
                    raise DataError(f"{info.name} has {info.size:,} bytes: too large for a part of a sample", file=path)
                folder, _, name = info.name.rpartition("/")
                stem, _, ending = name.partition(".")
                key = f"{folder}/{stem}" if folder else stem
                if current is None or current.key != key:
                    if current is not None:
                        yield current
                    current = Sample(key)
                source = archive.extractfile(info)
                data = source.read() if source else b""
                if len(data) != info.size:
                    raise tarfile.ReadError("unexpected end of data")
                current.parts[ending.lower()] = Part(info, data)
        if not ending_with.zeros():
            raise tarfile.ReadError("the end is missing")
    except (tarfile.TarError, EOFError) as problem:
        raise DataError(f"not a readable tar file, or cut short: {problem}", file=path) from problem
    if current is not None:
        yield current


class TarWriter:
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._archive = tarfile.open(  # noqa: SIM115 - closed by `close`
            fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        )

    def write(self, rows: TarRows, scores: Mapping[str, Array], keep: Flags) -> None:
        columns = {name: values.tolist() for name, values in scores.items()}
        for i, sample in enumerate(rows.samples):
            if not keep[i]:
                continue
            for info, data in sample.parts.values():
                self._archive.addfile(copy.copy(info), io.BytesIO(data))
            data = msgspec.json.encode({name: defined(values[i]) for name, values in columns.items()})
            own = tarfile.TarInfo(f"{sample.key}.{SCORES}")
            own.size = len(data)
            self._archive.addfile(own, io.BytesIO(data))

    def close(self) -> None:
        self._archive.close()
        self._stream.close()


@contextmanager
def opened_tar(path: str) -> Iterator[TarReader]:
    with opened(path) as stream:
        yield TarReader(path, stream)
