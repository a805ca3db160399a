"""Captions to train on, with every picture of a benchmark or a test split kept apart."""

from __future__ import annotations

import importlib.util
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import numpy as np

from capeval.bench.registry import data_root
from capeval.errors import DataError, MissingExtra, UnknownName
from capeval.io.captions import read_references
from capeval.io.files import PathLike, read_bytes

T = TypeVar("T")
Split = Literal["train", "val", "test"]
Captions = dict[str, tuple[str, ...]]
"""Captions by picture. COCO's pictures are called by 12 digits, those of Flickr by the stem of their file."""

BENCHMARK_IMAGES = "benchmark_images.tsv"
SOURCES = ("coco", "flickr8k", "flickr30k")

_JAR = Path("spice") / "spice-1.0.jar"
_MEMBERS = tuple(f"coco/annotations/captions_{part}2014.json" for part in ("train", "val"))
_MAX_MEMBER = 1 << 28
_FOLDER = {"train": "train", "val": "dev", "test": "test"}
# A picture may be used to choose a model only if no benchmark uses it besides these splits.
_VALIDATION = {"coco": "karpathy-val", "flickr8k": "flickr8k-dev"}
_TEST = {"coco": "karpathy-test", "flickr8k": "flickr8k-test", "flickr30k": "flickr30k-test"}


def captions(source: str, split: Split, data: PathLike | None = None) -> Captions:
    """The captions of a split of a data set, or those in a file of references that a user brings.

    `train` has no picture that a benchmark or another split uses; `val` has those of the validation split that no
    benchmark uses (none of `flickr30k`); `test` is the whole test split.
    """
    if source not in SOURCES:
        if not Path(source).exists():
            raise UnknownName("captions (neither a data set nor a file)", source, SOURCES)
        return dict(read_references(source))
    used = benchmark_images(data)["coco" if source == "coco" else "flickr"]
    if source != "flickr8k":
        every = coco_captions() if source == "coco" else flickr30k_captions(data)
        return {image: texts for image, texts in every.items() if _split(used.get(image), source) == split}
    eight, listed = flickr8k_captions(data), flickr8k_split(split, data)
    return {image: eight[image] for image in listed if _split(used.get(flickr_number(image)), source) == split}


def _split(used_by: frozenset[str] | None, source: str) -> str:
    if not used_by:
        return "train"
    if _TEST[source] in used_by:
        return "test"
    return "val" if used_by == {_VALIDATION.get(source)} else "none"


def benchmark_images(data: PathLike | None = None) -> dict[str, dict[str, frozenset[str]]]:
    """Who uses a picture: by `coco` (12 digits) and `flickr` (the number that its name begins with)."""
    return _benchmark_images(data_root(data) / BENCHMARK_IMAGES)


@lru_cache(maxsize=4)
def _benchmark_images(path: Path) -> dict[str, dict[str, frozenset[str]]]:
    if not path.is_file():
        message = "needed to keep the pictures of benchmarks out of training"
        raise DataError(message, file=str(path), remedy="training_data")
    found: dict[str, dict[str, frozenset[str]]] = {"coco": {}, "flickr": {}}
    rows = [line.split("\t") for line in read_bytes(path).decode("utf-8").splitlines()]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != 3 or row[0] not in found:
            raise DataError("source, id and users were expected", file=str(path), line=number)
        image = coco_id(row[1]) if row[0] == "coco" else row[1]
        found[row[0]][image] = frozenset(row[2].split(","))
    return found


def coco_id(image: str | int) -> str:
    """The 12 digits of a COCO picture."""
    return f"{int(image):012d}"


def flickr_number(image: str) -> str:
    """`1000268201_693b08cb0e.jpg` -> `1000268201`: what Flickr8k and Flickr30k have in common."""
    return image.partition("_")[0].partition(".")[0]


class _Row(msgspec.Struct, gc=False):
    image_id: int
    caption: str


class _Annotations(msgspec.Struct, gc=False):
    annotations: list[_Row]


