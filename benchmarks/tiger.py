"""TIGEr of captions whose pictures have features already: our command's core against the same in torch.

    pip install torch
    python benchmarks/tiger.py [--captions 10000] [--repeat 3] [--checkpoint FOLDER] [--embedding 300]

Captions are those of COCO val2014, from the annotations inside the installed pycocoevalcap package: ten different
candidates for each of the pictures, and five references. The regions are random numbers, since what they are takes no
time. torch's networks have random weights, for the same reason, and the same sizes (`--embedding` is the width of its
words), but for the regions, which it only maps by one layer; its references are grounded before the clock starts, and
so are ours in the column "in place". The two take turns; the best of the repeats counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from coco import annotations
from common import machine, markdown, write

from capeval.evaluate import evaluate
from capeval.io.features import ArrayFeatures
from capeval.metrics.grounding import memory
from capeval.run import Run
from capeval.runtime.scan import Scan, open_scan
from capeval.text.tokenize import tokenize
from capeval.types import Dataset, Sample

REGIONS, REFERENCES, CANDIDATES, BLOCK = 64, 5, 10, 100


def dataset(texts: list[str], count: int, scan: Scan) -> Dataset:
    images = [f"{i}" for i in range(count // CANDIDATES)]
    random = np.random.default_rng(0)
    shown = {"regions": random.standard_normal((len(images), REGIONS, scan.region_width)).astype(np.float32)}
    if scan.picture_width:
        shown["vectors"] = random.standard_normal((len(images), scan.picture_width)).astype(np.float32)
    given = [texts[count + i * REFERENCES : count + (i + 1) * REFERENCES] for i in range(len(images))]
    found = Dataset.from_samples(
        [Sample(f"{i}", images[i // CANDIDATES], texts[i], tuple(given[i // CANDIDATES])) for i in range(count)]
    )
    found.features = ArrayFeatures(__file__, images, shown)
    found.features.encoder = str(scan.checkpoint.facts.get("encoder", ""))
    return found


def torch_scorer(scan: Scan, data: Dataset, embedding: int) -> Callable[[int], None]:
    """Reads blocks of captions, as they come, padded; grounds and compares them all at once."""
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import normalize

    width = scan.width
    words, read = (
        nn.Embedding(len(scan.vocabulary), embedding),
        nn.GRU(embedding, width, 1, True, True, bidirectional=True),
    )
    mapping = nn.Linear(scan.region_width, width)
    regions = torch.from_numpy(data.features.regions(data.images[::CANDIDATES]))  # type: ignore[union-attr]
    reference = torch.rand(len(regions), REGIONS)
    discount = 1 / torch.log2(torch.arange(REGIONS) + 2.0)

    def ground(tokens: Tensor, lengths: Tensor, mapped: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(words(tokens), lengths, True, False)
        both, _ = nn.utils.rnn.pad_packed_sequence(read(packed)[0], True)
        said = normalize((both[..., :width] + both[..., width:]) / 2, dim=-1)
        is_padding = (torch.arange(said.shape[1]) >= lengths[:, None])[:, None]
        cosines = mapped @ said.mT
        attention = normalize(cosines.clamp(min=0), dim=1).masked_fill(is_padding, -torch.inf)
        weights = torch.softmax(scan.temperature * attention, dim=-1)
        return torch.cosine_similarity(mapped, weights @ said, dim=-1)

    def compare(ours: Tensor, theirs: Tensor) -> Tensor:
        low = theirs.min(1, keepdim=True).values
        gains = (theirs - low) / (theirs.max(1, keepdim=True).values - low)
        best = (gains.sort(1, descending=True).values * discount).sum(1)
        rrs = (gains.gather(1, ours.argsort(1, descending=True)) * discount).sum(1) / best
        p, q = theirs.log_softmax(1), ours.log_softmax(1)
        distance = (p.exp() * (p - q)).sum(1) + (theirs.norm(dim=1) / ours.norm(dim=1)).log()
        return (rrs + 1 - torch.sigmoid(1.5 * distance)) / 2

    def score(threads: int) -> None:
        torch.set_num_threads(threads)
        texts = tokenize(data.candidates, Run(threads=threads))
        tokens, lengths = map(torch.from_numpy, scan.vocabulary.encode(texts, scan.words, eos=False))
        with torch.inference_mode():
            for start in range(0, len(tokens), BLOCK):
                block = slice(start, start + BLOCK)
                image = torch.arange(start, min(start + BLOCK, len(tokens))) // CANDIDATES
                mapped = normalize(mapping(regions[image.unique()]), dim=-1)[image - image[0]]
                compare(ground(tokens[block], lengths[block], mapped), reference[image])

    return score


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--checkpoint", default="scan")
    parser.add_argument("--embedding", type=int, default=300)
    options = parser.parse_args()
    line, scan = machine(), open_scan(options.checkpoint)
    metric = "tiger" if options.checkpoint == "scan" else f"tiger(checkpoint={options.checkpoint})"
    data = dataset(list(dict.fromkeys(row["caption"] for row in annotations()["annotations"])), options.captions, scan)
    peer = torch_scorer(scan, data, options.embedding)
    rows = []
    for threads in sorted({1, os.cpu_count() or 1}):
        theirs, ours, whole = [], [], []
        for _ in range(options.repeat):
            memory.cache_clear()
            whole.append(seconds(lambda: evaluate(data, [metric], Run(threads=threads))))  # noqa: B023
            ours.append(seconds(lambda: evaluate(data, [metric], Run(threads=threads))))  # noqa: B023
            theirs.append(seconds(lambda: peer(threads)))  # noqa: B023
        before, after, both = (f"{len(data) / min(each):,.0f}" for each in (theirs, ours, whole))
        rows.append([threads, before, after, f"{min(theirs) / min(ours):.1f}", both])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    command = f"python benchmarks/tiger.py --captions {options.captions} --repeat {options.repeat}"
    about = (
        f"{len(data):,} different captions of COCO val2014, {CANDIDATES} and {REFERENCES} references for each picture "
        f"of {REGIONS} regions, tokenising included, features in memory; the space has {scan.width} dimensions. The "
        f"whole process, torch included, had {peak:,.0f} MB at most"
    )
    header = ["threads", "torch captions/s", "capeval captions/s, references in place", "times faster",
              "with grounding the references first"]  # fmt: skip
    write("tiger.md", f"# TIGEr\n\nMade by `{command}`. {line}. {about}.\n\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
