"""Captions that people gave the images of a benchmark, to be changed, and the pictures of these images."""

from __future__ import annotations

from typing import NamedTuple

from capeval.bench.registry import benchmark, load
from capeval.bench.runner import pictures_of
from capeval.errors import Unavailable
from capeval.io.captions import References
from capeval.io.files import PathLike
from capeval.run import Run
from capeval.types import Features


class Material(NamedTuple):
    captions: References
    """By image."""
    pictures: Features | None


def of_benchmark(
    name: str,
    *,
    data: PathLike | None = None,
    images: PathLike | None = None,
    features: PathLike | Features | None = None,
    run: Run | None = None,
) -> Material:
    """The references of each image of a benchmark. With pictures or their features, only images whose picture is
    there."""
    run = run or Run()
    form = load(name, data, None, run)
    captions: dict[str, dict[str, None]] = {}
    for row in form.captions():
        captions.setdefault(row.image, {}).update(dict.fromkeys(row.references))
    pictures = pictures_of(benchmark(name), form, images, features, run)
    found = {
        image: tuple(texts) for image, texts in captions.items() if texts and (pictures is None or image in pictures)
    }
    if not found:
        raise Unavailable(f"no image of {name} has its picture there" if captions else f"{name} has no captions")
    if left := len(captions) - len(found):
        run.progress.note(f"{left:,} images of {name} are left out: they lack their picture, or references.")
    return Material(found, pictures)
