"""Fetching the SPICE grammar: 1.9 MB out of a jar, or out of Stanford's archive that holds the jar.

Where the server answers range requests, only the needed parts travel. Where it does not, or where the jar is packed
inside the archive, the stream is read up to the grammar and nothing else is kept.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from capeval.errors import DataError
from capeval.io.assets import known_asset
from capeval.io.download import Remote, connected
from capeval.run import Run
from capeval.scene.official.grammar import ASSET, MEMBER, store_grammar

NOTICE = (
    "The grammar englishPCFG of Stanford CoreNLP 3.6.0 is the work of the Stanford NLP Group, under the GNU General "
    "Public License, version 3 or later (https://nlp.stanford.edu/software/lex-parser.html). It is kept in your cache "
    "and is not part of capeval."
)

_MAX_GRAMMAR = 1 << 25
_JAR = "-models.jar"
# The header before each member of an archive, up to the name, for the two members that are looked for.
_HEADER = re.compile(
    rb"PK\x03\x04.{4}(?P<method>..).{8}(?P<packed>.{4}).{4}(?P<name_size>..)(?P<extra_size>..)"
    rb"(?P<name>" + re.escape(MEMBER.encode()) + rb"|[^\0]{0,200}?" + re.escape(_JAR.encode()) + rb")",
    re.DOTALL,
)
_LONGEST_HEADER = 512


def fetch_grammar(
    url: str | None = None, run: Run | None = None, *, allow_other: bool = False, pause: float = 1.0
) -> Path:
    """Fetches the grammar and puts it into the cache; returns where it is.

    The address may be that of a CoreNLP 3.6.0 models jar, of an archive that holds one, or of englishPCFG.ser.gz.
    `pause` is the time in seconds before a broken connection is tried again; it doubles each time.
    """
    run, address = run or Run(), url or known_asset(ASSET).url
    try:
        with connected(address, pause) as remote, run.progress.bar("fetching", None, "bytes") as show:
            remote.show = show
            original = _fetch(remote)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        raise DataError(f"what the server sent is damaged: {error}", file=address) from None
    if original is None:
        raise DataError(f"no {MEMBER} is in it; a models jar of CoreNLP 3.6.0 is needed", file=address)
    return store_grammar(original, address, run, allow_other=allow_other)


def _fetch(remote: Remote) -> bytes | None:
    if urlsplit(remote.url).path.endswith(".ser.gz"):
        return _joined(remote.blocks())
    if remote.has_ranges():
        return _by_ranges(remote)
    return _in_stream(remote.blocks())


def _by_ranges(remote: Remote) -> bytes | None:
    with zipfile.ZipFile(remote.window()) as archive:
        if MEMBER in archive.namelist():
            return _member(archive)
        jar = next((entry for entry in archive.infolist() if entry.filename.endswith(_JAR)), None)
    if jar is None:
        return None
    if jar.compress_type != zipfile.ZIP_STORED:
        # Packed within the archive: there is no way into the middle, so it is unpacked from its beginning.
        return _in_stream(remote.blocks(jar.header_offset))
    name_size, extra_size = struct.unpack("<26x2H", remote.window(jar.header_offset, 30).read())
    begin = jar.header_offset + 30 + name_size + extra_size
    with zipfile.ZipFile(remote.window(begin, jar.file_size)) as archive:
        return _member(archive) if MEMBER in archive.namelist() else None


def _member(archive: zipfile.ZipFile) -> bytes:
    if archive.getinfo(MEMBER).file_size > _MAX_GRAMMAR:
        raise zipfile.BadZipFile(f"{MEMBER} is too large for a grammar")
    return archive.read(MEMBER)


def _in_stream(blocks: Iterable[bytes]) -> bytes | None:
    """The grammar in an archive that is read from front to back, or in a models jar inside of it.

    Headers are looked for anywhere: those in a jar that is stored are in plain sight.
    """
    stream, seen = iter(blocks), b""
    for block in stream:
        seen += block
        for found in _HEADER.finditer(seen):
            method, packed, name_size, extra_size = struct.unpack("<HIHH", b"".join(found.groups()[:4]))
            if name_size != len(found["name"]):
                continue
            content = _skipped(chain([seen[found.end() :]], stream), extra_size)
            if method == zipfile.ZIP_DEFLATED:
                content = _inflated(content)
            elif found["name"] == MEMBER.encode():
                content = _first(content, packed)
            else:
                continue
            return _joined(content) if found["name"] == MEMBER.encode() else _in_stream(content)
        seen = seen[-_LONGEST_HEADER:]
    return None


def _skipped(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    for block in blocks:
        yield block[size:]
        size = max(0, size - len(block))


def _first(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    for block in blocks:
        yield block[:size]
        size -= len(block)
        if size <= 0:
            return
    raise EOFError("the archive ends too early")


def _inflated(packed: Iterable[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for block in packed:
        yield inflater.decompress(block)
        if inflater.eof:
            return
    raise EOFError("the packed data ends too early")


def _joined(blocks: Iterable[bytes]) -> bytes:
    parts, size = [], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > _MAX_GRAMMAR:
            raise EOFError("more data than a grammar can have")
    return b"".join(parts)
