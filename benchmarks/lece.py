"""LECE's scores of captions whose pictures have features already: our command's core against the torch model.

    pip install torch
    python benchmarks/lece.py [--captions 20000] [--repeat 3]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package, each with another
picture's vector; the vectors are random numbers, since what they are takes no time. Both read each caption once, and
have the same sizes; torch's weights are random, for the same reason. The two take turns; the best of the repeats
counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from coco import annotations
from common import machine, markdown, write

from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.run import Run
from capeval.runtime.lece import Critique, open_critique
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Sample

METRIC, CHECKPOINT = "lece(negatives=rc)", "lece-rc"
BLOCK = 100


def dataset(texts: list[str], width: int, encoder: str) -> Dataset:
    images = [f"{i}" for i in range(1000)]
    random = np.random.default_rng(0).standard_normal((len(images), width)).astype(np.float32)
    found = Dataset.from_samples([Sample(f"{i}", images[i % 1000], text, ("x",)) for i, text in enumerate(texts)])
    found.features = ArrayFeatures(__file__, images, {"vectors": random})
    found.features.encoder = encoder
    return found


def with_capeval(data: Dataset, threads: int) -> None:
    evaluate(data, [METRIC], Run(threads=threads))


def torch_scorer(critique: Critique, data: Dataset) -> Callable[[int], None]:
    import torch

    from capeval.models.lece import Lece, LeceShape

    model = Lece(LeceShape(vocabulary=len(critique.vocabulary), image_width=critique.picture_width)).eval()
    pictures = data.features.vectors(data.images)  # type: ignore[union-attr]

    def score(threads: int) -> None:
        torch.set_num_threads(threads)
        tokens, lengths = critique.vocabulary.encode(tokenize(data.candidates, Run(threads=threads)), critique.words)
        with torch.inference_mode():
            for start in range(0, len(tokens), BLOCK):
                block = slice(start, start + BLOCK)
                read = model.encode(torch.from_numpy(tokens[block]), torch.from_numpy(lengths[block]))
                logits = model.judge(model.context(torch.from_numpy(pictures[block]), None), read)
                torch.softmax(logits, 1)[:, 1].numpy()

    return score


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    line, critique = machine(), open_critique(CHECKPOINT)
    texts = list(dict.fromkeys(row["caption"] for row in annotations()["annotations"]))[: options.captions]
    data = dataset(texts, critique.picture_width, str(critique.checkpoint.facts["encoder"]))
    peer = torch_scorer(critique, data)
    rows = []
    for threads in sorted({1, os.cpu_count() or 1}):
        theirs, ours = [], []
        for _ in range(options.repeat):
            theirs.append(seconds(lambda: peer(threads)))  # noqa: B023
            ours.append(seconds(lambda: with_capeval(data, threads)))  # noqa: B023
        before, after = len(texts) / min(theirs), len(texts) / min(ours)
        rows.append([threads, f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.1f}"])
    command = f"python benchmarks/lece.py --captions {options.captions} --repeat {options.repeat}"
    about = f"{len(texts):,} different captions of COCO val2014, tokenising included, features in memory"
    text = f"# LECE\n\nMade by `{command}`. {line}. {about}.\n\n"
    write("lece.md", text + markdown(["threads", "torch captions/s", "capeval captions/s", "times faster"], rows))


if __name__ == "__main__":
    main()
