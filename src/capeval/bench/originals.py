"""Judgements in the files that their authors publish, and the captions of COCO and Flickr30k that go with them.

Several sets name pictures of COCO or Flickr30k and hold no references: these are the other captions of the picture,
from COCO's own annotation files (of 2014 or 2017, which hold the same captions) and from Flickr30k's token file.
Without them the judgements can be read all the same, for metrics that need no references.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from capeval.bench.files import read_json
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.run import Run

_FOLDERS = ("coco", "coco/annotations")
_FILES = ("captions_val2014.json", "captions_train2014.json", "captions_val2017.json", "captions_train2017.json")
_FLICKR30K = "flickr30k/results_20130124.token"
_COCO = re.compile(r"(?:COCO_(?:train|val)2014_)?(\d{12})(?:\.\w+)?")


class Annotation(NamedTuple):
    """A caption of COCO."""

    id: int
    image: int
    caption: str


def coco_number(image: str) -> int | None:
    """The number of a COCO picture from the name of its file; None for other pictures."""
    found = _COCO.fullmatch(image)
    return int(found.group(1)) if found else None


def read_annotations(path: Path) -> list[Annotation]:
    """The captions in one of COCO's annotation files."""
    found = read_json(path, dict).get("annotations")
    fields = {"id": int, "image_id": int, "caption": str}
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and all(isinstance(each.get(key), kind) for key, kind in fields.items())
        for each in found
    ):
        raise DataError("`annotations` with `id`, `image_id` and `caption` are needed", file=str(path))
    return [Annotation(each["id"], each["image_id"], each["caption"].strip()) for each in found]


class Captions:
    """People's captions by picture, as far as their files are there."""

    def __init__(self, root: Path, run: Run) -> None:
        self._coco = _coco_captions(*(path for path in coco_files(root)))
        token = root / _FLICKR30K
        self._flickr30k = _token_file(token) if token.is_file() else {}
        if not self._coco:
            run.progress.note(
                f"there are no references: put COCO's {_FILES[0]} and the like (cocodataset.org, annotations) into "
                f"{root / _FOLDERS[0]}; metrics that need references have no scores without"
            )

    def of(self, image: str, but: str = "") -> tuple[str, ...]:
        """The captions of a picture without one of them, which is known by its letters."""
        number = coco_number(image)
        known = self._flickr30k.get(Path(image).stem, ()) if number is None else self._coco.get(number, ())
        return without(known, but)


def without(captions: Sequence[str], one: str) -> tuple[str, ...]:
    """Captions that do not have the letters of one."""
    taken = letters(one)
    return tuple(text for text in captions if not taken or letters(text) != taken)


def letters(text: str) -> str:
    """What is the same in a caption however it is written: in lower case, without some punctuation."""
    return "".join(filter(str.isalpha, text.lower()))


def coco_files(root: Path) -> list[Path]:
    """Those of COCO's annotation files that are there, in a folder `coco` or as COCO's archive unpacks in it."""
    found = [path for folder in _FOLDERS for name in _FILES if (path := root / folder / name).is_file()]
    return list({path.name: path for path in reversed(found)}.values())[::-1]


@cache
def _coco_captions(*files: Path) -> Mapping[int, Sequence[str]]:
    by_caption: dict[int, Annotation] = {each.id: each for path in files for each in read_annotations(path)}
    found: dict[int, list[str]] = {}
    for each in by_caption.values():
        found.setdefault(each.image, []).append(each.caption)
    return found


def _token_file(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line, text in enumerate(utf8_without_bom(read_bytes(path), str(path)).decode().splitlines(), 1):
        name, tab, caption = text.partition("\t")
        if not tab:
            raise DataError("the name of a caption, a tab and the caption are needed", file=str(path), line=line)
        found.setdefault(Path(name.split("#")[0]).stem, []).append(caption)
    return found


def entries(path: Path, fields: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The entries of a JSON object by their names; each must have some fields, which are texts."""
    found: dict[str, dict[str, Any]] = read_json(path, dict)
    for name, entry in found.items():
        lacking = [key for key in fields if not isinstance(entry, dict) or not isinstance(entry.get(key), str)]
        if lacking:
            raise DataError(f"entry {name!r} lacks {', '.join(lacking)}", file=str(path))
    return found
