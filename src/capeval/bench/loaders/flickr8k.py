"""What the two Flickr8k benchmarks share: the captions, and candidates that are captions of other images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from capeval.bench.benchmark import Source
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.types import Dataset

CAPTIONS = Source("flickr8k/Flickr8k.token.txt", "fc18d93dd1816b367a790e08c73c10b4ef1465102bad4f2412f19ea967c1344a")
CITATION = (
    "Hodosh, Young, Hockenmaier 2013: Framing Image Description as a Ranking Task: Data, Models and Evaluation "
    "Metrics. JAIR 47"
)
LICENCE = "for research and education; the pictures belong to the members of Flickr who took them"
PUBLISHED = "https://hockenmaier.cs.illinois.edu/Framing_Image_Description/KCCA.html (form), Flickr8k_text.zip"


def rows_of(path: Path, columns: int) -> list[list[str]]:
    """The cells of a tab-separated file."""
    text = utf8_without_bom(read_bytes(path), str(path)).decode()
    rows = [line.split("\t") for line in text.splitlines()]
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            raise DataError(f"{len(row)} cells where {columns} are needed", file=str(path), line=number)
    return rows


def candidates(
    root: Path, judged: Sequence[Sequence[str]], path: Path, own: str = "strict"
) -> tuple[Dataset, list[int]]:
    """The judged captions (image, id of a caption), and which of them they are.

    Some were written for the very image, so they are among its references. They are left out (`strict`), stay and are
    no reference for themselves (`kept`), or stay and are no reference for any caption of the image (`published`).
    """
    captions = dict(rows_of(root / CAPTIONS.path, 2))
    names: dict[str, list[str]] = {}
    for name in captions:
        names.setdefault(name.split("#")[0], []).append(name)
    unknown = [name for image, name, *_ in judged if name not in captions or image not in names]
    if unknown:
        raise DataError("captions or images that the caption file does not have.", file=str(path), ids=unknown)
    kept = [row for row, (image, name, *_) in enumerate(judged) if own != "strict" or name.split("#")[0] != image]
    chosen = [(image, name) for image, name, *_ in (judged[row] for row in kept)]
    if own == "published":
        unjudged = _unjudged(chosen, captions, names)
        references = [unjudged[image] for image, _ in chosen]
    else:
        references = [tuple(captions[other] for other in names[image] if other != name) for image, name in chosen]
    dataset = Dataset(
        [f"{image}/{name}" for image, name in chosen],
        [image for image, _ in chosen],
        [captions[name] for _, name in chosen],
        references,
        np.arange(len(chosen), dtype=np.int32),
    )
    return dataset, kept


def _unjudged(
    judged: Sequence[tuple[str, str]], captions: Mapping[str, str], names: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The captions of each image without those that were judged with it.

    As `download.py` of CLIPScore: a judged caption takes one reference with its text away. Of those in Flickr8k-CF,
    two were written for another image in the same words, and one image has a caption twice; the third digit shows both.
    """
    left = {image: [captions[name] for name in mine] for image, mine in names.items()}
    for image, name in judged:
        if captions[name] in left[image]:
            left[image].remove(captions[name])
    return {image: tuple(texts) for image, texts in left.items()}


def numbers(path: Path, cells: Sequence[Sequence[str]]) -> list[list[float]]:
    values = []
    for number, row in enumerate(cells, 1):
        try:
            values.append([float(cell) for cell in row])
        except ValueError:
            raise DataError(f"not numbers: {row}", file=str(path), line=number) from None
    return values
