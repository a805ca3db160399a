"""Pictures as the encoder sees them, in one array: training pictures of COCO to calibrate with, or others to test.

    python tools/pick_pictures.py train2017/ calibration.npy --count 900
    python tools/pick_pictures.py ../shared/images test.npy --count 501 --every

Without `--every`, only pictures that no benchmark uses are taken (`benchmark_images.tsv` of the data folder).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from capeval.runtime.encoder import ENCODERS, prepare
from capeval.runtime.extract import find_pictures
from capeval.train.data import captions, some_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=900)
    parser.add_argument("--every", action="store_true", help="pictures of benchmarks too")
    options = parser.parse_args()
    found = find_pictures(options.pictures)
    names = sorted(found if options.every else found.keys() & captions("coco", "train").keys())
    side = ENCODERS["dinov2-s"].side
    np.save(
        options.output, np.stack([prepare(found[name].read_bytes(), side) for name in some_of(names, options.count)])
    )


if __name__ == "__main__":
    main()
