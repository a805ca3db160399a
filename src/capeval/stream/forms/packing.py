"""What is written is packed as what is read was named."""

from __future__ import annotations

import gzip
import io
from typing import Any, cast

from capeval.stream.folder import Writing, without_query


class _Open(io.RawIOBase):
    """Closing it leaves the file open for its owner."""

    def __init__(self, stream: Writing) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


def packed(stream: Writing, path: str) -> Any:
    """A stream to write to, and to close before the file is complete."""
    if not without_query(path).lower().endswith((".gz", ".tgz")):
        return cast(Any, _Open(stream))
    # No name and no time inside, so that the same rows give the same bytes.
    return gzip.GzipFile(filename="", fileobj=cast(Any, stream), mode="wb", mtime=0, compresslevel=6)
