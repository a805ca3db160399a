"""What is known about a benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from capeval.bench.forms import Form
from capeval.run import Run


@dataclass(frozen=True)
class Source:
    """A file of a benchmark as it was published."""

    path: str
    """Below the root of all data, such as `flickr8k/ExpertAnnotations.txt`."""
    sha256: str
    """Empty where any version of the file will do."""
    variants: tuple[str, ...] = ()
    """The variants that need it; none for all of them."""


@dataclass(frozen=True)
class Benchmark:
    """One set of human judgements.

    A file in `capeval.bench.loaders` that has one of these is found by itself; another package names its own in the
    entry-point group `capeval.benchmarks`.
    """

    name: str
    summary: str
    citation: str
    licence: str
    published: str
    """Where the files can be had."""
    sources: tuple[Source, ...]
    holds: tuple[str, ...]
    """Images and judgements in it; a learned metric that was trained on any of them has seen the benchmark."""
    load: Callable[[Path, str, Run], Form]
    """From the root of all data and the name of a variant; nothing of the run may change what is loaded."""
    variants: tuple[str, ...] = ("",)
    """Ways to run it that give different numbers, the usual one first."""
    default_variants: tuple[str, ...] = ("",)
    variant_key: str = "variant"
    """What results call the variant."""
    papers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By variant, the papers whose numbers were got in the same way; none where no paper's were."""
    originals: tuple[Source, ...] = ()
    """The same judgements in the files that their authors publish: read where `sources` are not there."""
    purpose: str = "test"
    """What it is for: `test`; `validation`, to choose among models; or `fitting`, to train them. A figure on one of the
    latter is no test."""
    pictures: Callable[[Path, str], Path | None] = field(default=lambda root, image: None)
    """The file of an image below the root of all pictures."""

    def needed(self, variant: str) -> list[Source]:
        """The files that a variant is read from."""
        return [source for source in self.sources if not source.variants or variant in source.variants]

    def to_read(self, root: Path, variant: str) -> list[Source]:
        """The files that a variant is read from: `sources`, or the authors' own where only these are there."""
        needed = self.needed(variant)
        own = [source for source in self.originals if not source.variants or variant in source.variants]
        return own if own and _are_there(root, own) and not _are_there(root, needed) else needed

    def comparable(self) -> dict[str, tuple[str, ...]]:
        """By each variant, the papers that it can be compared with."""
        return {variant: tuple(self.papers.get(variant, ())) for variant in self.variants}


def _are_there(root: Path, sources: list[Source]) -> bool:
    return all((root / source.path).is_file() for source in sources)


_COCO_NAME = re.compile(r"(?:COCO_(?:train|val)2014_)?(\d{12})")
_COCO_FOLDERS = ("coco", "composite_coco", "val2014", "train2014", "val2017", "train2017")


def coco_picture(root: Path, image: str) -> Path | None:
    """The picture of a COCO image, in any of the folders that hold some, with or without the prefix of its name."""
    name = _COCO_NAME.fullmatch(Path(image).stem)
    if name is None:
        return None
    number = name.group(1)
    stems = (number, f"COCO_val2014_{number}", f"COCO_train2014_{number}")
    found = (picture_in(folder)(root, stem) for folder in _COCO_FOLDERS for stem in stems)
    return next((path for path in found if path is not None), None)


def flickr30k_picture(root: Path, image: str) -> Path | None:
    """The picture of a Flickr30k image."""
    return picture_in("composite_flickr30k")(root, image) or picture_in("flickr30k")(root, image)


def picture_in(folder: str) -> Callable[[Path, str], Path | None]:
    """Pictures that lie in one folder under the name of their image, whatever their format."""

    def find(root: Path, image: str) -> Path | None:
        stem = Path(image).stem
        for ending in (".webp", ".jpg", ".jpeg", ".png"):
            if (path := root / folder / f"{stem}{ending}").is_file():
                return path
        return None

    return find
