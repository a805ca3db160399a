"""SugarCrepe: a person's caption against one that says something else in fluent words, in seven kinds.

An object, attribute or relation is replaced, added or swapped with another one. The references are the other captions
of the image. The authors' repository has a JSON file for each kind, with the numbers of COCO's pictures of 2017, which
are all among those of val2014.
"""

from __future__ import annotations

from pathlib import Path

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import Row, pairs_of, read_jsonl
from capeval.bench.originals import Captions, coco_number, entries
from capeval.bench.pairs import Pairs
from capeval.run import Run

_ROWS = Source("judgements/sugarcrepe.jsonl.gz", "5e28af75ff311d4645955215148664ea6f17833e345a4ae4fb7decac7ae9efc7")
_KINDS = ("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")
_THEIRS = tuple(Source(f"sugar-crepe/data/{kind}.json", "") for kind in _KINDS)


def _load(root: Path, variant: str, run: Run) -> Pairs:
    return pairs_of(read_jsonl(root / _ROWS.path) if (root / _ROWS.path).is_file() else _theirs(root, run))


def _theirs(root: Path, run: Run) -> list[Row]:
    """The rows of the authors' files, with the names that ours have."""
    captions, rows = Captions(root, run), []
    for kind, source in zip(_KINDS, _THEIRS):
        path = root / source.path
        for number, entry in entries(path, ("filename", "caption", "negative_caption")).items():
            picture = coco_number(entry["filename"])
            image = entry["filename"] if picture is None else f"COCO_val2014_{picture:012}.jpg"
            fields = {"id": f"{kind}-{number}", "kind": kind, "image": image}
            fields |= {"positive": entry["caption"], "negative": entry["negative_caption"]}
            rows.append(Row(str(path), 0, fields | {"references": list(captions.of(image, entry["caption"]))}))
    return rows


SUGARCREPE = Benchmark(
    name="sugarcrepe",
    summary="7,511 captions of COCO images, each against one with a small change of meaning: seven kinds",
    citation="Hsieh, Zhang, Ma, Kembhavi, Krishna 2023: SugarCrepe: Fixing Hackable Benchmarks for Vision-Language "
    "Compositionality. NeurIPS",
    licence="MIT",
    published="https://github.com/RAIVNLab/sugar-crepe (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    originals=_THEIRS,
    holds=("images:coco-val2014",),
    load=_load,
    pictures=coco_picture,
)
