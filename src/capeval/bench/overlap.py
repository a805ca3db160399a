"""Which pictures benchmarks share: names are brought to one form, COCO numbers and Flickr ids, and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from typing import NamedTuple

from capeval.bench.registry import benchmark, benchmarks, load, missing_files
from capeval.io.files import PathLike
from capeval.run import Run

_COCO = re.compile(r"(?:COCO_[a-z]+\d{4}_)?(\d{12})|(\d{1,6})")
_FLICKR = re.compile(r"(\d+)(?:_[0-9a-f]{10})?")


class Overlap(NamedTuple):
    a: str
    b: str
    pictures_a: int
    pictures_b: int
    both: int
    """Pictures that both use."""


def picture_key(image: str) -> str:
    """The same for all names of a picture: COCO's number, Flickr's id, or else the name itself.

    COCO's names have 12 digits or, bare, up to 6; a folder `30k` says that the number is Flickr's in any case.
    """
    path = PurePosixPath(image)
    coco = None if path.parent.name == "30k" else _COCO.fullmatch(path.stem)
    if coco and int(coco[1] or coco[2]) < 10**6:
        return f"coco:{int(coco[1] or coco[2])}"
    if flickr := _FLICKR.fullmatch(path.stem):
        return f"flickr:{int(flickr[1])}"
    return path.name


def pictures_of(name: str, data: PathLike | None = None, run: Run | None = None) -> set[str]:
    """The pictures of a benchmark, in its usual variant."""
    form = load(name, data, benchmark(name).default_variants[0], run)
    return {picture_key(image) for image in form.distinct_images}


def overlaps(names: Sequence[str] = (), data: PathLike | None = None, run: Run | None = None) -> Iterator[Overlap]:
    """Each two of some benchmarks; without names, of all whose files are there."""
    chosen = list(names) or [name for name, each in benchmarks().items() if not missing_files(each, data)]
    pictures = {name: pictures_of(name, data, run) for name in dict.fromkeys(chosen)}
    for a, b in combinations(pictures, 2):
        yield Overlap(a, b, len(pictures[a]), len(pictures[b]), len(pictures[a] & pictures[b]))
