"""COCO 2015: what people thought of the systems of the captioning challenge, and what the leaderboard scored.

M1 is the share of captions as good as or better than a person's, M2 the share that pass for a person's, M3 to M5 are
correctness, detail and similarity. The systems' captions are not public: only their scores on the leaderboard are, and
those are of later submissions where a team made any.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from capeval.bench.benchmark import Benchmark, Source
from capeval.bench.files import read_json
from capeval.bench.systems import Systems
from capeval.errors import DataError
from capeval.run import Run

_HUMAN = Source("coco/cap_challenge2015.json", "eccd5dd0a9481e4eb56869dd7a2ba2ebbe2f879e6fb425d26ce3ac4efbb8e2db")
_FIVE = Source("coco/cap_c5.json", "86b7f6c6cf97b8d28db47444635c3647d9eda6d076af93934e34854a00b99075")
_FORTY = Source("coco/cap_c40.json", "0572b1f5479551644119b7625b6f49ff4a49ee148b48586a1f1b638e4f873b8e")
_NAMES = {"CIDEr": "cider_d", "METEOR": "meteor", "ROUGE_L": "rouge_l", "SPICE": "spice"}
_NAMES |= {f"Bleu_{n}": f"bleu_{n}" for n in (1, 2, 3, 4)}


def _load(root: Path, variant: str, run: Run) -> Systems:
    human = _read(root / _HUMAN.path)
    names = [entry["team"]["name"] for entry in human]
    judged = {f"m{n}": np.array([float(entry["results"][f"q{n}"]) for entry in human]) for n in range(1, 6)}
    scores = {}
    for references, source in (("c5", _FIVE), ("c40", _FORTY)):
        board = _read(root / source.path)
        found = [_entry_of(entry, board, variant) for entry in human]
        for official, name in _NAMES.items():
            values = [np.nan if each is None else float(each["results"][official]) for each in found]
            scores[f"{name}({references})"] = np.array(values)
    return Systems(names, judged, scores)


def _read(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = read_json(path, list, ["team", "results"])
    try:
        # The results are JSON within JSON.
        return [entry | {"results": json.loads(entry["results"])} for entry in entries]
    except (ValueError, TypeError) as problem:
        raise DataError(f"results that cannot be read: {problem}", file=str(path)) from None


def _entry_of(system: dict[str, Any], board: list[dict[str, Any]], variant: str) -> dict[str, Any] | None:
    """The leaderboard's entry of the same team, by its number or by its name, which is spelt in several ways.

    Names find one more: Tsinghua Bigeye came back in 2016 under a new number, with another system than people judged.
    """
    key = _name_of if variant == "name" else _number_of
    return next((entry for entry in board if key(entry) == key(system)), None)


def _number_of(entry: dict[str, Any]) -> Any:
    return entry["team"].get("id")


def _name_of(entry: dict[str, Any]) -> str:
    return re.sub(r"\W", "", str(entry["team"]["name"])).lower()


COCO2015 = Benchmark(
    name="coco-2015",
    summary="15 systems of the COCO captioning challenge of 2015, people and chance: M1 to M5 against system scores",
    citation="Chen, Fang, Lin, Vedantam, Gupta, Dollar, Zitnick 2015: Microsoft COCO Captions. arXiv:1504.00325",
    licence="for research; no licence is stated for the leaderboard's tables",
    published="https://cocodataset.org/#captions-leaderboard",
    sources=(_HUMAN, _FIVE, _FORTY),
    holds=("images:coco-test2014", "judgements:coco-2015"),
    load=_load,
    variants=("number", "name"),
    default_variants=("number",),
    variant_key="joined_by",
)
