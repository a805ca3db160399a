"""How near the int8 encoder is to the float model: cosines of vectors and regions over pictures it was not made with.

python tools/build_dinov2.py SOURCE.onnx --float -o float.onnx
python tools/pick_pictures.py ../shared/images pictures.npy --count 501 --every
python tools/measure_encoder.py float.onnx pictures.npy
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from capeval.runtime.encoder import BATCH, Encoder


def encoded(encoder: Encoder, pictures: Any) -> tuple[Any, Any]:
    parts = [encoder.encode(pictures[start : start + BATCH]) for start in range(0, len(pictures), BATCH)]
    vectors, regions = (np.concatenate(each).astype(np.float64) for each in zip(*parts))
    return vectors, regions


def cosines(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exact", type=Path)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--encoder", default="dinov2-s")
    options = parser.parse_args()
    pictures = np.load(options.pictures)
    ours, exact = (encoded(Encoder(each), pictures) for each in (options.encoder, options.exact))
    for name, mine, theirs in zip(("vectors", "regions"), ours, exact):
        found = cosines(mine, theirs).ravel()
        print(
            f"{name}: mean {found.mean():.4f}, 1 of 100 below {np.quantile(found, 0.01):.4f}, least {found.min():.4f}, "
            f"{(found < 0.99).sum():,} of {len(found):,} below .99"
        )


if __name__ == "__main__":
    main()
