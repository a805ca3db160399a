"""Unified, and its own parts, on COCO captions with five references whose pictures have features already.

    python benchmarks/unified.py [--captions 5000]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package: for each of so many
pictures one candidate, which is the caption of another picture, and five references. Features are random numbers, since
what they are takes no time. `unified` comes first and parses every caption; those after it find the parses in memory.
The processor's time is told beside the clock's: on a machine that does other work too, it says more.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from coco import annotations
from common import machine, markdown, write

from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.run import Run
from capeval.runtime.sight import open_sight
from capeval.types import Dataset, Sample

METRICS = (
    "unified", "unified(pictures=none)", "unified(references=none)", "meaning", "accord", "sight", "sight_words",
    "sight_text", "scan", "tiger", "spice_fast", "cider_d(df=coco-val2014)", "fluency",
)  # fmt: skip
REGIONS = 64


def dataset(count: int) -> Dataset:
    by_image: dict[int, list[str]] = {}
    for row in annotations()["annotations"]:
        by_image.setdefault(row["image_id"], []).append(row["caption"])
    images = list(by_image)[: count + 1]
    samples = [
        Sample(str(image), str(image), by_image[other][0], tuple(by_image[image][:5]))
        for image, other in pairwise(images)
    ]
    found = Dataset.from_samples(samples)
    sight, random = open_sight(), np.random.default_rng(0)
    shown = {
        "vectors": random.standard_normal((count, sight.picture_width)).astype(np.float32),
        "regions": random.standard_normal((count, REGIONS, sight.region_width)).astype(np.float32),
    }
    found.features = ArrayFeatures(__file__, [each.image for each in samples], shown)
    found.features.encoder = sight.checkpoint.encoder
    return found


def seconds(data: Dataset, metric: str, threads: int) -> tuple[float, float]:
    """By the clock, and of the processor; with an empty cache, so that every caption is parsed."""
    with tempfile.TemporaryDirectory() as cache:
        run = Run(threads=threads, cache=Path(cache))
        start, used = time.perf_counter(), time.process_time()
        evaluate(data, [metric], run)
        return time.perf_counter() - start, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=5000)
    options = parser.parse_args()
    line, data = machine(), dataset(options.captions)
    threads = os.cpu_count() or 1
    rows = []
    for metric in METRICS:
        clock, used = seconds(data, metric, threads)
        rows.append([f"`{metric}`", f"{clock:.1f}", f"{used:.1f}", f"{len(data) / used:,.0f}"])
    about = f"{len(data):,} captions with five references each, {threads} threads, features in memory"
    text = f"# Unified\n\nMade by `python benchmarks/unified.py --captions {options.captions}`. {line}. {about}.\n\n"
    write("unified.md", text + markdown(["metric", "seconds", "of processor time", "captions/s of it"], rows))


if __name__ == "__main__":
    main()
