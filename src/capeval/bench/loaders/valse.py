"""VALSE: a caption against a foil of it, in eleven kinds, from existence and counting to coreference.

Only pairs whose foil most people found wrong. The captions of `foil-it`, `plurals` and `relations` are COCO's, so their
images have other captions as references; the other kinds have none, and are for metrics that need none. The authors'
repository has a JSON file for each kind, with the number of people, of three, who chose caption or foil.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture, picture_in
from capeval.bench.jsonl import Row, pairs_of, read_jsonl
from capeval.bench.originals import Captions, entries
from capeval.bench.pairs import Pairs
from capeval.errors import DataError
from capeval.run import Run

_ROWS = Source("judgements/valse.jsonl.gz", "64fd7c292396e107725c6749d27eb3275735bc1662a8ac9d486a932245969fd9")
_COCO_KINDS = ("foil-it", "plurals", "relations")
_KINDS = (
    *("actant-swap", "action-replacement", "coreference-hard", "coreference-standard", "counting-adversarial"),
    *("counting-hard", "counting-small-quant", "existence", *_COCO_KINDS),
)
_THEIRS = tuple(Source(f"VALSE/data/{kind}.json", "") for kind in _KINDS)
_MOST = 2
"""Of three people, so many at least found the caption right and the foil wrong."""


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path) if (root / _ROWS.path).is_file() else _theirs(root, run))


def _theirs(root: Path, run: Run) -> list[Row]:
    """The rows of the authors' files, with the names that ours have."""
    captions, rows = Captions(root, run), []
    for kind, source in zip(_KINDS, _THEIRS):
        path = root / source.path
        for name, entry in entries(path, ("image_file", "caption", "foil")).items():
            votes = entry.get("mturk")
            if not isinstance(votes, dict) or not isinstance(votes.get("caption"), int):
                raise DataError(f"entry {name!r} lacks the votes `mturk`", file=str(path))
            if votes["caption"] < _MOST:
                continue
            references = captions.of(entry["image_file"], entry["caption"]) if kind in _COCO_KINDS else ()
            fields = {"id": f"{kind}-{name}", "kind": kind, "image": entry["image_file"]}
            fields |= {"positive": entry["caption"], "negative": entry["foil"], "references": list(references)}
            rows.append(Row(str(path), 0, fields))
    return rows


def _picture(root: Path, image: str) -> Path | None:
    """Pictures of COCO, and those of SWiG, Visual7W and VisDial in a folder of their own."""
    return coco_picture(root, image) or picture_in("valse")(root, image)


VALSE = Benchmark(
    name="valse",
    summary="7,702 captions, each against a foil: eleven kinds, of which three have references",
    citation="Parcalabescu, Cafagna, Muradjan, Frank, Calixto, Gatt 2022: VALSE: A Task-Independent Benchmark for "
    "Vision and Language Models Centered on Linguistic Phenomena. ACL",
    licence="MIT",
    published="https://github.com/Heidelberg-NLP/VALSE (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    originals=_THEIRS,
    holds=("images:coco-val2014", "images:coco-val2017", "images:visual7w", "images:swig", "images:visdial"),
    load=_load,
    pictures=_picture,
)
