"""Crisscrossed Captions in three parts: A trains, B fits, C selects. No picture is in two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from capeval.bench.jsonl import Row, read_jsonl
from capeval.bench.registry import data_root
from capeval.io.files import PathLike
from capeval.train.data import coco_id

PartName = Literal["A", "B", "C"]
PARTS: tuple[PartName, ...] = ("A", "B", "C")
_SHARES = np.array([0.6, 0.25, 0.15])
_ROUNDS = 30
_FILES = {kind: f"judgements/cxc_{kind}_train.jsonl.gz" for kind in ("sits", "sts")}
_SWAPPED = "judgements/negclip_train.jsonl.gz"
_HIGHEST = 5.0


class Judged(NamedTuple):
    """A caption that people judged."""

    image: str
    candidate: str
    references: tuple[str, ...]
    score: float
    """From 0 to 1."""
    is_own: bool = True
    """Whether it was written for the picture, not for one that looks like it."""


class Swapped(NamedTuple):
    """A caption, and the same with words that have changed places."""

    image: str
    positive: str
    negative: str
    references: tuple[str, ...]


def judged(kind: Literal["sits", "sts"], part: PartName, data: PathLike | None = None) -> list[Judged]:
    """Captions judged beside a picture (`sits`) or beside another caption (`sts`), whose pictures are in the part."""
    root = data_root(data)
    of = _part_of(root)
    found = []
    for row in _rows(root / _FILES[kind]):
        image, other = _images(row)
        if of[image] == of[other] == part:
            score = float(row.number("score")) / _HIGHEST
            found.append(Judged(image, row.text("candidate"), row.texts("references"), score, image == other))
    return found


def swapped(part: PartName, data: PathLike | None = None) -> list[Swapped]:
    """NegCLIP's pairs; a picture that Crisscrossed Captions do not have is in part A."""
    root = data_root(data)
    of = _part_of(root)
    found = []
    for row in _rows(root / _SWAPPED):
        image = coco_id(row.name("coco_id"))
        if of.get(image, "A") == part:
            found.append(Swapped(image, row.text("positive"), row.text("negative"), row.texts("references")))
    return found


def pictures_of(part: PartName, data: PathLike | None = None) -> list[str]:
    return [image for image, its in _part_of(data_root(data)).items() if its == part]


@lru_cache(maxsize=2)
def _part_of(root: Path) -> dict[str, PartName]:
    pairs = [_images(row) for path in _FILES.values() for row in _rows(root / path)]
    images = sorted({image for pair in pairs for image in pair})
    number = {image: place for place, image in enumerate(images)}
    shared = [Counter[int]() for _ in images]
    for one, other in pairs:
        if one != other:
            shared[number[one]][number[other]] += 1
            shared[number[other]][number[one]] += 1
    return dict(zip(images, (PARTS[part] for part in divided(shared))))


def divided(shared: Sequence[Counter[int]]) -> list[int]:
    """A part for each picture, given how many judgements it shares with others.

    A judgement with a picture in each of two parts is lost. So pictures begin at random, and each goes where most of
    those are that it shares judgements with, as long as there is room.
    """
    random = np.random.default_rng(0)
    part = random.choice(len(_SHARES), len(shared), p=_SHARES)
    size = np.bincount(part, minlength=len(_SHARES))
    most = (_SHARES * len(shared) * 1.01).astype(int) + 1
    for _ in range(_ROUNDS):
        has_moved = False
        for image in random.permutation(len(shared)).tolist():
            near = np.zeros(len(_SHARES))
            for other, count in shared[image].items():
                near[part[other]] += count
            near /= np.sqrt(_SHARES)  # else the largest part would draw all
            here = int(part[image])
            room = size < most
            room[here] = True
            best = int(np.argmax(np.where(room, near, -1.0)))
            if near[best] > near[here]:
                part[image] = best
                size[here] -= 1
                size[best] += 1
                has_moved = True
        if not has_moved:
            break
    return [int(each) for each in part]


@lru_cache(maxsize=4)
def _rows(path: Path) -> list[Row]:
    return read_jsonl(path)


def _images(row: Row) -> tuple[str, str]:
    return coco_id(row.name("coco_id")), coco_id(row.name("coco_id_candidate"))
