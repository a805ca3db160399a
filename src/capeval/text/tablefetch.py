"""Fetching METEOR's paraphrase table: one file out of the public wheel of pycocoevalcap, and nothing else of it.

Where the server answers range requests only that file travels; else the wheel does, and is removed at once.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from capeval.errors import DataError
from capeval.io.assets import known_asset, place_in_cache
from capeval.io.cache import built_once, sha256_of
from capeval.io.download import Remote, connected
from capeval.run import Run
from capeval.text.paraphrase import ASSET, KEPT, TABLE

MEMBER = f"pycocoevalcap/meteor/data/{TABLE}"
NOTICE = (
    "The paraphrase table of METEOR 1.5 is the work of Michael Denkowski, Carnegie Mellon University, under the GNU "
    "Lesser General Public License, version 2.1 (https://www.cs.cmu.edu/~alavie/METEOR/). It is kept in your cache and "
    "is not part of capeval."
)


def fetch_table(url: str | None = None, run: Run | None = None, *, sha256: str = "", pause: float = 1.0) -> Path:
    """Fetches the table into the cache; returns where it is. What is there already, and right, is kept.

    The address is that of the wheel, or of a copy. `sha256` is the table's, if it is to be another than the known one.
    `pause` is the time in seconds before a broken connection is tried again; it doubles each time.
    """
    run, asset = run or Run(), known_asset(ASSET)
    address, size = url or asset.url, asset.files[0].size
    wanted = sha256 or asset.files[0].sha256

    def build(stream: IO[bytes]) -> None:
        digest = hashlib.sha256()
        with connected(address, pause) as remote, run.progress.bar("fetching", size, "bytes") as show:
            remote.show = show
            try:
                with _opened(remote) as wheel, wheel.open(MEMBER) as table:
                    while block := table.read(1 << 20):
                        digest.update(block)
                        stream.write(block)
            except KeyError:
                raise DataError(
                    f"no {MEMBER} is in it; the wheel of pycocoevalcap 1.2 is needed", file=address
                ) from None
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
                raise DataError(f"what the server sent is damaged: {error}", file=address) from None
        if digest.hexdigest() != wanted:
            raise DataError("what the server sent is another table: its checksum is not right", file=address)

    path = place_in_cache(ASSET, run) / KEPT
    built_once(path, lambda p: p.is_file() and sha256_of(p) == wanted, build)
    return path


@contextmanager
def _opened(remote: Remote) -> Iterator[zipfile.ZipFile]:
    if remote.has_ranges():
        with zipfile.ZipFile(remote.window()) as wheel:
            yield wheel
        return
    with tempfile.TemporaryFile() as whole:
        for block in remote.blocks():
            whole.write(block)
        with zipfile.ZipFile(whole) as wheel:
            yield wheel
