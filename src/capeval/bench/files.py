"""Reading the JSON files of benchmarks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom


def read_json(path: Path, kind: type[list[Any]] | type[dict[str, Any]], fields: Sequence[str] = ()) -> Any:
    """A JSON document that must be of a kind (list or dict), and whose entries must be objects with these fields."""
    document: Any
    try:
        document = json.loads(utf8_without_bom(read_bytes(path), str(path)))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"broken JSON: {problem}", file=str(path)) from None
    if not isinstance(document, kind):
        raise DataError(f"a JSON {kind.__name__} is needed, not a {type(document).__name__}", file=str(path))
    if fields:
        for number, entry in enumerate(document, 1):
            lacking = [name for name in fields if not isinstance(entry, dict) or name not in entry]
            if lacking:
                raise DataError(f"entry {number} lacks {', '.join(lacking)}", file=str(path))
    return document
