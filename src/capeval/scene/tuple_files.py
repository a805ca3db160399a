"""Tuples of captions from a file that the user brings."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from capeval.engine.graph_types import SceneTuple
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.scene.graph import graph_from_json, tuples_of_caption


class _Entry(msgspec.Struct):
    """A line of the file: `tuples`, or `sentences` with graphs to take them from."""

    caption: str
    tuples: list[list[str]] | None = None
    sentences: list[dict[str, Any]] | None = None


def tuples_from_file(path: str, captions: list[str]) -> list[list[SceneTuple]]:
    """The tuples of each tokenised caption. A caption without words has none, whatever the file says."""
    wanted = dict.fromkeys(caption for caption in captions if caption)
    found = _read(path, wanted)
    missing = [caption for caption in wanted if caption not in found]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(wanted)} distinct captions have no entry; the first is {missing[0]!r}. Captions "
            "are looked up as the tokenizer gives them, words and spaces",
            file=path,
        )
    return [found.get(caption, []) for caption in captions]


def file_digest(path: str) -> str:
    """Hash of the content, for signatures."""
    file = Path(path)
    return _digest_once(str(file.absolute()), file.stat().st_mtime_ns if file.exists() else 0)


@lru_cache(maxsize=4)
def _digest_once(path: str, changed: int) -> str:
    return hashlib.blake2b(read_bytes(path), digest_size=8).hexdigest()


def _read(path: str, wanted: dict[str, None]) -> dict[str, list[SceneTuple]]:
    decode = msgspec.json.Decoder(_Entry).decode
    found: dict[str, list[SceneTuple]] = {}
    for number, line in enumerate(utf8_without_bom(read_bytes(path), path).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = decode(line)
        except msgspec.DecodeError as problem:
            raise DataError(f"not an entry with a caption and its tuples: {problem}", file=path, line=number) from None
        if entry.caption not in wanted:
            continue
        tuples = _tuples(entry, path, number)
        if found.setdefault(entry.caption, tuples) != tuples:
            raise DataError(f"{entry.caption!r} was given other tuples before", file=path, line=number)
    return found


def _tuples(entry: _Entry, path: str, line: int) -> list[SceneTuple]:
    if entry.tuples is not None:
        if not all(1 <= len(each) <= 3 for each in entry.tuples):
            raise DataError("a tuple has one, two or three parts", file=path, line=line)
        return [tuple(each) for each in entry.tuples]
    if entry.sentences is None:
        raise DataError(f"{entry.caption!r} has neither tuples nor sentences", file=path, line=line)
    try:
        return tuples_of_caption(map(graph_from_json, entry.sentences))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        raise DataError(f"the graph of {entry.caption!r} cannot be read: {problem!r}", file=path, line=line) from None
