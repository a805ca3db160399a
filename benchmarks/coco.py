"""COCO val2014 captions for benchmarks against pycocoevalcap, taken from the annotations inside that package."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import shutil
import sys
import zipfile
from pathlib import Path


def annotations() -> dict:
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations or shutil.which("java") is None:
        sys.exit("this benchmark needs its peer: pip install pycocoevalcap==1.2, and Java on the PATH")
    jar = Path(spec.submodule_search_locations[0]) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        return json.loads(archive.read("coco/annotations/captions_val2014.json"))


def prepare(folder: Path, data: dict, size: int, captions: dict[int, str]) -> None:
    by_image: dict[int, list[dict]] = {}
    for row in data["annotations"]:
        by_image.setdefault(row["image_id"], []).append(row)
    images = list(by_image)[:size]
    following = images[1:] + images[:1]
    given = {i: captions.get(i) or by_image[after][0]["caption"] for i, after in zip(images, following, strict=True)}
    references = [row for image in images for row in by_image[image][:5]]
    (folder / "references.json").write_text(json.dumps({**data, "annotations": references}))
    (folder / "candidates.json").write_text(
        json.dumps([{"image_id": image, "caption": caption} for image, caption in given.items()])
    )


def arguments(description: str, sizes: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=sizes)
    parser.add_argument("--repeat", type=int, default=3, help="our command; the peer runs once at each size")
    parser.add_argument("--candidates", type=Path, help="COCO results for val2014; else captions of other images")
    return parser.parse_args()


def given_captions(path: Path | None) -> dict[int, str]:
    if path is None:
        return {}
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return {row["image_id"]: row["caption"] for row in json.load(file)}
