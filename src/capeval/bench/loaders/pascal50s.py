"""PASCAL-50S: which of two captions do people prefer? 4,000 pairs of captions, 50 references for each image.

There are two sets of winners: the votes of 11 people on each pair in `pair_pascal.mat`, and the labels that come with
one draw of references in `pairs_5refs.json`. 561 labels, mostly in HC, go against the votes, and metrics agree better
with the labels. These are probably the majority of another study of the same authors, which asked people to compare
both captions with one reference at a time (`consensus_pascal.mat`, 48 answers for each pair; not read here).
Papers up to 2019 have the votes, those from CLIPScore on the labels, so both are run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench import papers
from capeval.bench.benchmark import Benchmark, Source, picture_in
from capeval.bench.files import read_json
from capeval.bench.matfile import read_mat
from capeval.bench.pairs import Pairs
from capeval.errors import DataError
from capeval.run import Run

CATEGORIES = ("HC", "HI", "HM", "MM")
"""Two people's captions, correct both; one of them of another image; person and machine; two machines."""

_PAIRS = Source(
    "pascal50s/pair_pascal.mat", "63925be0d9a9d98d68cfdef2be6667a87b6ee23f08f3a1397edaaee07ad09d84", ("votes",)
)
_REFERENCES = Source(
    "pascal50s/pascal50S.mat", "f927c038104d9579ce89be6b8c1a10415b41ce02519becc28238b6fb75a145ac", ("votes",)
)
_DRAW = Source(
    "pascal50s/pairs_5refs.json", "f6033bbcf74583a22d289cf080fff5b930c04cf6d29e33e0170552e8e0237da9", ("labels",)
)


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return _one_draw(root / _DRAW.path) if variant == "labels" else _votes(root)


def _votes(root: Path) -> Pairs:
    path = root / _PAIRS.path
    try:
        variables, known = read_mat(path), read_mat(root / _REFERENCES.path)["refs"]
        references = {str(entry["image"]): tuple(map(str, entry["sent"].ravel())) for entry in known.ravel()}
        pairs = variables["new_input"].ravel()
        categories = [CATEGORIES[int(number) - 1] for number in variables["category"].ravel()]
        votes = np.array([entry["result"].sum() for entry in variables["result"].ravel()])
        images = [str(pair["name"]) for pair in pairs]
        first, second = ([str(pair[name]) for pair in pairs] for name in ("sent1", "sent2"))
    except (KeyError, IndexError, AttributeError, TypeError) as problem:
        raise DataError(f"not laid out as the published file: {problem!r}", file=str(path)) from problem
    missing = [image for image in images if image not in references]
    if missing or not len(pairs) == len(categories) == len(votes):
        raise DataError("the pairs, votes and references do not fit together.", file=str(path), ids=missing)
    sets = [references[image] for image in images]
    return Pairs(_ids(categories), images, first, second, sets, votes > 0, categories, drawn=5)


def _one_draw(path: Path) -> Pairs:
    document: dict[str, list[dict[str, Any]]] = read_json(path, dict)
    try:
        entries = [(category, entry) for category in CATEGORIES for entry in document[category]]
        categories = [category for category, _ in entries]
        return Pairs(
            _ids(categories),
            [Path(entry["image"]).name for _, entry in entries],
            [str(entry["captions"][0]) for _, entry in entries],
            [str(entry["captions"][1]) for _, entry in entries],
            [tuple(map(str, entry["references"])) for _, entry in entries],
            np.array([entry["label"] == 0 for _, entry in entries]),
            categories,
        )
    except (KeyError, IndexError, TypeError) as problem:
        raise DataError(f"not laid out as the published file: {problem!r}", file=str(path)) from problem


def _ids(categories: list[str]) -> list[str]:
    """A pair is named by its category and its place in it, which both files agree on."""
    count = dict.fromkeys(CATEGORIES, 0)
    ids = []
    for category in categories:
        count[category] += 1
        ids.append(f"{category}-{count[category]}")
    return ids


PASCAL50S = Benchmark(
    name="pascal-50s",
    summary="4,000 pairs of captions of 1,000 UIUC Pascal images: the majority of votes, and published labels",
    citation="Vedantam, Zitnick, Parikh 2015: CIDEr: Consensus-based Image Description Evaluation. CVPR",
    licence="for research; no licence is stated",
    published="https://vrama91.github.io/cider/",
    sources=(_PAIRS, _REFERENCES, _DRAW),
    holds=("images:pascal-voc2008", "judgements:pascal-50s"),
    load=_load,
    variants=("votes", "labels"),
    default_variants=("votes", "labels"),
    variant_key="winners",
    papers={"votes": (papers.NNEVAL, papers.TIGER), "labels": papers.SINCE_CLIPSCORE},
    pictures=picture_in("pascal50s"),
)
