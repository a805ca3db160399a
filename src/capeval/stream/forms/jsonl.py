"""Shards as JSON lines. A line stays as it is; scores are added at the end of its object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any

import msgspec

from capeval.io.captions.table import describe
from capeval.io.files import after_mark
from capeval.stream.folder import Writing
from capeval.stream.forms.base import BLOCK_BYTES, BLOCK_ROWS, defined, opened, refuse_repeated
from capeval.stream.forms.packing import packed
from capeval.types import Array, Flags


class JsonRows:
    def __init__(self, lines: list[bytes], begin: int) -> None:
        self.lines, self.begin = lines, begin
        self.broken: dict[int, str] = {}
        self.objects: list[dict[str, Any]] = [self._decoded(i, line) for i, line in enumerate(lines)]

    def _decoded(self, row: int, line: bytes) -> dict[str, Any]:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            self.broken[row] = f"broken JSON: {problem}"
            return {}
        if not isinstance(found, dict):
            self.broken[row] = f"a JSON object is needed, not {describe(found)}"
            return {}
        return found

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> Sequence[Any]:
        return [each.get(name) for each in self.objects]


class JsonlReader:
    binary: frozenset[str] = frozenset()

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self.path, self._blocks = path, _blocks(stream)
        first = next(self._blocks, None)
        self._first = [first] if first else []
        self.header: list[str] = list(dict.fromkeys(chain.from_iterable(first.objects))) if first else []

    def blocks(self) -> Iterator[JsonRows]:
        return chain(self._first, self._blocks)

    def writer(self, stream: Writing, labels: Sequence[str]) -> JsonlWriter:
        refuse_repeated(self.header, labels, self.path)
        return JsonlWriter(packed(stream, self.path))


def _blocks(stream: IO[bytes]) -> Iterator[JsonRows]:
    lines, size, begin = list[bytes](), 0, 0
    for line in stream:
        if line.isspace():
            continue
        lines.append(line)
        size += len(line)
        if len(lines) >= BLOCK_ROWS or size >= BLOCK_BYTES:
            yield JsonRows(lines, begin)
            lines, size, begin = [], 0, begin + len(lines)
    if lines:
        yield JsonRows(lines, begin)


class JsonlWriter:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, rows: JsonRows, scores: Mapping[str, Array], keep: Flags) -> None:
        names = [msgspec.json.encode(name) + b":" for name in scores]
        columns = [[msgspec.json.encode(defined(value)) for value in values.tolist()] for values in scores.values()]
        written = []
        for i, line in enumerate(rows.lines):
            if keep[i]:
                added = b",".join(name + column[i] for name, column in zip(names, columns))
                start = line.rstrip()[:-1].rstrip()
                written.append(start + (b"," if rows.objects[i] and added else b"") + added + b"}\n")
        self._stream.write(b"".join(written))

    def close(self) -> None:
        self._stream.close()


@contextmanager
def opened_jsonl(path: str) -> Iterator[JsonlReader]:
    with opened(path) as stream:
        yield JsonlReader(path, after_mark(stream))
