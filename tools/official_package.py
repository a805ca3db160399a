"""Where the developer tools find the official evaluation package: installed, but never imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

VERSION = "1.2"


def folder() -> Path:
    """The folder of the installed pycocoevalcap, whose files define the tables that capeval ships."""
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(
            f"pycocoevalcap is not installed: pip install pycocoevalcap=={VERSION}, or give the jar's path"
        )
    version = importlib.metadata.version("pycocoevalcap")
    if version != VERSION:
        raise SystemExit(f"pycocoevalcap {version} is installed, but the tables are defined by {VERSION}")
    return Path(spec.submodule_search_locations[0])