@lru_cache(maxsize=1)
def coco_captions() -> Captions:
    """The captions of COCO's train2014 and val2014, which `pycocoevalcap` carries."""
    package = importlib.util.find_spec("pycocoevalcap")
    places = package.submodule_search_locations if package else None
    jar = next((Path(place) / _JAR for place in places or () if (Path(place) / _JAR).is_file()), None)
    if jar is None:
        raise MissingExtra("reading COCO's captions", "meteor")
    grouped: defaultdict[int, list[str]] = defaultdict(list)
    try:
        with zipfile.ZipFile(jar) as archive:
            for member in _MEMBERS:
                if archive.getinfo(member).file_size > _MAX_MEMBER:
                    raise DataError(f"{member} is larger than it should be", file=str(jar))
                rows = msgspec.json.decode(archive.read(member), type=_Annotations).annotations
                for row in rows:
                    grouped[row.image_id].append(" ".join(row.caption.split()))
    except (KeyError, OSError, zipfile.BadZipFile, msgspec.DecodeError) as error:
        raise DataError(f"damaged: {error}. Reinstall pycocoevalcap", file=str(jar)) from None
    return {coco_id(image): tuple(texts) for image, texts in sorted(grouped.items())}


def flickr8k_captions(data: PathLike | None = None) -> Captions:
    path = data_root(data) / "flickr8k" / "Flickr8k.token.txt"
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(read_bytes(path).decode("utf-8").splitlines(), 1):
        name, tab, text = line.partition("\t")
        if not tab:
            raise DataError("a name and a caption were expected", file=str(path), line=number)
        grouped[name.partition("#")[0].removesuffix(".jpg")].append(text)
    return {image: tuple(texts) for image, texts in grouped.items()}


def flickr30k_captions(data: PathLike | None = None) -> Captions:
    """Without the pictures of `reformulations`, which the list of benchmarks' pictures does not have."""
    root = data_root(data)
    judged = read_bytes(root / "judgements" / "reformulations.jsonl.gz").splitlines()
    apart = {msgspec.json.decode(line, type=_Judged).image for line in judged}
    path = root / "flickr30k" / "captions.json.gz"
    try:
        every = msgspec.json.decode(read_bytes(path), type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as error:
        raise DataError(f"damaged: {error}", file=str(path)) from None
    return {image.removesuffix(".jpg"): texts for image, texts in every.items() if image not in apart}


class _Judged(msgspec.Struct):
    image: str


def flickr8k_split(split: Split, data: PathLike | None = None) -> list[str]:
    """The pictures of a split as it was published."""
    path = data_root(data) / "flickr8k" / f"Flickr_8k.{_FOLDER[split]}Images.txt"
    return [name.removesuffix(".jpg") for name in read_bytes(path).decode("utf-8").split()]


def machine_captions(name: str, data: PathLike | None = None, split: Split = "train") -> dict[str, dict[str, str]]:
    """Captions of published systems by system and picture: `coco_val2014`, `coco_karpathytest` or `flickr8k_test`.

    Of COCO only the pictures of the split; Flickr8k's are all of its test split.
    """
    root = data_root(data) / "machine"
    if name == "flickr8k_test":
        if split != "test":
            raise DataError("the machine captions of Flickr8k are those of its test split", file=name)
        return _by_place(root / "flickr8k_test_where-image.json.gz")
    files = sorted(root.glob(f"{name}_*.json.gz"))
    if not name.startswith("coco_") or not files:
        raise DataError(f"there are no machine captions called {name!r}", file=str(root))
    used = benchmark_images(data)["coco"]
    found: dict[str, dict[str, str]] = {}
    for path in files:
        rows = msgspec.json.decode(read_bytes(path), type=list[_Row])
        named = ((coco_id(row.image_id), " ".join(row.caption.split())) for row in rows)
        system = path.name.removeprefix(f"{name}_").removesuffix(".json.gz")
        found[system] = {image: text for image, text in named if _split(used.get(image), "coco") == split}
    return found


class _ByPlace(msgspec.Struct):
    images: list[str]
    systems: dict[str, list[str]]


def _by_place(path: Path) -> dict[str, dict[str, str]]:
    """A file whose captions stand in the order of its pictures; what people wrote is left out."""
    content = msgspec.json.decode(read_bytes(path), type=_ByPlace)
    images = [name.removesuffix(".jpg") for name in content.images]
    machines = {system: texts for system, texts in content.systems.items() if not system.startswith("human")}
    return {system: dict(zip(images, texts, strict=True)) for system, texts in machines.items()}


def gathered(sources: Iterable[str], split: Split, data: PathLike | None = None) -> Captions:
    """The captions of several sources."""
    found: Captions = {}
    for source in sources:
        found |= captions(source, split, data)
    return found


def some_of(images: Sequence[T], count: int, seed: int = 0) -> list[T]:
    """So many of the images, drawn at random but in their order; all of them for 0."""
    if not count or count >= len(images):
        return list(images)
    picked = np.random.default_rng(seed).permutation(len(images))[:count]
    return [images[i] for i in np.sort(picked)]
