"""Flickr8k-Expert: three experts graded each caption from 1 to 4."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, picture_in
from capeval.bench.loaders import flickr8k
from capeval.bench.ratings import Ratings
from capeval.run import Run

_JUDGEMENTS = Source(
    "flickr8k/ExpertAnnotations.txt", "e604ba9c13158f74dcc6319362ff3c10a30d883851618b49054a75aab8cb8e6b"
)


def _load(root: Path, variant: str, run: Run) -> Ratings:
    path = root / _JUDGEMENTS.path
    judged = flickr8k.rows_of(path, 5)
    grades = flickr8k.numbers(path, [row[2:] for row in judged])
    dataset, kept = flickr8k.candidates(root, judged, path)
    return Ratings(dataset, np.array(grades)[kept].reshape(-1, 3))


FLICKR8K_EXPERT = Benchmark(
    name="flickr8k-expert",
    summary="5,664 captions of 1,000 Flickr8k test images, graded by three experts; every grade is a row",
    citation=flickr8k.CITATION,
    licence=flickr8k.LICENCE,
    published=flickr8k.PUBLISHED,
    sources=(flickr8k.CAPTIONS, _JUDGEMENTS),
    holds=("images:flickr8k-test", "judgements:flickr8k-expert"),
    load=_load,
    papers={"": (papers.SPICE, papers.TIGER, *papers.SINCE_CLIPSCORE)},
    pictures=picture_in("flickr8k"),
)
