"""Human reformulations: a machine's caption against what a person made of it who was to correct its mistakes.

The two share most of their words. Pairs are of COCO and Flickr30k images; the references are people's captions of the
image. The authors' file, `full_reformulation_dataset.json`, also has captions that nobody changed: they are no pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capeval.bench.benchmark import Benchmark, Source, coco_picture, flickr30k_picture
from capeval.bench.files import read_json
from capeval.bench.jsonl import Row, pairs_of, read_jsonl
from capeval.bench.originals import Captions, coco_number
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/reformulations.jsonl.gz", "8cb0fe316cabf9af7ca151305e416e1d931c674f688d5ae40533fbabc3f4d51a")
_THEIRS = Source(
    "caption_evaluation/full_reformulation_dataset.json",
    "c7bb04753c8402f8dd7e1d778f76df9288febc4b51d6e247cf9c6fabc39746c1",
)
_FIELDS = ("question_id", "image", "question", "answer")


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path) if (root / _ROWS.path).is_file() else _theirs(root, run))


def _theirs(root: Path, run: Run) -> list[Row]:
    """The rows of the authors' file, with the names that ours have."""
    captions, rows = Captions(root, run), []
    path = root / _THEIRS.path
    for number, entry in enumerate(read_json(path, list, _FIELDS), 1):
        before, after = (str(entry[key]).replace("\xa0", " ") for key in ("question", "answer"))
        if before.lower() == after.lower():
            continue
        image = Path(str(entry["image"])).name
        kind = "flickr30k" if coco_number(image) is None else "coco"
        fields: dict[str, Any] = {"id": f"reform-{entry['question_id']}", "kind": kind, "image": image}
        fields |= {"positive": after, "negative": before, "references": list(captions.of(image))}
        rows.append(Row(str(path), number, fields))
    return rows


def _picture(root: Path, image: str) -> Path | None:
    """Flickr8k has many pictures of Flickr30k, under the same number with more after it."""
    if (path := coco_picture(root, image) or flickr30k_picture(root, image)) is not None:
        return path
    return next((root / "flickr8k").glob(f"{Path(image).stem}_*"), None)


REFORMULATIONS = Benchmark(
    name="reformulations",
    summary="4,344 captions by machines, each against a person's correction of it",
    citation="Berger, Stanovsky, Abend, Frermann 2024: Surveying the Landscape of Image Captioning Evaluation. "
    "arXiv:2408.04909",
    licence="for research; no licence is stated",
    published="https://github.com/uriberger/caption_evaluation (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    originals=(_THEIRS,),
    holds=("images:coco-val2014", "images:flickr30k"),
    load=_load,
    pictures=_picture,
)
