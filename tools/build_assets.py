"""Writes src/capeval/data/assets.json, the table of assets, from the packages that hold them.

Run `python tools/build_assets.py` after a file in `packages` has come, gone or changed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from capeval.io.assets import Asset, AssetFile
from capeval.io.cache import sha256_of

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "src" / "capeval" / "data" / "assets.json"
GRAMMAR = Asset(
    name="spice-grammar",
    kind="grammar",
    licence="GPL-3.0-or-later, Stanford NLP Group; not part of capeval",
    files=(
        AssetFile("englishPCFG.ser.gz", "ed674cce7311f76c018806e61cdb045e219258ee30014da4e3e686b9230ebea9", 1883795),
    ),
    kept_as="english.grammar",
    url="https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip",
)
TABLE = Asset(
    name="meteor-table",
    kind="paraphrases",
    licence="LGPL-2.1, Carnegie Mellon University; not part of capeval",
    files=(
        AssetFile("paraphrase-en.gz", "c147ac7d2c91f2fbb3ad31e4b352235061eb83145e0434daf217ee9ca5975f48", 61813011),
    ),
    kept_as="english.paraphrases",
    url="https://files.pythonhosted.org/packages/08/f9/466f289f1628296b5e368940f89e3cfcfb066d15ddc02ff536dc532b1c93/"
    "pycocoevalcap-1.2-py3-none-any.whl",
    extra="meteor",
)


def build() -> bytes:
    """The table's content."""
    packages = sorted(path for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").is_file())
    folders = [path for package in packages for path in sorted(package.iterdir()) if _is_asset(path)]
    table = [*map(_described, folders), TABLE, GRAMMAR]
    return msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n"


def _is_asset(path: Path) -> bool:
    return path.is_dir() and path.name[0] not in "._"


def _described(folder: Path) -> Asset:
    files = [AssetFile(path.name, sha256_of(path), path.stat().st_size) for path in sorted(folder.iterdir())]
    is_checkpoint = (folder / "config.json").is_file()
    return Asset(
        name=folder.name,
        kind="checkpoint" if is_checkpoint else "encoder",
        licence="Apache-2.0",
        files=tuple(files),
        extra="learned",
    )


if __name__ == "__main__":
    OUTPUT.write_bytes(build())
