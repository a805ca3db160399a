"""ABSTRACT-50S: as PASCAL-50S, with clip-art scenes and 48 references.

The people's votes were never in the public download. Of the pairs with a caption of another image (HI) the winner can
be told from the captions; of two correct captions (HC) it cannot, so HC runs only where `abstract_votes.json` is there:
a list with 1 (first wins) or -1 for each pair.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench.benchmark import Benchmark, Source, picture_in
from capeval.bench.files import read_json
from capeval.bench.pairs import Pairs
from capeval.errors import DataError
from capeval.run import Run

_FOLDER = "abstract50s"
_REFERENCES = Source(f"{_FOLDER}/abstract48S.json", "dcce550703d975d64307d0df85eacf73c3e80b17172b1564aec91ca2a6b37405")
_FIRST = Source(f"{_FOLDER}/abstract_candsB.json", "7ae03ea770eddcb2cdde3e27cc03205e49f92e134127f9ab92f911d81f608be8")
_SECOND = Source(f"{_FOLDER}/abstract_candsC.json", "ed0b0561c9a50925345b41ae9e6eaed89b1c1a2c0ad804d3d6c207eb4996db12")
_WINNERS = Source(
    f"{_FOLDER}/DERIVED_pair_types_and_HI_winner.json",
    "0ca36b3a2e29d3d98257aa01f1d9d6b213d0c807b398cc3960cdd11b245a77e3",
)
_VOTES = f"{_FOLDER}/abstract_votes.json"


def _load(root: Path, variant: str, run: Run) -> Pairs:
    first, second, captions = (
        read_json(root / source.path, list, ["image_id", "caption"]) for source in (_FIRST, _SECOND, _REFERENCES)
    )
    kinds: list[dict[str, Any]] = read_json(root / _WINNERS.path, list, ["pair", "type", "winner"])
    references: dict[str, list[str]] = {}
    for entry in captions:
        references.setdefault(entry["image_id"], []).append(entry["caption"])
    if not len(first) == len(second) == len(kinds):
        raise DataError("the files differ in how many pairs they have", file=str(root / _FIRST.path))
    winner = {entry["pair"]: {"B": True, "C": False}.get(entry["winner"]) for entry in kinds}
    if (root / _VOTES).is_file():
        votes = read_json(root / _VOTES, list)
        if len(votes) != len(first) or any(type(vote) is not int or vote not in (1, -1) for vote in votes):
            raise DataError(f"a list of {len(first)} numbers, each 1 or -1, is needed", file=str(root / _VOTES))
        winner |= {pair: vote > 0 for pair, vote in enumerate(votes)}
    known = [pair for pair in range(len(first)) if winner.get(pair) is not None]
    kind = {entry["pair"]: entry["type"] for entry in kinds}
    return Pairs(
        [f"{kind[pair]}-{pair}" for pair in known],
        [first[pair]["image_id"] for pair in known],
        [first[pair]["caption"] for pair in known],
        [second[pair]["caption"] for pair in known],
        [tuple(references[first[pair]["image_id"]]) for pair in known],
        np.array([winner[pair] for pair in known], bool),
        [kind[pair] for pair in known],
    )


ABSTRACT50S = Benchmark(
    name="abstract-50s",
    summary="200 pairs of captions of clip-art scenes, one of another scene; 200 more with the votes file",
    citation="Vedantam, Zitnick, Parikh 2015: CIDEr: Consensus-based Image Description Evaluation. CVPR",
    licence="for research; no licence is stated",
    published="https://vrama91.github.io/cider/; the winners of HI pairs are derived from the captions",
    sources=(_REFERENCES, _FIRST, _SECOND, _WINNERS),
    holds=("images:abstract-scenes", "judgements:abstract-50s"),
    load=_load,
    pictures=picture_in("abstract50s"),
)
