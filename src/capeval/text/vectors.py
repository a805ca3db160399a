"""Word vectors: the table that comes with capeval, and any GloVe, word2vec or fastText file.

A file of vectors is read once, line by line, and turned into a table in the user's cache directory. A table is mapped
into memory and searched there, so that opening millions of vectors costs nothing and only the words that occur are
ever read.
"""

from __future__ import annotations

import hashlib
import logging
import os
from functools import lru_cache
from pathlib import Path
from typing import IO

from capeval.errors import DataError, UnknownName
from capeval.io.cache import built_once
from capeval.io.shipped import shipped
from capeval.run import Run
from capeval.text import vectorfiles
from capeval.text.vectortable import MAGIC, Vectors, is_table, open_table, write_table

_log = logging.getLogger(__name__)


def load_vectors(source: str, run: Run | None = None) -> Vectors:
    """Vectors by the name of a built-in table or by the path of a file."""
    return _load_once(source, (run or Run()).cache)


@lru_cache(maxsize=4)
def _load_once(source: str, cache: Path) -> Vectors:
    builtin = {path.stem: path for path in shipped("vectors").glob("*.vectors")}
    if source in builtin:
        return open_table(builtin[source])
    if not Path(source).exists() and "/" not in source and not Path(source).suffix:
        raise UnknownName("word vectors (neither built in nor a file)", source, builtin)
    return open_table(source) if is_table(source) else _cached(source, cache)


def _cached(source: str, cache: Path) -> Vectors:
    """The table made from a file of vectors; the file is read again only when its size or time has changed."""
    state = os.stat(source)
    facts = [os.path.realpath(source), str(state.st_size), str(state.st_mtime_ns), MAGIC.decode()]
    key = hashlib.blake2b("\0".join(facts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    table = cache / "vectors" / f"{key}.vectors"

    def build(target: IO[bytes]) -> None:
        _log.info("%s: reading word vectors, once; the table will be %s", source, table)
        with vectorfiles.opened_vectors(source) as stream:
            found = vectorfiles.first_look(stream, source)
            write_table(target, found.dimensions, vectorfiles.usable_chunks(found, source))

    try:
        return open_table(built_once(table, _is_good, build))
    except OSError as error:
        raise DataError(f"the table of {source} cannot be written: {error.strerror}", file=str(table)) from error


def _is_good(table: Path) -> bool:
    try:
        open_table(table)
    except DataError:
        return False
    return True
