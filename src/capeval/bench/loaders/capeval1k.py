"""CapEval1k: captions of COCO test images by four systems, graded by people; the mean is from 0 to 1.

The authors' repository has an LMDB file whose values, packed with LZ4, name the picture (`img_fname`), the grade
(`target`) and the caption as numbers of BERT's word pieces (`input_ids`): the list of pieces of bert-base-cased,
`vocab.txt`, turns them into words again. 250 captions of each system follow each other.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from capeval.bench.benchmark import Benchmark, Source, coco_picture
from capeval.bench.jsonl import Row, ratings_of, read_jsonl
from capeval.bench.lz4frame import unpack
from capeval.bench.mdbfile import read_mdb
from capeval.bench.originals import Captions
from capeval.bench.ratings import Ratings
from capeval.errors import DataError
from capeval.io.files import read_bytes, utf8_without_bom
from capeval.run import Run

_ROWS = Source("judgements/capeval1k.jsonl.gz", "ae99fa16524ba85f679cf456e12755f7aaf271271b17365cb5939e7c8b77bfb8")
_THEIRS = Source("UMIC/txt_db/capeval1k/data.mdb", "08b4deeefd32c2371b566cecc744434d06de4a9a84673f6cbd82ad54b3f5d8f2")
_PIECES = Source("bert-base-cased/vocab.txt", "")
_EACH = 250
"""Captions of a system."""
_PICTURE = re.compile(r"coco_val2014_(\d{12})\.npz")


class _Value(msgspec.Struct):
    input_ids: list[int]
    img_fname: str
    target: float


def _load(root: Path, variant: str, run: Run) -> Ratings:
    rows = read_jsonl(root / _ROWS.path) if (root / _ROWS.path).is_file() else _theirs(root, run)
    return ratings_of(rows, ["total"], main="kendall_b")


def _theirs(root: Path, run: Run) -> list[Row]:
    """The rows of the authors' file, with the names that ours have."""
    path, captions, rows = root / _THEIRS.path, Captions(root, run), []
    pieces = utf8_without_bom(read_bytes(root / _PIECES.path), str(root / _PIECES.path)).decode().splitlines()
    for key, packed in read_mdb(path):
        try:
            number, value = int(key), msgspec.msgpack.decode(unpack(packed), type=_Value)
            words = " ".join(pieces[piece] for piece in value.input_ids).replace(" ##", "")
            image = f"COCO_val2014_{_PICTURE.fullmatch(value.img_fname)[1]}.jpg"  # type: ignore[index]
        except (ValueError, IndexError, TypeError, msgspec.MsgspecError) as problem:
            raise DataError(f"not laid out as the published file: {problem}", file=str(path)) from None
        fields = {"id": f"capeval1k-{number}", "image": image, "candidate": words, "total": round(value.target, 6)}
        fields |= {"system": "ABCD"[number // _EACH % 4], "references": list(captions.of(image))}
        rows.append(Row(str(path), number, fields))
    return sorted(rows, key=lambda row: row.line)


CAPEVAL1K = Benchmark(
    name="capeval1k",
    summary="1,000 captions of 250 COCO images by four systems, graded by people",
    citation="Lee, Yoon, Dernoncourt, Bui, Jung 2021: UMIC: An Unreferenced Metric for Image Captioning via "
    "Contrastive Learning. ACL",
    licence="MIT",
    published="https://github.com/hwanheelee1993/UMIC (docs/tasks/bench.md tells how the file is laid out)",
    sources=(_ROWS,),
    originals=(_THEIRS, _PIECES),
    holds=("images:coco-val2014", "judgements:capeval1k"),
    load=_load,
    pictures=coco_picture,
)
