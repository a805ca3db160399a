"""Composite: captions by people and two systems for Flickr8k, Flickr30k and COCO images, graded from 1 to 5.

In 4,007 rows the candidate is one of its image's references, and every metric would give it full marks. `published`
takes all candidates of an image out of its references, as CLIPScore and later papers did; `strict` takes out only the
row's own, as TIGEr did. `kept` leaves all references.

`composite-no-8k` is the same without the Flickr8k images: a test for metrics that have seen those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, coco_picture, flickr30k_picture, picture_in
from capeval.bench.files import read_json
from capeval.bench.originals import letters
from capeval.bench.ratings import Ratings
from capeval.errors import DataError
from capeval.run import Run
from capeval.types import Dataset

_JUDGEMENTS = Source("composite/composite.json", "eef9b790b83f92b16ea41b34adf30f65b581f2e7b5122f01468d3015577a88fe")
_REFERENCES = Source("composite/references.json", "459e61317e9baa01181446356fb6c5d34b55d7e74eaf9e9dcfe59458533baf64")
_FIELDS = ("source", "row", "image", "caption", "rating")


def _load(root: Path, variant: str, run: Run) -> Ratings:
    rows: list[dict[str, Any]] = read_json(root / _JUDGEMENTS.path, list, _FIELDS)
    known: dict[str, list[str]] = read_json(root / _REFERENCES.path, dict)
    images = [f"{row['source']}/{row['image']}" for row in rows]
    missing = [image for image in images if image not in known]
    if missing:
        raise DataError("images without references.", file=str(root / _REFERENCES.path), ids=missing)
    candidates = [str(row["caption"]) for row in rows]
    ids = [f"{row['source']}/{row['row']}" for row in rows]
    sets = _references(images, candidates, known, variant)
    dataset = Dataset(ids, images, candidates, sets, np.arange(len(rows), dtype=np.int32))
    return Ratings(dataset, np.array([[float(row["rating"])] for row in rows]))


def _load_without_8k(root: Path, variant: str, run: Run) -> Ratings:
    every = _load(root, variant, run)
    return every.of_images({image for image in every.dataset.images if not image.startswith("8k/")})


def _references(
    images: Sequence[str], candidates: Sequence[str], known: Mapping[str, Sequence[str]], variant: str
) -> list[tuple[str, ...]]:
    """Those of each row: `kept` takes none out, `strict` the row's candidate, `published` all those of its image.

    Letters are compared: candidates were published in lower case, with spaces round punctuation and some of it gone.
    """
    own: list[set[str]] = [set() if variant == "kept" else {letters(candidate)} for candidate in candidates]
    if variant == "published":
        judged: dict[str, set[str]] = {}
        for image, mine in zip(images, own):
            judged.setdefault(image, set()).update(mine)
        own = [judged[image] for image in images]
    return [tuple(text for text in known[image] if letters(text) not in taken) for image, taken in zip(images, own)]


def _picture(root: Path, image: str) -> Path | None:
    """Those in a folder of Composite's own, else in one of all pictures of COCO or Flickr30k."""
    source, name = image.split("/")
    if source == "8k":
        return picture_in("flickr8k")(root, name)
    if source == "30k":
        return flickr30k_picture(root, name.lstrip("0"))  # its pictures go without the leading zeros of their ids
    return picture_in("composite_coco")(root, name) or coco_picture(root, name)


COMPOSITE = Benchmark(
    name="composite",
    summary="11,985 captions of 3,995 images from Flickr8k, Flickr30k and COCO, graded from 1 to 5",
    citation="Aditya, Yang, Baral, Fermuller, Aloimonos 2015: From Images to Sentences through Scene Description "
    "Graphs using Commonsense Reasoning and Knowledge. arXiv:1511.03292",
    licence="for research; no licence is stated",
    published="https://imagesdg.wordpress.com/image-to-scene-description-graph/",
    sources=(_JUDGEMENTS, _REFERENCES),
    holds=(
        "images:flickr8k",
        "images:flickr8k-test",
        "images:flickr30k",
        "images:coco-val2014",
        "judgements:composite",
    ),
    load=_load,
    variants=("published", "strict", "kept"),
    default_variants=("published",),
    variant_key="references",
    papers={"published": papers.SINCE_CLIPSCORE, "strict": (papers.TIGER,)},
    pictures=_picture,
)

COMPOSITE_NO_8K = replace(
    COMPOSITE,
    name="composite-no-8k",
    summary="composite without its Flickr8k images: 8,994 captions of 2,998 images, graded from 1 to 5",
    holds=("images:flickr30k", "images:coco-val2014", "judgements:composite"),
    load=_load_without_8k,
    papers={},
)
