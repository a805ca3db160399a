"""Flickr8k-CF: at least three people on CrowdFlower said whether a caption fits an image.

721 of the judged captions were written for the very image. `published` is CLIPScore's way, which later papers follow:
all rows, and a judged caption is no reference of its image. `strict` leaves the 721 out. `kept` takes each out of the
references of its own row only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, picture_in
from capeval.bench.loaders import flickr8k
from capeval.bench.ratings import Ratings
from capeval.run import Run

_JUDGEMENTS = Source(
    "flickr8k/CrowdFlowerAnnotations.txt", "9ce4a12d14634554983be996319452efd74f10a4e666088dc9f8dff83977e462"
)


def _load(root: Path, variant: str, run: Run) -> Ratings:
    path = root / _JUDGEMENTS.path
    judged = flickr8k.rows_of(path, 5)
    counts = np.array(flickr8k.numbers(path, [row[3:] for row in judged])).reshape(-1, 2)
    dataset, kept = flickr8k.candidates(root, judged, path, variant)
    # From the counts of yes and no, since the published share is rounded.
    share = counts[:, :1] / counts.sum(axis=1, keepdims=True)
    return Ratings(dataset, share[kept], main="kendall_b")


FLICKR8K_CF = Benchmark(
    name="flickr8k-cf",
    summary="47,830 captions of 1,000 Flickr8k test images, with the share of people who say that the caption fits",
    citation=flickr8k.CITATION,
    licence=flickr8k.LICENCE,
    published=flickr8k.PUBLISHED,
    sources=(flickr8k.CAPTIONS, _JUDGEMENTS),
    holds=("images:flickr8k-test", "judgements:flickr8k-cf"),
    load=_load,
    variants=("published", "strict", "kept"),
    default_variants=("published",),
    variant_key="own_captions",
    papers={"published": papers.SINCE_CLIPSCORE},
    pictures=picture_in("flickr8k"),
)
