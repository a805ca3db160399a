"""UICE's scores of captions whose pictures have features already.

    python benchmarks/uice.py [--captions 20000] [--repeat 3]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package, each with another
picture's vector; the vectors are random numbers, since what they are takes no time. The best of the repeats counts, and
beside it the processor's time is told: on a machine that does other work too, it says more.
"""

from __future__ import annotations

import argparse
import os
import time

from coco import annotations
from common import machine, markdown, write
from lece import dataset

from capeval.evaluate import evaluate
from capeval.run import Run
from capeval.runtime.uice import open_semantics
from capeval.types import Dataset

METRICS = ("uice", "uice_sem", "uice_syn")


def seconds(data: Dataset, metric: str, threads: int) -> tuple[float, float]:
    """By the clock, and of the processor."""
    start, used = time.perf_counter(), time.process_time()
    evaluate(data, [metric], Run(threads=threads))
    return time.perf_counter() - start, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    line, semantics = machine(), open_semantics("uice-sem")
    texts = list(dict.fromkeys(row["caption"] for row in annotations()["annotations"]))[: options.captions]
    data = dataset(texts, semantics.picture_width, semantics.checkpoint.encoder)
    rows = []
    for threads in sorted({1, os.cpu_count() or 1}):
        for metric in METRICS:
            found = [seconds(data, metric, threads) for _ in range(options.repeat)]
            clock, used = (min(each) for each in zip(*found))
            rows.append([metric, threads, f"{len(texts) / clock:,.0f}", f"{len(texts) / used:,.0f}"])
    command = f"python benchmarks/uice.py --captions {options.captions} --repeat {options.repeat}"
    about = f"{len(texts):,} different captions of COCO val2014, tokenising included, features in memory"
    text = f"# UICE\n\nMade by `{command}`. {line}. {about}.\n\n"
    write("uice.md", text + markdown(["metric", "threads", "captions/s", "captions/s of processor time"], rows))


if __name__ == "__main__":
    main()
